"""The pin's record: strict in, exact out (design: "The record").

Two laws hold for every function here:

1. Nothing is decoded that does not say one clear thing: exactly the keys of a known schema, each once.
2. Nothing is encoded that would not read back equal.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Final, TypeAlias, assert_never

import msgspec
from msgspec import Meta, Struct

from sandbox_pin.core.exact_json import refuse_repeated_keys
from sandbox_pin.core.explain import explained
from sandbox_pin.core.modes import SandboxMode
from sandbox_pin.core.strict_json import DecodingError
from sandbox_pin.errors import ConfigurationError, StateError
from sandbox_pin.text import shown

ShortText: TypeAlias = Annotated[str, Meta(min_length=1, max_length=64)]
"""1 to 64 characters (not bytes)."""


class PinSource(StrEnum):
    """How a pin came to be."""

    CREATED = "created"
    UPGRADED = "upgraded"
    STRENGTHENED = "strengthened"
    ACCEPTED = "accepted"


class PinV1(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="schema", tag=1):
    """Schema 1: the one fact ``mode``.

    Attributes:
        mode: the mode that the run is held to.
        source: how the pin came to be.
        recorded_at: when, as text; no decision depends on it.
    """

    mode: SandboxMode
    source: PinSource
    recorded_at: ShortText


class PinV2(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="schema", tag=2):
    """Schema 2: as schema 1, and the fact ``backend``.

    Attributes:
        backend: the name of the backend that the run is held to.
    """

    mode: SandboxMode
    source: PinSource
    recorded_at: ShortText
    backend: ShortText


SandboxPin: TypeAlias = PinV1 | PinV2
"""The record under ``sandbox_pin`` in a run's state."""


class Unpinned(Struct, frozen=True, tag="unpinned"):
    """A state from before pins. A value of its own, so that nobody passes ``None`` by accident."""


class Disputed(Struct, frozen=True, kw_only=True, tag="disputed"):
    """State and run log hold the run to different backends; which one is right, only the operator knows.

    Attributes:
        state: the state's record, its mode raised to the stronger of the two.
        witness: the run log's record, its mode raised likewise.
    """

    state: SandboxPin
    witness: SandboxPin


class _Nothing(Struct, forbid_unknown_fields=True):
    """Decodes ``{}`` alone."""


_DECODE: Final = msgspec.json.Decoder(SandboxPin).decode
_NOTHING: Final = msgspec.json.Decoder(_Nothing)
_ENCODE: Final = msgspec.json.Encoder().encode

EXPECTED: Final = {
    "": "the keys schema, mode, source, recorded_at, in schema 2 backend too, and no other",
    "schema": "the whole number 1 or 2 (another schema needs another version of sandbox-pin)",
    "mode": "one of disabled, preferred, required",
    "source": "one of created, upgraded, strengthened, accepted",
    "recorded_at": "a text of 1 to 64 characters",
    "backend": "a text of 1 to 64 characters",
}
"""For each field of a record, under its name, what is right."""

# A record's text is as long as the compact text of the value that it decodes to, or longer: by white space,
# escapes and repeated keys. A repeated key makes it longer by at least this; the spaces that json.dumps
# writes, by 9 at the most. So only odd texts need the slow look for repeated keys.
_SHORTEST_REPEATED_KEY: Final = len('"schema":1,')
# What is soon told: with less than this beside its texts, a record of either schema has no repeated key.
_ROOM_FOR_A_REPEATED_KEY: Final = (
    len('{"schema":1,"mode":"","source":"","recorded_at":""}') + _SHORTEST_REPEATED_KEY
)


def make_pin(*, mode: SandboxMode, source: PinSource, recorded_at: str, backend: str | None) -> SandboxPin:
    """The record of these facts, under the oldest schema that can hold them.

    A record without a backend is written as schema 1, so that a reader that only knows schema 1 keeps
    loading it.
    """
    if backend is None:
        return PinV1(mode=mode, source=source, recorded_at=recorded_at)
    return PinV2(mode=mode, source=source, recorded_at=recorded_at, backend=backend)


def pinned_backend(pin: SandboxPin) -> str | None:
    """The backend that the run is held to; ``None`` where its record has no such fact."""
    match pin:
        case PinV1():
            return None
        case PinV2(backend=backend):
            return backend
        case _:
            assert_never(pin)


def decode_pin(raw: bytes | str) -> SandboxPin | None:
    """Reads one record. ``None`` is the record ``{}``: no pin.

    Raises:
        StateError: the text is not exactly one record: not JSON or not UTF-8, another shape, a key missing,
            unknown, repeated or of another type, a schema that this version does not know, more text behind.
    """
    try:
        pin = _DECODE(raw)
    except DecodingError as error:
        if _is_nothing(raw):
            return None
        raise explained(error, raw, EXPECTED) from None
    if len(raw) - len(pin.mode) - len(pin.source) - len(pin.recorded_at) >= _ROOM_FOR_A_REPEATED_KEY:
        data = raw.encode() if isinstance(raw, str) else bytes(raw)
        if len(data) - len(_ENCODE(pin)) >= _SHORTEST_REPEATED_KEY:
            refuse_repeated_keys(data)
    return pin


def encode_pin(pin: SandboxPin | None) -> bytes:
    """Writes one record, compact; ``None`` is written ``{}``.

    Raises:
        ConfigurationError: the record would not read back equal, as a value in it is of a type or length
            that no reader takes (msgspec checks what it decodes, not what a program builds).
    """
    try:
        raw = _ENCODE({} if pin is None else pin)
        if decode_pin(raw) == pin:
            return raw
        problem = "it would read back as another value"
    except (StateError, ValueError, TypeError, OverflowError, RecursionError) as error:
        problem = str(error)
    raise ConfigurationError(f"this pin can't be written: {problem}", field="sandbox_pin")


TellTime: TypeAlias = Callable[[str], str]
"""How a stored time is told inside a sentence; ``str`` tells it as it is stored."""


def describe_pin(pin: SandboxPin, *, tell_time: TellTime = str) -> str:
    """The pin in a few words: ``required (created 2026-01-01T00:00:00Z)``, with no control character raw.

    Args:
        pin: the pin.
        tell_time: how its time is told, as to a person whose zone is known.
    """
    backend = pinned_backend(pin)
    on = f" on {backend}" if backend is not None else ""
    return shown(f"{pin.mode}{on} ({pin.source} {tell_time(pin.recorded_at)})")


def _is_nothing(raw: bytes | str) -> bool:
    try:
        return _NOTHING.decode(raw) == _Nothing()
    except DecodingError:
        return False
