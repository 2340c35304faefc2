"""JSON objects with every key seen: what msgspec lets through, and what it can't read though others write it.

msgspec reads fast, but takes a repeated key (the last one wins, msgspec issue 648) and refuses ``NaN`` and
lone surrogates, which the standard library's writer puts into fields that are not ours. So an object is read
as a table whose keys are told apart by identity, which keeps the repeated ones, or into attributes that keep
each value; and where msgspec can't, by the standard library's exact decoder.
"""

from collections.abc import Callable, Sequence
from functools import cache
from json import JSONDecoder
from typing import Final, NamedTuple

import msgspec
from msgspec import Raw

from sandbox_pin.errors import StateError

DecodingError: Final = (msgspec.MsgspecError, UnicodeError, RecursionError)
"""All that msgspec's decoders raise on any input (checked by fuzzing)."""

_BACKSLASH: Final = ord("\\")
_OBJECT = "one JSON object in UTF-8"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Member(NamedTuple):
    """One key of a JSON object, and where its value stands: ``raw[start:end]``, in bytes.

    A key that is not ASCII may not be decoded further: none of ours is.
    """

    key: str
    start: int
    end: int


class _Key:
    """A key that equals no other, so that a table keeps each of two that are spelled alike."""

    __slots__ = ("name",)

    def __init__(self, name: object) -> None:
        self.name = name


def _key(_: type, name: object) -> _Key:
    return _Key(name)


_MEMBERS: Final = msgspec.json.Decoder(dict[_Key, Raw], dec_hook=_key)


def find_members(raw: bytes) -> list[Member]:
    """The members of the JSON object that ``raw`` is, in order, repeated keys included.

    Raises:
        StateError: as ``walk_members``, where msgspec could not read it either.
    """
    try:
        members = _MEMBERS.decode(raw)
    except DecodingError:
        return walk_members(raw)
    found: list[Member] = []
    position = 0
    for key, value in members.items():
        start = _skip_bytes(raw, raw.index(b":", _end_of_key(raw, position)) + 1)
        position = start + memoryview(value).nbytes
        found.append(Member(str(key.name), start, position))
    return found


class _Named:
    """The members of some names that an object has, in order."""

    members: tuple[tuple[str, Raw], ...] = ()


