"""What a run is, as ``status`` and ``list`` tell it; reads, and changes nothing."""

from msgspec import Struct

from sandbox_pin.core.event import LaunchEnded, LaunchStarted
from sandbox_pin.core.modes import RunKind
from sandbox_pin.core.record import Disputed, SandboxPin, Unpinned
from sandbox_pin.core.run_state import RunStatus
from sandbox_pin.shell.reading import RunReading, read_run_unlocked
from sandbox_pin.shell.runs import open_run


class RunSummary(Struct, frozen=True, kw_only=True):
    """One run, as ``status`` and ``list`` tell it.

    Attributes:
        run: its id.
        kind: who owns the work.
        status: what it waits for.
        busy: whether a launch of it lives.
        workspace: the folder that it works in.
        created_at: when it was made.
        parent: the run that it was made from.
        in_force: what a request is held against; the state's pin alone where the log could not be read.
        state_pin: the pin that its state holds.
        witness: the pin that its log's last whole entry carries.
        log_failure: why the log could not be read at all, in words; ``None`` where it could, or a state from
            before pins has none.
        passed_over: how many torn lines stand at the log's end.
        last_launch: the newest launch among the log's last entries.
        last_end: the end of that launch, where it is known.
        lost: whether it was lost with its controller, so that nobody saw its end.
    """

    run: str
    kind: RunKind
    status: RunStatus
    busy: bool
    workspace: str | None
    created_at: str
    parent: str | None
    in_force: SandboxPin | Disputed | Unpinned
    state_pin: SandboxPin | Unpinned
    witness: SandboxPin | None
    log_failure: str | None
    passed_over: int
    last_launch: LaunchStarted | None
    last_end: LaunchEnded | None
    lost: bool


def summarize(root: str, run: str) -> RunSummary:
    """Reads one run, without its lock.

    Raises:
        UsageError: no such run.
        StateError: state or log is damaged.
        StorageError: the state could not be read. A log that could not is told in the summary.
    """
    with open_run(root, run) as folder:
        return summary_of(read_run_unlocked(folder))


def summary_of(reading: RunReading) -> RunSummary:
    """What there is to tell of a run that has been read."""
    state = reading.loaded.state
    return RunSummary(
        run=state.run,
        kind=state.kind,
        status=reading.status,
        busy=reading.busy,
        workspace=state.workspace,
        created_at=state.created_at,
        parent=state.parent,
        in_force=reading.in_force,
        state_pin=reading.loaded.pin,
        witness=reading.witness,
        log_failure=None if reading.log_failure is None else str(reading.log_failure),
        passed_over=reading.passed_over,
        last_launch=reading.last_launch,
        last_end=reading.last_end,
        lost=state.status is RunStatus.RUNNING and not reading.busy,
    )
