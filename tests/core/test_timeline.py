"""The timeline: a log folded into rows, and nothing of it lost on the way."""

from collections.abc import Iterator
from typing import Final

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from core.strategies import AT, entries
from sandbox_pin import PinSource, PinV1, RunKind, SandboxMode, SandboxPin, SandboxRequest
from sandbox_pin.core.event import LaunchEnded, LaunchStarted, PinAccepted, RunCreated, RunRecovered
from sandbox_pin.core.log_line import Damaged, Garbage, LogLine
from sandbox_pin.core.timeline import (
    DamagedRow,
    LaunchRow,
    OpenEnd,
    PinRow,
    Row,
    StrayEndRow,
    TornRow,
    UnloggedRow,
    make_timeline,
    timeline_rows,
)

REQUIRED: Final = PinV1(mode=SandboxMode.REQUIRED, source=PinSource.CREATED, recorded_at=AT)
DISABLED: Final = PinV1(mode=SandboxMode.DISABLED, source=PinSource.ACCEPTED, recorded_at=AT)
TORN: Final = Garbage(why="torn")
DAMAGED: Final = Damaged(why="unknown event")
CREATED: Final = RunCreated(
    at=AT,
    run="r",
    kind=RunKind.LOCAL,
    pin=REQUIRED,
    workspace="/w",
    parent=None,
    request=SandboxRequest(mode=SandboxMode.REQUIRED),
    operator="nobody",
)
ACCEPTED: Final = PinAccepted(
    at=AT,
    run="r",
    kind=RunKind.LOCAL,
    pin=DISABLED,
    before=REQUIRED,
    disputed=None,
    request=SandboxRequest(mode=SandboxMode.DISABLED),
    operator="nobody",
)

lines: Final[SearchStrategy[LogLine]] = entries | st.just(TORN) | st.just(DAMAGED)


def started(pin: SandboxPin = REQUIRED) -> LaunchStarted:
    """The start of a launch."""
    return LaunchStarted(
        at=AT,
        run="r",
        kind=RunKind.LOCAL,
        pin=pin,
        asked=pin.mode,
        enforced=True,
        backend="bubblewrap",
        why_not=None,
        program="/bin/true",
        workspace="/w",
        writable=(),
    )


def ended(pin: SandboxPin = REQUIRED) -> LaunchEnded:
    """Its end."""
    return LaunchEnded(at=AT, run="r", kind=RunKind.LOCAL, pin=pin, ran=True, exit_code=0, signal=None)


def rows(*log: LogLine) -> list[object]:
    """The rows of a log."""
    return list(timeline_rows(log))


def test_a_launch_and_its_end_are_one_row() -> None:
    assert rows(CREATED, started(), ended()) == [
        PinRow(line=1, entry=CREATED),
        LaunchRow(line=2, started=started(), ended=ended()),
    ]


def test_a_launch_that_is_followed_by_another_entry_is_lost() -> None:
    """A run has one launch at a time."""
    for following in (started(), ACCEPTED, CREATED):
        assert rows(started(), following)[0] == LaunchRow(line=1, started=started(), ended=OpenEnd.LOST)


def test_the_last_launch_is_open_where_the_log_has_no_end_of_it() -> None:
    """Whether it runs, only the state knows; a torn line behind it tells nothing."""
    launch = LaunchRow(line=1, started=started(), ended=OpenEnd.OPEN)
    assert rows(started()) == [launch]
    assert rows(started(), TORN) == [launch, TornRow(line=2, count=1, why="torn")]


def test_of_a_launch_before_a_damaged_line_the_end_is_unknown() -> None:
    """The line may have told it; it is never taken for lost, nor for running."""
    assert rows(started(), DAMAGED) == [
        LaunchRow(line=1, started=started(), ended=OpenEnd.UNKNOWN),
        DamagedRow(line=2, why="unknown event"),
    ]


def test_an_end_without_a_start_is_told_as_that() -> None:
    assert rows(CREATED, ended()) == [PinRow(line=1, entry=CREATED), StrayEndRow(line=2, ended=ended())]
    assert rows(started(), DAMAGED, ended())[-1] == StrayEndRow(line=3, ended=ended())


def test_torn_lines_in_a_row_are_one_row_and_stand_behind_the_launch_they_follow() -> None:
    """However many there are, they take no memory."""
    assert rows(started(), Garbage(why="first"), TORN, ended(), TORN) == [
        LaunchRow(line=1, started=started(), ended=ended()),
        TornRow(line=2, count=2, why="first"),
        TornRow(line=5, count=1, why="torn"),
    ]


def test_a_pin_that_moved_without_an_entry_is_told() -> None:
    """A strengthening that could not be logged, or an entry that was cut out."""
    moved = UnloggedRow(line=2, at=AT, kind=RunKind.LOCAL, before=DISABLED, pin=REQUIRED)
    assert rows(ACCEPTED, started(), ended())[1] == moved
    assert rows(started(DISABLED), ended())[1] == moved
    assert not any(isinstance(row, UnloggedRow) for row in rows(CREATED, ACCEPTED, started(DISABLED)))


def test_a_recovery_is_a_row_of_the_pin() -> None:
    entry = RunRecovered(
        at=AT,
        run="r",
        kind=RunKind.LOCAL,
        pin=REQUIRED,
        before=None,
        kept=("x",),
        workspace=None,
        operator="o",
    )
    assert rows(DAMAGED, entry) == [DamagedRow(line=1, why=DAMAGED.why), PinRow(line=2, entry=entry)]


def lines_of(row: Row) -> list[LogLine]:
    """The lines that a row tells."""
    match row:
        case PinRow():
            return [row.entry]
        case LaunchRow():
            return [row.started, *([row.ended] if isinstance(row.ended, LaunchEnded) else [])]
        case StrayEndRow():
            return [row.ended]
        case TornRow():
            return [TORN] * row.count
        case DamagedRow():
            return [DAMAGED]
        case _:
            return []


@given(st.lists(lines, max_size=12))
def test_no_line_is_lost_and_none_is_told_twice(log: list[LogLine]) -> None:
    """Each line is in exactly one row; what a row says of its first line's place is so."""
    every = list(timeline_rows(log))
    told = [line for row in every for line in lines_of(row)]
    assert len(told) == len(log)
    assert all(told.count(line) == log.count(line) for line in log)
    for row in every:
        assert all(log[row.line - 1] == line for line in lines_of(row)[:1])


def test_rows_come_as_the_log_is_read() -> None:
    """A log of any length is told with one line in hand."""
    read = 0

    def log() -> Iterator[LogLine]:
        nonlocal read
        while True:
            read += 2
            yield started()
            yield ended()

    told = timeline_rows(log())
    for _ in range(1000):
        _ = next(told)
    assert read <= 2002


@given(st.lists(lines, max_size=12), st.none() | st.integers(1, 20))
def test_the_last_rows_are_kept_and_the_older_ones_counted(log: list[LogLine], last: int | None) -> None:
    every = list(timeline_rows(log))
    timeline = make_timeline(every, last=last)
    assert timeline.left_out + len(timeline.rows) == len(every)
    assert list(timeline.rows) == (every if last is None else every[-last:])
