"""A strict reader of the record and of the pin in a state, written from the design with no library at all.

It shares no code with what is under test and goes about it in another way: byte by byte, keeping everything
that it sees, and judging only then. It is slow, and meant to be.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple, NoReturn, TypeAlias

DEEPEST: Final = 60
"""How deep a value is read; the product goes deeper, but a recursive reader must end somewhere."""

_NUMBER: Final = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORD: Final = re.compile(rb"true|false|null|NaN|Infinity|-Infinity")
_SPACE: Final = re.compile(rb"[ \t\n\r]*")
_PLAIN: Final = re.compile(rb'[^"\\\x00-\x1f]+')
_ESCAPE: Final = re.compile(rb'\\(?:(["\\/bfnrt])|u([0-9a-fA-F]{4}))')
_SHORT: Final = dict(zip(b'"\\/bfnrt', '"\\/\b\f\n\r\t', strict=True))
_MODES: Final = frozenset({"disabled", "preferred", "required"})
_SOURCES: Final = frozenset({"created", "upgraded", "strengthened", "accepted"})


class NotJsonError(Exception):
    """The bytes are no JSON, even for a lenient reader."""


class TooDeepError(Exception):
    """Nested deeper than is read here: nothing is said about it."""


class Token(NamedTuple):
    """A number or a word, as it is spelled."""

    spelled: str


class Array(NamedTuple):
    """The items of an array."""

    items: list["Value"]


class Member(NamedTuple):
    """A key, its value, and where the value stands."""

    key: str
    value: "Value"
    start: int
    end: int


class Object(NamedTuple):
    """The members of an object, in order, repeated keys included."""

    members: list[Member]

    def all(self, key: str) -> list[Member]:
        """Each member of that key."""
        return [member for member in self.members if member.key == key]


Value: TypeAlias = str | Token | Array | Object
Record: TypeAlias = dict[str, str]
"""A record's values by key; the schema as it is spelled."""


class Refused(NamedTuple):
    """No record, no state, or no pin where one must be; why, for a person who reads a finding."""

    why: str


class NoPin(NamedTuple):
    """The record ``{}``, or a state without a pin that may be so."""


Answer: TypeAlias = Record | NoPin | Refused


class _Reader:
    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._at = 0

    def whole(self) -> Value:
        """The one value that all of the bytes are."""
        self._skip()
        value = self._value(0)
        self._skip()
        if self._at != len(self._raw):
            self._fail("more behind the value")
        return value

    def _fail(self, why: str) -> NoReturn:
        raise NotJsonError(f"{why}, at byte {self._at}")

    def _skip(self) -> None:
        found = _SPACE.match(self._raw, self._at)
        self._at = found.end() if found else self._at

    def _take(self, sign: bytes) -> bool:
        if not self._raw.startswith(sign, self._at):
            return False
        self._at += len(sign)
        return True

    def _value(self, depth: int) -> Value:
        if depth > DEEPEST:
            raise TooDeepError
        if self._take(b'"'):
            return self._text()
        if self._take(b"{"):
            return Object(list(self._members(depth)))
        if self._take(b"["):
            return Array(list(self._items(depth)))
        found = _WORD.match(self._raw, self._at) or _NUMBER.match(self._raw, self._at)
        if found is None:
            self._fail("no value")
        self._at = found.end()
        return Token(found[0].decode())

    def _members(self, depth: int) -> Iterator[Member]:
        self._skip()
        if self._take(b"}"):
            return
        while True:
            self._skip()
            if not self._take(b'"'):
                self._fail("no key")
            key = self._text()
            self._skip()
            if not self._take(b":"):
                self._fail("no colon")
            self._skip()
            start = self._at
            value = self._value(depth + 1)
            yield Member(key, value, start, self._at)
            self._skip()
            if self._take(b"}"):
                return
            if not self._take(b","):
                self._fail("no comma")

    def _items(self, depth: int) -> Iterator[Value]:
        self._skip()
        if self._take(b"]"):
            return
        while True:
            self._skip()
            yield self._value(depth + 1)
            self._skip()
            if self._take(b"]"):
                return
            if not self._take(b","):
                self._fail("no comma")

    def _text(self) -> str:
        """The text behind an opening quote; what is no UTF-8, and half a pair, stay as lone surrogates."""
        units: list[int] = []
        while not self._take(b'"'):
            if plain := _PLAIN.match(self._raw, self._at):
                units += map(ord, plain[0].decode(errors="surrogateescape"))
                self._at = plain.end()
                continue
            escape = _ESCAPE.match(self._raw, self._at)
            if escape is None:
                self._fail("no end of a text")
            self._at = escape.end()
            if escape[1]:
                units.append(ord(_SHORT[escape[1][0]]))
                continue
            unit = int(escape[2], 16)
            second = _ESCAPE.match(self._raw, self._at)
            low = int(second[2], 16) if second and second[2] else 0
            if 0xD800 <= unit < 0xDC00 <= low < 0xE000 and second:
                unit = 0x10000 + (unit - 0xD800) * 0x400 + (low - 0xDC00)
                self._at = second.end()
            units.append(unit)
        return "".join(map(chr, units))


