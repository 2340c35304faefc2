"""JSON objects with every key seen: what msgspec lets through, and what it can't read though others write it.

msgspec reads fast, but takes a repeated key (the last one wins, msgspec issue 648) and refuses ``NaN`` and
lone surrogates, which the standard library's writer puts into fields that are not ours. So an object is read
as a table whose keys are told apart by identity, which keeps the repeated ones, or into attributes that keep
each value; and where msgspec can't, by the standard library's exact decoder (``exact_json.py``).
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

import msgspec
from msgspec import Raw

from sandbox_pin.core.exact_json import Member, walk_members

DecodingError: Final = (msgspec.MsgspecError, UnicodeError, RecursionError)
"""All that msgspec's decoders raise on any input (checked by fuzzing)."""

_BACKSLASH: Final = ord("\\")


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
    """The members of some names that an object has, in order; ``None`` where it has none of them."""

    members: list[tuple[str, Raw]] | None = None


class _EachValue:
    """An attribute that keeps every value that it is set to.

    msgspec sets a dataclass's attribute each time that the key is there, however the key is spelled. A plain
    attribute would keep the last value alone, and a repeated key would go unseen. That one was never set is
    no error to msgspec either, as it finds this in its place.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __set__(self, found: _Named, value: Raw) -> None:
        if found.members is None:  # msgspec calls neither __new__ nor __init__
            found.members = []
        found.members.append((self._name, value))


@cache
def _reader(names: frozenset[str]) -> Callable[[bytes], _Named]:
    """What keeps the members of these names, and walks past every other without making anything of it."""
    # Imported here: it takes longer than all of the core, and not every command reads a state.
    from dataclasses import make_dataclass  # noqa: PLC0415

    # Without methods, each of which would be compiled, nor a text of its own, which takes longest of all.
    plain = {"__doc__": _Named.__doc__}
    fields = [(name, Raw) for name in names]
    named: type[_Named] = make_dataclass(
        "Named",
        fields,
        bases=(_Named,),
        namespace=plain,
        init=False,
        repr=False,
        eq=False,
        match_args=False,
    )
    for name in names:
        setattr(named, name, _EachValue(name))
    return msgspec.json.Decoder(named).decode


def named_members(raw: bytes, names: frozenset[str]) -> Sequence[tuple[str, bytes | Raw]]:
    """The members of these names, each with its value's text, in order, repeated keys included.

    Raises:
        StateError: as ``find_members``.
    """
    try:
        return _reader(names)(raw).members or ()
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
