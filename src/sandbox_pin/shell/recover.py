"""``recover``: the operator's own act, where state or log is damaged (design: "Damage").

What is damaged is kept beside, under another name; state or log is started anew from what the other still
tells. The run is then pinned ``required``, and only a later command with the flag lowers it again.
"""

import contextlib
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from sandbox_pin.core.event import Entry, LaunchStarted, RunCreated, RunRecovered
from sandbox_pin.core.log_line import Damaged, Garbage
from sandbox_pin.core.modes import RunKind, SandboxMode
from sandbox_pin.core.record import PinSource, SandboxPin, Unpinned, encode_pin, make_pin, pinned_backend
from sandbox_pin.core.run_state import (
    NEWER,
    PROTOCOL,
    RunState,
    RunStatus,
    decode_own_fields,
    encode_changes,
    encode_run_state,
)
from sandbox_pin.core.state import PIN_FIELD, PROTOCOL_FIELD, read_pin, replace_members, replace_pin
from sandbox_pin.errors import BusyError, SandboxPinError, StateError, StorageError, UsageError
from sandbox_pin.shell.durable import read_regular
from sandbox_pin.shell.foreign import ForeignRun, hold_files, read_foreign
from sandbox_pin.shell.new_start import Place, Recovered, refuse_failure, start_anew
from sandbox_pin.shell.processes import is_alive
from sandbox_pin.shell.reading import read_run
from sandbox_pin.shell.run_log import FileRunLog
from sandbox_pin.shell.runs import LOG_NAME, STATE_NAME, hold_run
from sandbox_pin.shell.surroundings import now, operator_name


class _Left(Struct, frozen=True, kw_only=True):
    """What can still be read of a damaged run.

    Attributes:
        raw: the state's bytes; ``None``: they can't be read at all.
        pin: the pin in them, where it is whole.
        entries: the log's whole entries.
    """

    raw: bytes | None
    pin: SandboxPin | None
    entries: tuple[Entry, ...]

    @property
    def before(self) -> SandboxPin | None:
        """The pin that could still be read, the log's word first."""
        return self.entries[-1].pin if self.entries else self.pin

    @property
    def backend(self) -> str | None:
        """The backend that the run was pinned to, the log's word first."""
        pins = [self.entries[-1].pin] if self.entries else []
        pins += [self.pin] if self.pin is not None else []
        return next((name for pin in pins if (name := pinned_backend(pin)) is not None), None)

    @property
    def workspace(self) -> str | None:
        """The workspace that the log knows, the newest word first."""
        told = (
            entry.workspace
            for entry in reversed(self.entries)
            if isinstance(entry, RunCreated | LaunchStarted | RunRecovered)
        )
        return next((workspace for workspace in told if workspace is not None), None)


def recover_run(root: str, run: str, *, wait: float) -> Recovered:
    """Starts a run folder's damaged state or log anew.

    Args:
        root: the folder of all runs.
        run: the run's id.
        wait: how long to wait for another command on the run, in seconds.

    Raises:
        UsageError: no such run, or nothing in it is damaged.
        StateError: the state is of a newer protocol: that is no damage.
        BusyError: another command, or a launch, holds the run.
        StorageError: what is kept aside, or started anew, could not be written.
    """
    with hold_run(root, run, wait=wait) as folder:
        damage = _damage(lambda: read_run(folder).log_failure, folder.path)
        state = Place(folder=folder.descriptor, name=STATE_NAME, shown_as=folder.state_path)
        left = _left(state, folder.log)
        own = _own_fields(left.raw, run)
        if own is not None and own.launch is not None and is_alive(own.launch):
            raise BusyError(f"busy: its launch lives as process {own.launch.pid}", file=folder.path)
        last = left.entries[-1] if left.entries else None
        kinds = {told.kind for told in (own, last) if told is not None}
        # Where they disagree, or neither is left: the kind of which no mode is weaker.
        kind = kinds.pop() if len(kinds) == 1 else RunKind.REMOTE
        at = now()
        pin = _required(at, left.backend if kind is RunKind.REMOTE else None)
        fresh = RunState(
            protocol=PROTOCOL,
            run=run,
            kind=kind,
            status=RunStatus.BLOCKED,
            workspace=left.workspace,
            created_at=at,
        )
        if own is not None:
            fresh = replace(own, protocol=PROTOCOL, kind=kind, status=RunStatus.BLOCKED, launch=None)
        entry = RunRecovered(
            at=at,
            run=run,
            kind=kind,
            pin=pin,
            before=left.before,
            kept=(),
            workspace=fresh.workspace,
            operator=operator_name(),
        )
        return start_anew(
            damage,
            entry,
            state=state,
            log=Place(folder=folder.descriptor, name=LOG_NAME, shown_as=folder.log.shown_as),
            content=left.raw,
            state_is_whole=left.pin is not None and own is not None and own.kind is kind,
            raw=_rebuilt(left.raw, own, fresh, pin),
        )