class _EachValue:
    """An attribute that keeps every value that it is set to.

    msgspec sets a dataclass's attribute each time that the key is there, however the key is spelled. A plain
    attribute would keep the last value alone, and a repeated key would go unseen. That one was never set is
    no error to msgspec either, as it finds this in its place.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __set__(self, found: _Named, value: Raw) -> None:
        found.members += ((self._name, value),)


@cache
def _reader(names: frozenset[str]) -> Callable[[bytes], _Named]:
    """What keeps the members of these names, and walks past every other without making anything of it."""
    # Imported here: it takes longer than all of the core, and not every command reads a state.
    from dataclasses import make_dataclass  # noqa: PLC0415

    named: type[_Named] = make_dataclass("Named", [(name, Raw) for name in names], bases=(_Named,))
    for name in names:
        setattr(named, name, _EachValue(name))
    return msgspec.json.Decoder(named).decode


def named_members(raw: bytes, names: frozenset[str]) -> Sequence[tuple[str, bytes | Raw]]:
    """The members of these names, each with its value's text, in order, repeated keys included.

    Raises:
        StateError: as ``find_members``.
    """
    try:
        return _reader(names)(raw).members
    except DecodingError:
        return [(key, raw[start:end]) for key, start, end in walk_members(raw) if key in names]


def _skip_bytes(raw: bytes, position: int) -> int:
    while raw[position : position + 1].isspace():
        position += 1
    return position


def _end_of_key(raw: bytes, position: int) -> int:
    """The position behind the next string, of an object that is known to be JSON."""
    end = raw.index(b'"', position)
    while True:
        end = raw.index(b'"', end + 1)
        slashes = 0
        while raw[end - 1 - slashes] == _BACKSLASH:
            slashes += 1
        if slashes % 2 == 0:
            return end + 1


def refuse_repeated_keys(raw: bytes) -> None:
    """Looks for a key that an object of this JSON text, at any depth, has twice.

    Which of the two a reader takes differs from reader to reader, so a repeated key can show one pin to
    an audit and another to a launch.

    Raises:
        StateError: a key is repeated, or the standard library can't read what msgspec could.
    """
    try:
        _ = _SEEING_EACH_KEY(raw.decode())
    except (ValueError, RecursionError) as error:
        raise StateError(f"not JSON ({error})", expected=_OBJECT) from None


def walk_members(raw: bytes) -> list[Member]:
    """The members of the JSON object that ``raw`` is, in order, repeated keys included.

    Values are skipped, not kept; ``NaN`` and lone surrogates are allowed in them, as the standard library's
    writer makes them, and so are bytes that are not UTF-8.

    Raises:
        StateError: ``raw`` is not JSON, not an object, or nested deeper than can be read.
    """
    if raw.startswith(_BYTE_ORDER_MARK):
        raise StateError("a byte order mark stands first", expected=_OBJECT)
    try:
        # Latin-1 maps each byte to one character, so that positions in the text are positions in the bytes.
        # JSON's own signs are ASCII, and no byte of a longer UTF-8 sequence looks like one.
        return _walk(raw.decode("latin-1"))
    except RecursionError:
        raise StateError("nested too deeply to be read", expected=_OBJECT) from None
    except ValueError as error:
        raise StateError(f"not JSON ({error})", expected=_OBJECT) from None


def is_whole_object(raw: bytes) -> bool:
    """Whether the text has both its braces; one nested deeper than can be read counts as whole."""
    try:
        _ = _walk(raw.decode("latin-1"))
    except (StateError, ValueError):
        return False
    except RecursionError:
        return True
    return True


def _walk(text: str) -> list[Member]:
    members: list[Member] = []
    position = _skip(text, 0)
    if position == len(text):
        raise StateError("empty", expected=_OBJECT)
    if text[position] != "{":
        rest = text[position : position + 20].strip()
        raise StateError(f"found {rest}, which begins no object", expected=_OBJECT)
    position = _skip(text, position + 1)
    more = not text.startswith("}", position)
    while more:
        found: tuple[object, int] = _SKIPPING.raw_decode(text, position)
        key, position = found
        if not isinstance(key, str):
            raise ValueError(f"a key that is not a string ends at byte {position}")  # noqa: TRY004 - of JSON
        start = _skip(text, _sign(text, ":", position))
        end = _SKIPPING.raw_decode(text, start)[1]
        members.append(Member(key, start, end))
        position = _skip(text, end)
        more = not text.startswith("}", position)
        if more:
            position = _skip(text, _sign(text, ",", position))
    if _skip(text, position + 1) != len(text):
        raise ValueError(f"more text after the object, at byte {position + 1}")
    return members


def _sign(text: str, sign: str, position: int) -> int:
    position = _skip(text, position)
    if not text.startswith(sign, position):
        raise ValueError(f"no {sign!r} at byte {position}")
    return position + 1


def _skip(text: str, position: int) -> int:
    """The position of the next character that is not JSON's white space (RFC 8259, section 2)."""
    while text[position : position + 1] in {" ", "\t", "\n", "\r"}:
        position += 1
    return position


def _unique(pairs: list[tuple[str, object]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise StateError("given twice", field=key, expected="each key once")
        seen.add(key)


def _unread(_: str) -> None:
    """Numbers are skipped: a giant one costs no conversion, and raises none of its errors."""


_SKIPPING = JSONDecoder(parse_int=_unread, parse_float=_unread)
_SEEING_EACH_KEY: Callable[[str], object] = JSONDecoder(object_pairs_hook=_unique, parse_int=_unread).decode
