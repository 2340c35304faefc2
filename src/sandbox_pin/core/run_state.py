"""Our own run states: what a run folder's ``state.json`` says besides the pin (design: "The state").

Only our own fields are read; whatever else stands in the file is kept as it is.
"""

import contextlib
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Raw, Struct

from sandbox_pin.core.event import RunName
from sandbox_pin.core.exact_json import refuse_repeated_keys
from sandbox_pin.core.explain import explained
from sandbox_pin.core.modes import RunKind
from sandbox_pin.core.record import SandboxPin, ShortText, Unpinned, decode_pin
from sandbox_pin.core.state import (
    PIN_FIELD,
    PINNED_SINCE,
    PROTOCOL_FIELD,
    read_pin,
    read_protocol,
    replace_pin,
)
from sandbox_pin.core.strict_json import DecodingError, find_members, named_members
from sandbox_pin.errors import ConfigurationError, StateError

PROTOCOL: Final = PINNED_SINCE
"""The protocol of the states that this version writes, and the newest that it reads."""

NEWER: Final = "It is whole: read it with the version that wrote it, or a later one."
"""What to do about a state of a newer protocol."""


class RunStatus(StrEnum):
    """What a run waits for."""

    READY = "ready"
    RUNNING = "running"
    BLOCKED = "blocked"


class LaunchProcess(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The process of a launch, told from a later one with the same number.

    Attributes:
        pid: its number.
        started: when it started, in clock ticks since the boot (field 22 of proc_pid_stat(5)).
        boot: the boot's id.
    """

    pid: Annotated[int, Meta(gt=0)]
    started: Annotated[int, Meta(ge=0)]
    boot: str


class RunState(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run's own fields, the pin apart.

    Attributes:
        protocol: the version of the state's format; 12 and later have a pin.
        run: the run's id.
        kind: who owns the work; never changes.
        status: what the run waits for; ``running`` with no live process means that the launch was lost.
        workspace: the absolute path of the folder that its launches work in; ``None`` where that was lost.
        created_at: when it was made.
        parent: the id of the run that it was made from.
        command: the last launch's command, for ``resume``.
        launch: the last launch's process, while it may live.
    """

    protocol: int
    run: RunName
    kind: RunKind
    status: RunStatus
    workspace: str | None
    created_at: ShortText
    parent: RunName | None = None
    command: tuple[str, ...] = ()
    launch: LaunchProcess | None = None


_DECODER: Final = msgspec.json.Decoder(RunState)
_OURS: Final = frozenset({*RunState.__struct_fields__, PIN_FIELD})
_KEYS: Final = {name: f'"{name}":'.encode() for name in _OURS}
_EXPECTED: Final = {
    "": "a run's own fields, each of its type",
    "kind": "local or remote",
    "status": "ready, running or blocked",
}


def decode_run_state(raw: bytes, *, run: str) -> tuple[RunState, SandboxPin | Unpinned]:
    """Reads a state file's own fields and its pin.

    Args:
        raw: the file's bytes.
        run: the id that the folder's name says.

    Raises:
        StateError: it is damaged, of a newer protocol, or another run's.
    """
    members = named_members(raw, _OURS)
    own = dict(members)
    pin = own.pop(PIN_FIELD, None)
    # Nearly every state is whole, and hundreds of thousands are audited: whatever is odd takes the long way.
    if pin is not None and len(own) + 1 == len(members) and bytes(own.get(PROTOCOL_FIELD, b"")).isdigit():
        with contextlib.suppress(StateError, *DecodingError):
            state = _decoded(_joined(own.items()))
            found = decode_pin(msgspec.json.format(pin, indent=-1))
            if found is not None and 0 < state.protocol <= PROTOCOL and state.run == run:
                return state, found
    state = _decode_fields(members, run=run)
    return state, read_pin(_object(members, {PIN_FIELD, PROTOCOL_FIELD}))


def decode_own_fields(raw: bytes, *, run: str) -> RunState:
    """Reads a state file's own fields alone. Arguments and errors as ``decode_run_state``."""
    return _decode_fields(named_members(raw, _OURS), run=run)


_Members = Sequence[tuple[str, bytes | Raw]]


def _decode_fields(members: _Members, *, run: str) -> RunState:
    protocol = read_protocol(_object(members, {PROTOCOL_FIELD}))
    if protocol > PROTOCOL:
        raise StateError(
            f"found {protocol}, of a newer sandbox-pin",
            field="protocol",
            expected=f"{PROTOCOL} or older",
            remedy=NEWER,
        )
    own = [name for name, _ in members if name != PIN_FIELD]
    if len(set(own)) < len(own):
        twice = next(name for place, name in enumerate(own) if name in own[:place])
        raise StateError("given twice", field=twice, expected="the key once")
    fields = _object(members, {*own})
    try:
        state = _decoded(fields)
    except DecodingError as error:
        raise explained(error, fields, _EXPECTED) from None
    if state.run != run:
        raise StateError(f"found {state.run}", field="run", expected=f"{run}, as the folder is named")
    return state


def _decoded(fields: bytes) -> RunState:
    state = _DECODER.decode(fields)
    if state.launch is not None:  # the one field with keys of its own
        refuse_repeated_keys(fields)
    return state


def _object(members: _Members, names: set[str]) -> bytes:
    """These of the members, as an object of their own."""
    return _joined((name, value) for name, value in members if name in names)


def _joined(members: Iterable[tuple[str, bytes | Raw]]) -> bytes:
    return b"{%s}" % b",".join([_KEYS[name] + value for name, value in members])


def encode_run_state(state: RunState, pin: SandboxPin) -> bytes:
    """A new state file's bytes.

    Raises:
        ConfigurationError: the pin would not read back equal, or a text has half a surrogate pair.
    """
    return msgspec.json.format(replace_pin(_encoded(state), pin)) + b"\n"


def encode_changes(state: RunState, changed: RunState) -> dict[str, bytes]:
    """The fields in which ``changed`` differs from ``state``, as JSON text by name.

    Raises:
        ConfigurationError: a text has half a surrogate pair.
    """
    before = _members(_encoded(state))
    return {name: value for name, value in _members(_encoded(changed)).items() if before[name] != value}


def _members(raw: bytes) -> dict[str, bytes]:
    return {member.key: raw[member.start : member.end] for member in find_members(raw)}


def _encoded(state: RunState) -> bytes:
    try:
        return msgspec.json.encode(state)
    except UnicodeEncodeError as error:
        raise ConfigurationError(f"this state can't be written: {error.reason}") from None