def recover_files(foreign: ForeignRun) -> Recovered:
    """Starts another orchestrator's damaged state or log anew, keeping what can be read of the state.

    Raises:
        UsageError: there is no such state, or nothing is damaged.
        BusyError: another command holds the state's folder.
        StorageError: what is kept aside, or started anew, could not be written.
    """
    with hold_files(foreign) as files:
        damage = _damage(lambda: read_foreign(foreign, files).log_failure, foreign.state)
        state = Place(folder=files.folder, name=files.name, shown_as=foreign.state)
        left = _left(state, files.log)
        at = now()
        pin = _required(at, left.backend if foreign.kind is RunKind.REMOTE else None)
        entry = RunRecovered(
            at=at,
            run=foreign.name,
            kind=foreign.kind,
            pin=pin,
            before=left.before,
            kept=(),
            workspace=left.workspace,
            operator=operator_name(),
        )
        try:
            raw = replace_pin(left.raw if left.raw is not None else b"{}", pin)
        except StateError:
            raw = replace_pin(b"{}", pin)
        return start_anew(
            damage,
            entry,
            state=state,
            log=Place(folder=files.log_folder, name=files.log_name, shown_as=foreign.log),
            content=left.raw,
            state_is_whole=left.pin is not None,
            raw=raw,
        )


def _damage(read: Callable[[], StorageError | None], path: str) -> str:
    """What is wrong, in words; a newer version's file is not damaged, and is told as an error."""
    try:
        failure: SandboxPinError | None = read()
    except StateError as error:
        if error.field == PROTOCOL_FIELD and error.remedy == NEWER:
            raise
        failure = error
    if failure is None:
        raise UsageError("nothing to recover: state and log are whole", file=path)
    if isinstance(failure, StorageError) and failure.expected is None:
        raise failure
    # Without the reader's remedy, which is this very command.
    return str(StateError(failure.problem, file=failure.file, field=failure.field, expected=failure.expected))


def _left(state: Place, log: FileRunLog) -> _Left:
    raw: bytes | None = None
    pin: SandboxPin | Unpinned | None = None
    with contextlib.suppress(FileNotFoundError, StateError):
        raw = read_regular(state.folder, state.name, shown_as=state.shown_as)
        pin = read_pin(raw, pinned_since=None)
    entries: list[Entry] = []
    try:
        entries += [line for line in log.lines() if not isinstance(line, Garbage | Damaged)]
    except FileNotFoundError:
        pass
    except StorageError as error:
        refuse_failure(error)
    return _Left(raw=raw, pin=None if isinstance(pin, Unpinned) else pin, entries=tuple(entries))


def _own_fields(raw: bytes | None, run: str) -> RunState | None:
    if raw is None:
        return None
    try:
        return decode_own_fields(raw, run=run)
    except StateError:
        return None


def _rebuilt(raw: bytes | None, own: RunState | None, fresh: RunState, pin: SandboxPin) -> bytes:
    """The new state: the old one with what is damaged in it replaced, where the rest of it can be kept."""
    if raw is not None and own is not None:
        with contextlib.suppress(StateError):
            return replace_members(raw, {**encode_changes(own, fresh), PIN_FIELD: encode_pin(pin)})
    return encode_run_state(fresh, pin)


def _required(at: str, backend: str | None) -> SandboxPin:
    return make_pin(mode=SandboxMode.REQUIRED, source=PinSource.STRENGTHENED, recorded_at=at, backend=backend)
