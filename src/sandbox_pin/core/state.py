"""The pin inside a run's whole state: read it out, put it back, keep the rest (design: "The state").

A state belongs to its orchestrator: everything in it but the pin is skipped on reading and kept byte for
byte on writing. So nothing here raises for what stands elsewhere in it, as long as the object can be walked.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from sandbox_pin.core.modes import RunKind
from sandbox_pin.core.record import SandboxPin, Unpinned, decode_pin, encode_pin
from sandbox_pin.core.strict_json import DecodingError, find_members, named_members
from sandbox_pin.errors import StateError

PIN_FIELD: Final = "sandbox_pin"
PROTOCOL_FIELD: Final = "protocol"
KIND_FIELD: Final = "kind"
PINNED_SINCE: Final = 12
"""The first protocol of our own states that has a pin."""

_PIN_KEY: Final = f'"{PIN_FIELD}"'.encode()
_BACKSLASH: Final = b"\\"
_ALONE: Final = {name: frozenset((name,)) for name in (PIN_FIELD, PROTOCOL_FIELD, KIND_FIELD)}


def read_pin(state: bytes, *, pinned_since: int | None = PINNED_SINCE) -> SandboxPin | Unpinned:
    """The pin out of a whole state, the rest skipped.

    Args:
        state: one JSON object in UTF-8.
        pinned_since: the first value of the state's ``protocol`` (a whole number, 1 or more) that has a pin.
            ``None``: the state says nothing of its age, and a missing pin is ``Unpinned``.

    Returns:
        The pin; ``Unpinned`` only where the state itself says that it is from before pins.

    Raises:
        StateError: the state can't be walked, has the pin twice, or the pin is damaged; or the pin is missing
            or ``{}`` in a state that must have one, or whose ``protocol`` is missing or no whole number.
    """
    found = _only_value(state, PIN_FIELD)
    if found is not None:
        try:
            pin = decode_pin(found)
        except StateError as error:
            raise error.located(under=PIN_FIELD) from None
        if pin is not None:
            return pin
    if pinned_since is None:
        return Unpinned()
    protocol = read_protocol(state)
    if protocol < pinned_since:
        return Unpinned()
    raise StateError(
        "missing" if found is None else "empty ({})",
        field=PIN_FIELD,
        expected=f"a pin, as the state says protocol {protocol}, and {pinned_since} and later have one",
    )


def read_protocol(state: bytes) -> int:
    """The state's ``protocol``.

    Raises:
        StateError: it is missing, given twice, no whole number, or less than 1. ``true``, ``1.0`` and ``"1"``
            are no whole numbers: a loose reader would take them for an old protocol, which has no pin.
    """
    found = _only_value(state, PROTOCOL_FIELD)
    expected = "a whole number, 1 or more"
    if found is None:
        raise StateError("missing", field=PROTOCOL_FIELD, expected=expected)
    try:
        protocol = msgspec.json.decode(found, type=int)
    except DecodingError:
        protocol = 0
    if protocol < 1 or not found.isdigit():
        shown = found[:40].decode(errors="replace")
        raise StateError(f"found {shown}", field=PROTOCOL_FIELD, expected=expected)
    return protocol


def read_kind(state: bytes) -> RunKind | None:
    """The kind that a state says under ``kind``; ``None`` where that is missing, or something else.

    Raises:
        StateError: the state can't be walked, or has the key twice.
    """
    found = _only_value(state, KIND_FIELD)
    if found is None:
        return None
    try:
        return msgspec.json.decode(found, type=RunKind)
    except DecodingError:
        return None


def replace_pin(state: bytes, pin: SandboxPin) -> bytes:
    """The state with this pin in it, and every other value's bytes kept.

    Args:
        state: one JSON object in UTF-8, as it was read.
        pin: what is put under ``sandbox_pin``; where there was none, behind the last member.

    Returns:
        The new state's bytes. Put them in place whole: write another file, flush it, rename it.

    Raises:
        StateError: the state can't be walked, or has the pin twice.
        ConfigurationError: the pin would not read back equal.
    """
    value = encode_pin(pin)
    place = _place_of_pin(state)
    if place is None:
        return replace_members(state, {PIN_FIELD: value})
    start, end = place
    whole = memoryview(state)
    return b"".join((whole[:start], value, whole[end:]))


def replace_members(state: bytes, values: Mapping[str, bytes]) -> bytes:
    """The state with these members set, each value being JSON text; a new one goes behind the last.

    Raises:
        StateError: the state can't be walked, or has one of the members twice.
    """
    members = find_members(state)
    places = [member for member in members if member.key in values]
    for name in values:
        _refuse_several([place for place in places if place.key == name], name)
    pieces: list[bytes] = []
    position = 0
    for place in places:
        pieces += (state[position : place.start], values[place.key])
        position = place.end
    kept = {place.key for place in places}
    new = [msgspec.json.encode(name) + b":" + value for name, value in values.items() if name not in kept]
    close = state.rindex(b"}")
    comma = b"," if members and new else b""
    return b"".join((*pieces, state[position:close], comma, b",".join(new), state[close:]))


def _place_of_pin(state: bytes) -> tuple[int, int] | None:
    """Where the pin's value stands, where the last text that looks like its key is its key; else ``None``.

    It is one of the state's own keys exactly where what follows closes one object and no more: behind an
    opening brace, that reads as an object.
    """
    key = state.rfind(_PIN_KEY)
    if key < 1 or state.startswith(_BACKSLASH, key - 1):
        return None
    value = _only_value(state, PIN_FIELD)
    if value is None:
        return None
    try:
        _ = named_members(b"{" + state[key:], _ALONE[PIN_FIELD])
    except StateError:
        return None
    start = state.index(value, key + len(_PIN_KEY))
    return start, start + len(value)


def _only_value(state: bytes, name: str) -> bytes | None:
    found = named_members(state, _ALONE[name])
    if len(found) == 1:
        return bytes(found[0][1])
    _refuse_several(found, name)
    return None


def _refuse_several(found: Sequence[object], name: str) -> None:
    if len(found) > 1:
        raise StateError(f"given {len(found)} times", field=name, expected="the key once")
