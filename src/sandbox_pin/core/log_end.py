"""The end of a run log: the last whole entry, and what it tells of the last launch (design: "The log")."""

from collections.abc import Iterator

from msgspec import Struct

from sandbox_pin.core.event import Entry, LaunchEnded, LaunchStarted
from sandbox_pin.core.log_line import Damaged, Garbage, decode_line, tell_line


class LogTail(Struct, frozen=True, kw_only=True):
    """The end of a run log.

    Attributes:
        entry: the last whole entry, the witness's; ``None`` where there is none.
        passed_over: how many torn or garbage lines stand behind it.
    """

    entry: Entry | None
    passed_over: int


class LogEnd(Struct, frozen=True, kw_only=True):
    """The end of a run log, and what it tells of the last launch.

    Attributes:
        tail: the last whole entry.
        launch: the newest launch among the whole entries of the last 64 KiB.
        ended: the end of that launch, where it is known.
    """

    tail: LogTail
    launch: LaunchStarted | None
    ended: LaunchEnded | None


def lines_backwards(block: bytes, *, cut: bool) -> Iterator[bytes]:
    """Its lines, the last first; what the block cuts is none, as its beginning may make it another's text."""
    end = len(block)
    while (before := block.rfind(b"\n", 0, end)) >= 0:
        yield block[before + 1 : end]
        end = before
    if not cut:
        yield block[:end]


def end_of_log(lines: Iterator[bytes]) -> LogEnd:
    """Reads the end of a log, as far back as is needed.

    Args:
        lines: its last lines, the last one first.

    Raises:
        StateError: the last whole line is damaged.
    """
    passed_over = 0
    last: Entry | None = None
    ended: LaunchEnded | None = None
    for line in lines:
        if not line.strip():
            continue
        found = decode_line(line) if last is None else tell_line(line)
        if isinstance(found, Garbage | Damaged):
            passed_over += last is None
            continue
        last = last or found
        if isinstance(found, LaunchStarted):
            return LogEnd(tail=LogTail(entry=last, passed_over=passed_over), launch=found, ended=ended)
        if isinstance(found, LaunchEnded):
            ended = ended or found
    return LogEnd(tail=LogTail(entry=last, passed_over=passed_over), launch=None, ended=ended)
