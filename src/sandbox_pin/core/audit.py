"""What an audit says of a run, and which runs a filter finds.

Values and functions of them; ``shell/audit.py`` reads the files, ``core/audit_summary.py`` counts.
"""

from enum import StrEnum

from msgspec import Struct

from sandbox_pin.core.event import LaunchStarted
from sandbox_pin.core.modes import RunKind, SandboxMode, Strength, mode_strength
from sandbox_pin.core.record import Disputed, SandboxPin, Unpinned


class Finding(StrEnum):
    """What an audit finds a run to be."""

    PINNED = "pinned"
    UNPINNED = "unpinned"
    """From before pins."""
    DISPUTED = "disputed"
    """State and run log name different backends."""
    DAMAGED = "damaged"
    UNREADABLE = "unreadable"
    """The system could not read state or run log."""
    VANISHED = "vanished"
    """It was listed, and not there any more when it was looked at: no run."""


class LastLaunch(Struct, frozen=True, kw_only=True):
    """A run's newest launch, as far as the end of its log tells.

    Attributes:
        at: when it started.
        asked: the mode that it ran under.
        enforced: whether a backend really held it.
        backend: which one.
    """

    at: str
    asked: SandboxMode
    enforced: bool
    backend: str | None


class AuditRow(Struct, frozen=True, kw_only=True):
    """One run, as an audit tells it.

    Attributes:
        path: its folder in a run root, or its state file; as the operator named what it lies in.
        run: its id; of another orchestrator's run, what its log or else its file's name says.
        kind: who owns the work; ``None`` where nothing that could be read says so.
        finding: what it is.
        in_force: the pin that a request would be held against; ``None`` where it can't be told.
        strength: what that gives a launch of it.
        age: how long ago that was pinned, in seconds; ``None`` where the record's time is no time.
        state_pin: the pin that its state holds.
        witness: the pin that its log's last whole entry carries.
        differs: whether these two are not the same.
        last_launch: the newest launch among its log's last entries.
        passed_over: how many torn lines stand at its log's end.
        problem: why it is damaged or can't be read.
    """

    path: str
    run: str
    finding: Finding
    kind: RunKind | None = None
    in_force: SandboxPin | Disputed | Unpinned | None = None
    strength: Strength | None = None
    age: int | None = None
    state_pin: SandboxPin | Unpinned | None = None
    witness: SandboxPin | None = None
    differs: bool = False
    last_launch: LastLaunch | None = None
    passed_over: int = 0
    problem: str | None = None


class Filters(Struct, frozen=True, kw_only=True):
    """Which runs are looked for; one that any of these finds is found.

    Attributes:
        at_least: runs that can't be shown to be held to as much as this mode gives a run of their kind.
        unpinned: runs from before pins.
        damaged: runs that are damaged or can't be read.
        disagree: runs whose state and log don't say the same.
    """

    at_least: SandboxMode | None = None
    unpinned: bool = False
    damaged: bool = False
    disagree: bool = False

    @property
    def given(self) -> bool:
        """Whether anything is looked for."""
        return self.at_least is not None or self.unpinned or self.damaged or self.disagree


def finds(filters: Filters, row: AuditRow) -> bool:
    """Whether one of the filters finds a run. One that has vanished is no run."""
    if row.finding is Finding.VANISHED:
        return False
    return (
        (filters.at_least is not None and not _holds(row, filters.at_least))
        or (filters.unpinned and row.finding is Finding.UNPINNED)
        or (filters.damaged and row.problem is not None)
        or (filters.disagree and row.differs)
    )


def _holds(row: AuditRow, mode: SandboxMode) -> bool:
    # Beside a log that can't be read there is a pin, of the state alone: it may be the weaker.
    if row.finding is not Finding.PINNED or row.kind is None or row.strength is None:
        return False
    return row.strength >= mode_strength(mode, row.kind)


def finding_of(in_force: SandboxPin | Disputed | Unpinned) -> Finding:
    """What a run is that could be read."""
    match in_force:
        case Unpinned():
            return Finding.UNPINNED
        case Disputed():
            return Finding.DISPUTED
        case _:
            return Finding.PINNED


def strength_of(in_force: SandboxPin | Disputed | Unpinned, kind: RunKind | None) -> Strength | None:
    """What a pin in force gives a launch of a run of that kind; a disputed one's records have one mode."""
    if kind is None or isinstance(in_force, Unpinned):
        return None
    held = in_force.witness if isinstance(in_force, Disputed) else in_force
    return mode_strength(held.mode, kind)


def last_launch_of(entry: LaunchStarted | None) -> LastLaunch | None:
    """What an audit tells of a launch."""
    if entry is None:
        return None
    return LastLaunch(at=entry.at, asked=entry.asked, enforced=entry.enforced, backend=entry.backend)
