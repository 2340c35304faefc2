"""What a run's state and log say together, before anything is decided (design: "The pin in force")."""

import time
from typing import Final

from msgspec import Struct

from sandbox_pin.core.describe import find_difference
from sandbox_pin.core.event import Entry, LaunchEnded, LaunchStarted
from sandbox_pin.core.log_end import LogEnd
from sandbox_pin.core.record import Disputed, SandboxPin, Unpinned
from sandbox_pin.core.rule import pin_in_force
from sandbox_pin.core.run_state import PROTOCOL, RunStatus
from sandbox_pin.errors import StateError, StorageError
from sandbox_pin.shell.processes import is_alive
from sandbox_pin.shell.run_log import STARTS_ANEW, refuse_another
from sandbox_pin.shell.runs import LoadedRun, RunFolder

BETWEEN_TWO_WRITES: Final = 0.05


class RunReading(Struct, frozen=True, kw_only=True):
    """A run as its two witnesses tell it.

    Attributes:
        loaded: the state.
        entry: the log's last whole entry; ``None`` only where a state from before pins has no log, or the log
            could not be read.
        passed_over: how many torn or garbage lines stand behind that entry.
        log_failure: why the log could not be read at all; ``None`` where it could.
        in_force: the pin that a request is held against.
        last_launch: the newest launch among the log's last entries.
        last_end: the end of that launch, where it is known.
    """

    loaded: LoadedRun
    entry: Entry | None
    passed_over: int
    log_failure: StorageError | None
    in_force: SandboxPin | Disputed | Unpinned
    last_launch: LaunchStarted | None
    last_end: LaunchEnded | None

    @property
    def witness(self) -> SandboxPin | None:
        """The pin that the log's last whole entry carries."""
        return None if self.entry is None else self.entry.pin

    @property
    def differs(self) -> bool:
        """Whether state and log say different things of the pin, an accept that was not finished included."""
        return find_difference(self.loaded.pin, self.witness) is not None

    @property
    def busy(self) -> bool:
        """Whether the last launch's process still lives, though its command may be gone."""
        launch = self.loaded.state.launch
        return launch is not None and is_alive(launch)

    @property
    def status(self) -> RunStatus:
        """The run's status; a launch that was lost with its controller has failed."""
        status = self.loaded.state.status
        return RunStatus.BLOCKED if status is RunStatus.RUNNING and not self.busy else status


def read_run(folder: RunFolder) -> RunReading:
    """Reads state and log, and joins them.

    Args:
        folder: the run's folder.

    Raises:
        StateError: either is damaged, or the log is missing or empty though it can't be, or they speak of
            different runs or kinds. Nothing is written.
        StorageError: the state could not be read. A log that could not is told in the reading: a stronger
            request must still be able to raise the pin.
    """
    try:
        return _read(folder)
    except StateError as error:
        remedy = f"Nothing was changed. {folder.command('recover')} {STARTS_ANEW}"
        raise error.located(remedy=remedy) from None


def _read(folder: RunFolder) -> RunReading:
    loaded = folder.load()
    kind = loaded.state.kind
    found = folder.log.find_end()
    end = found if isinstance(found, LogEnd) else None
    entry = None if end is None else end.tail.entry
    problem = None
    if found is None and loaded.state.protocol >= PROTOCOL:
        problem = "missing"
    elif end is not None and entry is None:
        problem = "no whole entry in it" if end.tail.passed_over else "empty"
    if problem is not None:
        expected = "the run's log, which begins with its creation"
        raise StateError(problem, file=folder.log.shown_as, expected=expected)
    if entry is not None:
        refuse_another(entry, kind=kind, run=folder.run, file=folder.log.shown_as)
    return RunReading(
        loaded=loaded,
        entry=entry,
        passed_over=0 if end is None else end.tail.passed_over,
        log_failure=found if isinstance(found, StorageError) else None,
        in_force=pin_in_force(loaded.pin, None if entry is None else entry.pin, kind=kind),
        last_launch=None if end is None else end.launch,
        last_end=None if end is None else end.ended,
    )


def read_run_unlocked(folder: RunFolder) -> RunReading:
    """As ``read_run``, for a command that only tells, and so takes no lock.

    What seems to differ, or to be damaged, is looked at again: another command may have been between its
    two writes.
    """
    try:
        reading = read_run(folder)
    except StateError:
        time.sleep(BETWEEN_TWO_WRITES)
        return read_run(folder)
    if reading.differs:
        time.sleep(BETWEEN_TWO_WRITES)
        return read_run(folder)
    return reading
