"""State and log of a run that another orchestrator keeps, in whatever language, held and joined.

Since that orchestrator rewrites its state, a missing pin beside a witness is no damage: the witness holds
(design: "Damage").
"""

import contextlib
import os
import shlex
from collections.abc import Generator

from msgspec import Struct

from sandbox_pin.core.log_end import LogTail
from sandbox_pin.core.modes import RunKind
from sandbox_pin.core.record import Disputed, SandboxPin, Unpinned
from sandbox_pin.core.rule import pin_in_force
from sandbox_pin.core.state import read_pin
from sandbox_pin.errors import StateError, StorageError, UsageError
from sandbox_pin.shell.durable import open_folder, read_regular
from sandbox_pin.shell.locks import DEFAULT_WAIT, hold
from sandbox_pin.shell.run_log import STARTS_ANEW, FileRunLog, refuse_another


class ForeignRun(Struct, frozen=True, kw_only=True):
    """A run that another orchestrator keeps.

    Attributes:
        state: the path of its state, one JSON object.
        log: the path of its run log; it is made with the first change of the pin.
        kind: who owns the work.
        run: its id in the log; ``None``: the state's file name, without its ending.
        pinned_since: the first value of the state's ``protocol`` that has a pin; ``None``: it says nothing of
            its age.
    """

    state: str
    log: str
    kind: RunKind
    run: str | None = None
    pinned_since: int | None = None

    @property
    def name(self) -> str:
        """The run's id in the log."""
        return self.run or os.path.splitext(os.path.basename(self.state))[0]


class HeldFiles(Struct, frozen=True, kw_only=True):
    """Its state and log, open and held."""

    folder: int
    name: str
    log_folder: int
    log_name: str
    log: FileRunLog


class ForeignReading(Struct, frozen=True, kw_only=True):
    """What they say.

    Attributes:
        raw: the state's bytes.
        pin: the pin in it.
        witness: the pin that the log's last whole entry carries.
        log_failure: why the log could not be read at all; ``None`` where it could, or is not there.
        in_force: the pin that a request is held against.
    """

    raw: bytes
    pin: SandboxPin | Unpinned
    witness: SandboxPin | None
    log_failure: StorageError | None
    in_force: SandboxPin | Disputed | Unpinned


@contextlib.contextmanager
def hold_files(foreign: ForeignRun) -> Generator[HeldFiles]:
    """Opens the folders of state and log, and holds the state's.

    Raises:
        UsageError: one of the folders is not there, or one file is named as both.
        BusyError: another command holds it.
        StorageError: the system could not open or lock one.
    """
    state, log = (os.path.abspath(path) for path in (foreign.state, foreign.log))
    if _is_one_file(state, log):
        raise UsageError("--state and --log are one file", file=foreign.state, expected="two files")
    with contextlib.ExitStack() as stack:
        folders: list[int] = []
        for path in (state, log):
            try:
                folders.append(open_folder(os.path.dirname(path)))
            except FileNotFoundError:
                raise UsageError("its folder does not exist", file=path) from None
            _ = stack.callback(os.close, folders[-1])
        stack.enter_context(hold(folders[0], wait=DEFAULT_WAIT, shown_as=os.path.dirname(state)))
        yield HeldFiles(
            folder=folders[0],
            name=os.path.basename(state),
            log_folder=folders[1],
            log_name=os.path.basename(log),
            log=FileRunLog(
                folders[1],
                os.path.basename(log),
                shown_as=foreign.log,
                recover=lambda: _recover_command(foreign),
            ),
        )


def _is_one_file(state: str, log: str) -> bool:
    """Whether two paths lead to one file, also by a link or a second name; it need not be there yet."""
    try:
        return os.path.samefile(state, log)
    except OSError:
        return os.path.realpath(state) == os.path.realpath(log)


def read_foreign(foreign: ForeignRun, files: HeldFiles) -> ForeignReading:
    """Reads state and log, and joins them.

    Raises:
        UsageError: there is neither state nor log.
        StateError: either is damaged, or they speak of different runs or kinds.
        StorageError: the state could not be read.
    """
    try:
        return _read(foreign, files)
    except StateError as error:
        right = "Are --state, --log, --kind and --run of one run? Nothing was changed."
        remedy = f"{right} If it is damaged: {_recover_command(foreign)} {STARTS_ANEW}"
        raise error.located(file=error.file or foreign.state, remedy=remedy) from None


def _recover_command(foreign: ForeignRun) -> str:
    again = ["sandbox-pin", "recover", "--state", foreign.state, "--log", foreign.log]
    return shlex.join([*again, "--kind", foreign.kind, *(["--run", foreign.run] if foreign.run else [])])


def _read(foreign: ForeignRun, files: HeldFiles) -> ForeignReading:
    tail = files.log.find_tail()
    entry = tail.entry if isinstance(tail, LogTail) else None
    try:
        raw = read_regular(files.folder, files.name, shown_as=foreign.state)
    except FileNotFoundError:
        if tail is None:
            raise UsageError("no such state", file=foreign.state) from None
        raise StateError("missing, though its run log is there", file=foreign.state) from None
    pin = pin_beside(raw, tail, pinned_since=foreign.pinned_since)
    if entry is not None:
        refuse_another(entry, kind=foreign.kind, run=foreign.name, file=foreign.log)
    return ForeignReading(
        raw=raw,
        pin=pin,
        witness=None if entry is None else entry.pin,
        log_failure=tail if isinstance(tail, StorageError) else None,
        in_force=pin_in_force(pin, None if entry is None else entry.pin, kind=foreign.kind),
    )


def pin_beside(
    raw: bytes, tail: LogTail | StorageError | None, *, pinned_since: int | None
) -> SandboxPin | Unpinned:
    """The pin in a state that another orchestrator rewrites, beside this end of its log.

    Args:
        raw: the state's bytes.
        tail: what the log says, why it can't be read, or that there is none.
        pinned_since: as in ``ForeignRun``.

    Raises:
        StateError: the pin is damaged; or it is missing, and neither the log nor the state's age tells why.
    """
    pin = read_pin(raw, pinned_since=None)
    if not isinstance(pin, Unpinned) or (isinstance(tail, LogTail) and tail.entry is not None):
        return pin
    if isinstance(tail, LogTail):
        raise StateError("no pin in it, and no whole entry in the run log beside it")
    return read_pin(raw, pinned_since=pinned_since)
