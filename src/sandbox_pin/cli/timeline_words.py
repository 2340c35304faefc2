"""A timeline's rows in words, the same on a terminal and in HTML."""

from datetime import timedelta
from typing import Final, assert_never

from msgspec import Struct

from sandbox_pin.cli.log_lines import mode_words
from sandbox_pin.cli.times import describe_duration, duration
from sandbox_pin.core.describe import describe_request
from sandbox_pin.core.event import (
    LaunchEnded,
    PinAccepted,
    PinStrengthened,
    PinUpgraded,
    RunCreated,
    RunRecovered,
)
from sandbox_pin.core.modes import RunKind
from sandbox_pin.core.record import SandboxPin
from sandbox_pin.core.timeline import (
    DamagedRow,
    LaunchRow,
    OpenEnd,
    PinEntry,
    PinRow,
    Row,
    StrayEndRow,
    TornRow,
    UnloggedRow,
)

BAR_STEPS: Final = (
    ("1 s", 1),
    ("10 s", 10),
    ("1 min", 60),
    ("10 min", 600),
    ("1 h", 3600),
    ("6 h", 21600),
    ("1 d", 86400),
    ("7 d", 604800),
)
"""What a launch's bar is measured by: it is one longer at each of these. Runs last seconds and days."""

LONGEST_BAR: Final = len(BAR_STEPS) + 1


class RowWords(Struct, frozen=True, kw_only=True):
    """A row in words.

    Attributes:
        sign: one character that tells the kinds of rows apart.
        what: the kind of row, in a word or two.
        at: its stored time; ``None`` where a line tells none.
        headline: what happened.
        details: what belongs to it, a sentence each.
        who: the operator's login name, where one decided.
        took: how long it took, as a launch does, and as far as it is known.
        end: how it ended, as a launch does.
        sandboxed: whether it was, as a launch is; ``None`` for other rows.
        pin: the pin from here on and the run's kind; ``None`` where a line tells none.
    """

    sign: str
    what: str
    at: str | None
    headline: str
    details: tuple[str, ...] = ()
    who: str | None = None
    took: timedelta | None = None
    end: str | None = None
    sandboxed: bool | None = None
    pin: tuple[SandboxPin, RunKind] | None = None


def row_words(row: Row) -> RowWords:
    """What a row tells."""
    match row:
        case PinRow(entry=entry):
            return _pin_words(entry)
        case UnloggedRow():
            return RowWords(
                sign="?",
                what="PIN MOVED",
                at=row.at,
                headline=f"{mode_words(row.before)} -> {mode_words(row.pin)}",
                details=("by a change that the log does not tell",),
                pin=(row.pin, row.kind),
            )
        case LaunchRow():
            return _launch_words(row)
        case StrayEndRow(ended=ended):
            return RowWords(
                sign="?",
                what="END",
                at=ended.at,
                headline=f"of a launch whose start is not in the log: {end_words(ended)}",
                pin=(ended.pin, ended.kind),
            )
        case TornRow(line=line, count=count, why=why):
            lines = f"line {line}" if count == 1 else f"lines {line} to {line + count - 1}"
            return RowWords(sign="~", what="TORN", at=None, headline=f"{lines}, passed over", details=(why,))
        case DamagedRow(line=line, why=why):
            return RowWords(sign="X", what="DAMAGED", at=None, headline=f"line {line}", details=(why,))
        case _:
            assert_never(row)


def _pin_words(entry: PinEntry) -> RowWords:
    after = mode_words(entry.pin)
    match entry:
        case RunCreated(parent=parent):
            sign, what, headline = "+", "CREATED", after
            details = [f"asked for {describe_request(entry.request)}"]
            if parent is not None:
                details.append(f"made from {parent.run}, which was pinned to {mode_words(parent.pin)}")
        case RunRecovered(kept=kept):
            sign, what, headline = "*", "RECOVERED", after
            before = "none that could be read" if entry.before is None else mode_words(entry.before)
            details = [f"pin before: {before}", f"kept aside: {', '.join(kept) or 'nothing'}"]
        case PinUpgraded() | PinStrengthened() | PinAccepted():
            sign, what = _CHANGES[type(entry)]
            before = "no pin" if entry.before is None else mode_words(entry.before)
            if entry.disputed is not None:
                before += f" or {mode_words(entry.disputed)}"
            headline = f"{before} -> {after}"
            details = [f"asked for {describe_request(entry.request)}"]
            if isinstance(entry, PinAccepted):
                details.append("accepted in the open, with --accept-config-change")
        case _:
            assert_never(entry)
    return RowWords(
        sign=sign,
        what=what,
        at=entry.at,
        headline=headline,
        details=tuple(details),
        who=entry.operator,
        pin=(entry.pin, entry.kind),
    )


_CHANGES: Final = {
    PinUpgraded: ("=", "UPGRADED"),
    PinStrengthened: ("^", "RAISED"),
    PinAccepted: ("v", "LOWERED"),
}


def _launch_words(row: LaunchRow) -> RowWords:
    started, ended = row.started, row.ended
    asked = f"{started.asked} asked"
    if started.enforced:
        how = f"sandboxed by {started.backend} ({asked})"
    else:
        how = f"NOT sandboxed ({asked}): {started.why_not}"
    return RowWords(
        sign=">" if started.enforced else "!",
        what="LAUNCH",
        at=started.at,
        headline=started.program,
        details=(how,),
        took=duration(started.at, ended.at) if isinstance(ended, LaunchEnded) else None,
        end=end_words(ended),
        sandboxed=started.enforced,
        pin=(started.pin, started.kind),
    )


def end_words(ended: LaunchEnded | OpenEnd) -> str:
    """How a launch ended."""
    match ended:
        case OpenEnd.RUNNING:
            return "still running"
        case OpenEnd.LOST:
            return "LOST: nobody saw its end"
        case OpenEnd.OPEN | OpenEnd.UNKNOWN:
            return "its end is not in the log"
        case LaunchEnded(ran=False):
            return "DID NOT RUN"
        case LaunchEnded(signal=str(name)):
            return f"ENDED BY {name}"
        case LaunchEnded(exit_code=0):
            return "ok, exit status 0"
        case LaunchEnded(exit_code=None):
            return "its exit status is not in the log"
        case LaunchEnded(exit_code=code):
            return f"FAILED, exit status {code}"
        case _:
            assert_never(ended)


def took_words(words: RowWords) -> str:
    """How long a launch took, and how it ended."""
    parts = [part for part in (_took(words), words.end) if part is not None]
    return ": ".join(parts)


def _took(words: RowWords) -> str | None:
    return None if words.took is None else describe_duration(words.took)


def bar_length(took: timedelta | None) -> int:
    """How many cells long a launch's bar is: from 1 to ``LONGEST_BAR``."""
    seconds = 0 if took is None else took.total_seconds()
    return 1 + sum(seconds >= length for _, length in BAR_STEPS)