def read_json(raw: bytes) -> Value:
    """The value, as leniently as a state is read: any text, ``NaN``, keys again and again.

    Raises:
        NotJsonError: it is none.
        TooDeepError: it is nested deeper than ``DEEPEST``.
    """
    return _Reader(raw).whole()


def is_strict(value: Value) -> bool:
    """Whether a strict reader takes it: each text is Unicode, each key stands once, each number is one."""
    match value:
        case str():
            return not any(0xD800 <= ord(character) < 0xE000 for character in value)
        case Token():
            return value.spelled not in {"NaN", "Infinity", "-Infinity"}
        case Array():
            return all(map(is_strict, value.items))
        case Object():
            keys = [member.key for member in value.members]
            again = any(one == other for one, other in pairwise(sorted(keys)))
            return not again and all(is_strict(m.key) and is_strict(m.value) for m in value.members)


def judge_record(value: Value) -> Answer:
    """What a record's value says."""
    if not isinstance(value, Object):
        return Refused("no object")
    if not value.members:
        return NoPin()
    if not is_strict(value):
        return Refused("a key twice, or a text that is no Unicode")
    found = {member.key: member.value for member in value.members}
    schema = found.pop("schema", None)
    if not isinstance(schema, Token) or schema.spelled not in {"1", "2"}:
        return Refused("the schema")
    keys = {"mode", "source", "recorded_at"} | ({"backend"} if schema.spelled == "2" else set())
    if set(found) != keys:
        return Refused("the keys")
    record = {"schema": schema.spelled}
    for key, text in found.items():
        if not isinstance(text, str):
            return Refused(f"the type of {key}")
        words = {"mode": _MODES, "source": _SOURCES}.get(key)
        if text not in words if words else not 1 <= len(text) <= 64:
            return Refused(f"the value of {key}")
        record[key] = text
    return record


def judge_pin(raw: bytes) -> Answer:
    """What the bytes of one record say.

    Raises:
        TooDeepError: see ``read_json``.
    """
    try:
        return judge_record(read_json(raw))
    except NotJsonError as error:
        return Refused(str(error))


def judge_state(raw: bytes, *, pinned_since: int | None) -> Answer:
    """What the pin in a whole state is.

    Raises:
        TooDeepError: see ``read_json``.
    """
    try:
        state = read_json(raw)
    except NotJsonError as error:
        return Refused(str(error))
    if not isinstance(state, Object):
        return Refused("no object")
    pins = state.all("sandbox_pin")
    if len(pins) > 1:
        return Refused("the pin twice")
    answer = judge_record(pins[0].value) if pins else NoPin()
    if not isinstance(answer, NoPin) or pinned_since is None:
        return answer
    return _judge_age(state, pinned_since)


def _judge_age(state: Object, pinned_since: int) -> Answer:
    """Whether a state without a pin says that it is from before pins."""
    protocols = state.all("protocol")
    if len(protocols) != 1 or not isinstance(protocols[0].value, Token):
        return Refused("the protocol")
    digits = protocols[0].value.spelled
    # A protocol of so many digits is none that anybody counted to, and whole numbers have an end somewhere.
    if not digits.isdecimal() or digits == "0" or len(digits) > 9:
        return Refused("the protocol")
    return NoPin() if int(digits) < pinned_since else Refused("no pin, in a state that must have one")
