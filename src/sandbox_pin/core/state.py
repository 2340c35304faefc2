"""The pin inside a run's whole state: read it out, put it back, keep the rest (design: "The state").

A state belongs to its orchestrator: everything in it but the pin is skipped on reading and kept byte for
byte on writing. So nothing here raises for what stands elsewhere in it, as long as the object can be walked.
"""

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from sandbox_pin.core.explain import DecodingError
from sandbox_pin.core.record import SandboxPin, Unpinned, decode_pin, encode_pin
from sandbox_pin.core.strict_json import Member, walk_members
from sandbox_pin.errors import StateError

PIN_FIELD: Final = "sandbox_pin"
PROTOCOL_FIELD: Final = "protocol"
PINNED_SINCE: Final = 12
"""The first protocol of our own states that has a pin."""

_KEY: Final = b'"sandbox_pin"'
# A key may be spelled with escapes. Each character of ours is one of U+0050 to U+007F, so that a text without
# these escapes has our key only literally. The standard library's writer makes none of them but \u007f.
_ESCAPES: Final = (b"\\u005", b"\\u006", b"\\u007")


class _Envelope(Struct):
    """The one field that matters; msgspec skips the rest without building it."""

    sandbox_pin: Raw | UnsetType = UNSET


_ENVELOPE: Final = msgspec.json.Decoder(_Envelope)


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
    found = _locate_pin(state)
    if found is not None:
        try:
            pin = decode_pin(state[found.start : found.end])
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
    member = _only_member(state, PROTOCOL_FIELD)
    expected = "a whole number, 1 or more"
    if member is None:
        raise StateError("missing", field=PROTOCOL_FIELD, expected=expected)
    found = state[member.start : member.end]
    try:
        protocol = msgspec.json.decode(found, type=int)
    except DecodingError:
        protocol = 0
    if protocol < 1 or not found.isdigit():
        shown = found[:40].decode(errors="replace")
        raise StateError(f"found {shown}", field=PROTOCOL_FIELD, expected=expected)
    return protocol


def replace_pin(state: bytes, pin: SandboxPin) -> bytes:
    """The state with this pin in it, and every other value's bytes kept.

    Raises:
        StateError: the state can't be walked, or has the pin twice.
        ConfigurationError: the pin would not read back equal.
    """
    return _put(state, PIN_FIELD, encode_pin(pin), at=_locate_pin(state))


def replace_members(state: bytes, values: Mapping[str, bytes]) -> bytes:
    """The state with these members set, each value being JSON text; a new one goes behind the last.

    Raises:
        StateError: the state can't be walked, or has one of the members twice.
    """
    for name, value in values.items():
        state = _put(state, name, value, at=_only_member(state, name))
    return state


def _put(state: bytes, name: str, value: bytes, *, at: Member | None) -> bytes:
    if at is not None:
        return b"".join((state[: at.start], value, state[at.end :]))
    close = state.rindex(b"}")
    comma = b"," if walk_members(state) else b""
    return b"".join((state[:close], comma, msgspec.json.encode(name), b":", value, state[close:]))


def _locate_pin(state: bytes) -> Member | None:
    """Where the pin's value stands; ``None`` where the state has no such key.

    Fast where msgspec can read the state and the key can't stand in it twice; exact by a walk otherwise.
    """
    if state.count(_KEY) <= 1 and not any(escape in state for escape in _ESCAPES):
        try:
            found = _ENVELOPE.decode(state).sandbox_pin
        except DecodingError:
            return _only_member(state, PIN_FIELD)
        if isinstance(found, UnsetType):
            return None
        start = state.index(b":", state.index(_KEY)) + 1
        while state[start : start + 1].isspace():
            start += 1
        return Member(PIN_FIELD, start, start + len(memoryview(found)))
    return _only_member(state, PIN_FIELD)


def _only_member(state: bytes, name: str) -> Member | None:
    members = [member for member in walk_members(state) if member.key == name]
    if len(members) > 1:
        raise StateError(f"given {len(members)} times", field=name, expected="the key once")
    return members[0] if members else None
