"""A run's timeline: its log folded into what a person asks of it (design: "The log").

What held the run, and since when; each launch with its end. A fold over the lines from the first on: however
long a log is, no more than one launch waits for its end.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from sandbox_pin.core.event import (
    Entry,
    LaunchEnded,
    LaunchStarted,
    PinAccepted,
    PinStrengthened,
    PinUpgraded,
    RunCreated,
    RunRecovered,
)
from sandbox_pin.core.log_line import Damaged, Garbage, LogLine
from sandbox_pin.core.modes import RunKind
from sandbox_pin.core.record import SandboxPin

PinEntry: TypeAlias = RunCreated | PinUpgraded | PinStrengthened | PinAccepted | RunRecovered
"""The entries that say to what a run is pinned, and why."""


class OpenEnd(StrEnum):
    """What is known of a launch whose end is not in the log.

    ``OPEN``: its start is the last entry, so that it may still run: only the run's state knows.
    ``UNKNOWN``: a damaged line follows, which may have told it.
    """

    OPEN = "open"
    RUNNING = "running"
    LOST = "lost"
    UNKNOWN = "unknown"


class PinRow(Struct, frozen=True, kw_only=True, tag_field="row", tag="pin"):
    """The pin came to be, changed, or was started anew.

    Attributes:
        line: the log's line, counted from 1; blank ones are not counted.
        entry: what is logged of it.
    """

    line: int
    entry: PinEntry


class UnloggedRow(Struct, frozen=True, kw_only=True, tag_field="row", tag="unlogged"):
    """From here on the entries carry another pin, and none says how it came: that was not logged, or cut out.

    A strengthening that can't be logged holds all the same (design: "The log").

    Attributes:
        line: the line of the first entry that carries it.
        at: that entry's time.
        kind: the run's kind.
        before: the pin that the entry before it carries.
        pin: the pin from here on.
    """

    line: int
    at: str
    kind: RunKind
    before: SandboxPin
    pin: SandboxPin


class LaunchRow(Struct, frozen=True, kw_only=True, tag_field="row", tag="launch"):
    """One launch, from its start to its end.

    Attributes:
        line: the line of its start.
        started: what is logged of its start.
        ended: what is logged of its end, or what else is known of it.
    """

    line: int
    started: LaunchStarted
    ended: LaunchEnded | OpenEnd


class StrayEndRow(Struct, frozen=True, kw_only=True, tag_field="row", tag="stray_end"):
    """The end of a launch whose start is not in the log.

    Attributes:
        line: its line.
        ended: what is logged of it.
    """

    line: int
    ended: LaunchEnded


class TornRow(Struct, frozen=True, kw_only=True, tag_field="row", tag="torn"):
    """Lines in a row that are no whole entry: torn by a crash, or never JSON. They were passed over.

    Attributes:
        line: the first of them.
        count: how many.
        why: what is wrong with the first.
    """

    line: int
    count: int
    why: str


class DamagedRow(Struct, frozen=True, kw_only=True, tag_field="row", tag="damaged"):
    """A whole line that is no entry which this version knows.

    Attributes:
        line: its line.
        why: what is wrong with it.
    """

    line: int
    why: str


Row: TypeAlias = PinRow | UnloggedRow | LaunchRow | StrayEndRow | TornRow | DamagedRow


class Timeline(Struct, frozen=True, kw_only=True):
    """A run's timeline, or its end.

    Attributes:
        rows: the rows, the oldest first.
        left_out: how many older rows there are.
    """

    rows: tuple[Row, ...]
    left_out: int


def timeline_rows(lines: Iterable[LogLine]) -> Iterator[Row]:
    """The rows of a log, the oldest first, each as soon as it is whole.

    A launch whose end is not in the log is ``LOST`` where another entry follows, as a run has one launch at a
    time.
    """
    launch: LaunchRow | None = None
    torn: TornRow | None = None
    pin: SandboxPin | None = None
    for number, line in enumerate(lines, start=1):
        if isinstance(line, Garbage):
            if torn is None:
                torn = TornRow(line=number, count=1, why=line.why)
            else:
                torn = replace(torn, count=torn.count + 1)
            continue
        if launch is not None:
            yield _closed(launch, line)
        if torn is not None:
            yield torn
        yield from _told(number, line, pin=pin, had_launch=launch is not None)
        torn = None
        launch = _begun(number, line)
        pin = pin if isinstance(line, Damaged) else line.pin
    if launch is not None:
        yield launch
    if torn is not None:
        yield torn


def _begun(number: int, line: Entry | Damaged) -> LaunchRow | None:
    if isinstance(line, LaunchStarted):
        return LaunchRow(line=number, started=line, ended=OpenEnd.OPEN)
    return None


def _closed(launch: LaunchRow, line: Entry | Damaged) -> LaunchRow:
    match line:
        case LaunchEnded():
            return replace(launch, ended=line)
        case Damaged():
            return replace(launch, ended=OpenEnd.UNKNOWN)
        case _:
            return replace(launch, ended=OpenEnd.LOST)


def _told(number: int, line: Entry | Damaged, *, pin: SandboxPin | None, had_launch: bool) -> Iterator[Row]:
    """The rows of one line, a launch aside, which is a row when it is whole."""
    match line:
        case Damaged(why=why):
            yield DamagedRow(line=number, why=why)
        case LaunchStarted() | LaunchEnded():
            if pin is not None and line.pin != pin:
                yield UnloggedRow(line=number, at=line.at, kind=line.kind, before=pin, pin=line.pin)
            if isinstance(line, LaunchEnded) and not had_launch:
                yield StrayEndRow(line=number, ended=line)
        case _:
            yield PinRow(line=number, entry=line)


def make_timeline(rows: Iterable[Row], *, last: int | None) -> Timeline:
    """The newest of the rows.

    Args:
        rows: all of them, the oldest first.
        last: how many are kept; ``None`` keeps all.
    """
    count = 0
    kept: deque[Row] = deque(maxlen=last)
    for count, row in enumerate(rows, start=1):  # noqa: B007 - the count of all is what is asked for
        kept.append(row)
    return Timeline(rows=tuple(kept), left_out=count - len(kept))
