"""The end of a log: its last lines, and what they tell of the last launch, beside a model of a few lines."""

from collections.abc import Sequence
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.strategies import AT, LATER
from sandbox_pin import RunKind, SandboxMode, StateError
from sandbox_pin.core.event import Entry, LaunchEnded, LaunchStarted
from sandbox_pin.core.log_end import LogEnd, LogTail, end_of_log, lines_backwards
from sandbox_pin.core.log_line import LINE_LIMIT, encode_line
from sandbox_pin.testing import build_entry, build_pin

CREATED: Final = build_entry()
STARTED, STARTED_LATER = (
    LaunchStarted(
        at=at,
        run="r",
        kind=RunKind.LOCAL,
        pin=build_pin(),
        asked=SandboxMode.REQUIRED,
        enforced=True,
        backend="bubblewrap",
        why_not=None,
        program="true",
        workspace="/work",
        writable=(),
    )
    for at in (AT, LATER)
)
ENDED, ENDED_LATER = (
    LaunchEnded(at=at, run="r", kind=RunKind.LOCAL, pin=build_pin(), ran=True, exit_code=0, signal=None)
    for at in (AT, LATER)
)
TORN: Final = encode_line(ENDED)[:-1]
LONG: Final = TORN + b" " * LINE_LIMIT + b"}"
UNKNOWN: Final = b'{"event":"launch_dreamt"}'


def end_of(lines: Sequence[Entry | bytes]) -> LogEnd:
    """The end of a log of these lines, the first one first."""
    raw = [line if isinstance(line, bytes) else encode_line(line) for line in lines]
    return end_of_log(reversed(raw))


@given(st.lists(st.sampled_from([b"", b"a", b" b", b"\r"]), max_size=5), st.booleans())
def test_lines_come_last_first_and_none_of_them_is_cut(lines: list[bytes], cut: bool) -> None:
    """What the block cuts is its first line, or the rest of one."""
    block = b"\n".join(lines)
    assert [*lines_backwards(block, cut=cut)] == block.split(b"\n")[cut:][::-1]


@pytest.mark.parametrize(
    ("lines", "entry", "passed_over", "launch", "ended"),
    [
        ([], None, 0, None, None),
        ([b"", b" \t"], None, 0, None, None),
        ([TORN, b"", TORN], None, 2, None, None),
        ([CREATED], CREATED, 0, None, None),
        ([CREATED, TORN, b"", TORN], CREATED, 2, None, None),
        ([CREATED, LONG], CREATED, 1, None, None),
        ([CREATED, STARTED], STARTED, 0, STARTED, None),
        ([CREATED, STARTED, ENDED], ENDED, 0, STARTED, ENDED),
        ([STARTED, TORN, ENDED, UNKNOWN, CREATED, TORN], CREATED, 1, STARTED, ENDED),
        ([STARTED, ENDED, STARTED_LATER], STARTED_LATER, 0, STARTED_LATER, None),
        ([STARTED, ENDED, STARTED_LATER, ENDED_LATER], ENDED_LATER, 0, STARTED_LATER, ENDED_LATER),
        ([STARTED, ENDED, ENDED_LATER], ENDED_LATER, 0, STARTED, ENDED_LATER),
        ([TORN, ENDED], ENDED, 0, None, ENDED),
        ([UNKNOWN, STARTED], STARTED, 0, STARTED, None),
    ],
)
def test_the_last_entry_and_the_last_launch_are_told(
    lines: Sequence[Entry | bytes],
    entry: Entry | None,
    passed_over: int,
    launch: LaunchStarted | None,
    ended: LaunchEnded | None,
) -> None:
    """What stands before the last entry is looked at for the launch alone: damage there is another's to tell.

    The end is that launch's own, the newest of them, also where the launch itself is too far back.
    """
    expected = LogEnd(tail=LogTail(entry=entry, passed_over=passed_over), launch=launch, ended=ended)
    assert end_of(lines) == expected


@pytest.mark.parametrize("behind", [[], [TORN], [b""]])
def test_a_whole_last_line_that_is_no_entry_is_damage(behind: list[bytes]) -> None:
    """No older entry stands in for it, as the pin that it should carry would be passed over."""
    with pytest.raises(StateError, match="launch_dreamt"):
        _ = end_of([STARTED, UNKNOWN, *behind])
