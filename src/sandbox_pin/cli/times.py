"""Times as a person reads them: in a zone, with their age. The moment of reading and the zone are given."""

from datetime import datetime, timedelta, tzinfo
from typing import Final

from sandbox_pin.shell.moment import parse_time

_UNITS: Final = (("year", 365 * 86400), ("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1))
_SHORT_UNITS: Final = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))


def local_time(text: str, zone: tzinfo | None) -> str:
    """A stored time in a zone, such as ``2026-11-30 14:03:05 CET``; what is no time comes back as it is.

    Args:
        text: the stored text.
        zone: the zone; ``None`` is the system's own, as ``TZ`` and /etc/localtime say (tzset(3)).
    """
    moment = parse_time(text)
    if moment is None:
        return text
    try:
        there = moment.astimezone(zone)
    except (OverflowError, ValueError, OSError):
        return text  # at the ends of the calendar there is no such time in every zone
    return f"{there.replace(tzinfo=None).isoformat(' ', 'seconds')} {there.tzname()}"


def age(text: str, now: datetime) -> str | None:
    """How long ago, or in how long, such as ``3 hours ago``; ``None`` where the text is no time."""
    moment = parse_time(text)
    if moment is None:
        return None
    # Cut toward zero, so that what is half a second ahead by a clock is no future.
    seconds = int((now - moment).total_seconds())
    if seconds == 0:
        return "just now"
    amount = _largest(abs(seconds))
    return f"{amount} ago" if seconds > 0 else f"in {amount}"


def duration(start: str, end: str) -> timedelta | None:
    """How long it was from one stored time to another; ``None`` where that can't be told.

    A clock that was put back in between tells nothing.
    """
    from_, to = parse_time(start), parse_time(end)
    if from_ is None or to is None or to < from_:
        return None
    return to - from_


def describe_duration(took: timedelta) -> str:
    """A duration in its two largest units, such as ``2 min 5 s``; stored times are whole seconds."""
    seconds = int(took.total_seconds())
    if seconds == 0:
        return "under 1 s"
    parts: list[str] = []
    for unit, length in _SHORT_UNITS:
        count, seconds = divmod(seconds, length)
        if count or parts:
            parts.append(f"{count} {unit}" if count else "")
    return " ".join(part for part in parts[:2] if part)


def _largest(seconds: int) -> str:
    for unit, length in _UNITS:
        # Two of a unit before it is used for days and years: "400 days" tells more than "1 year".
        if seconds >= (2 * length if unit == "year" else length):
            count = seconds // length
            return f"{count} {unit}" if count == 1 else f"{count} {unit}s"
    return "0 seconds"
