"""What a person's terminal shows: lines that fit its width, times in its zone.

Anywhere else than at a terminal a text is kept or compared, and must not depend on when and where it was
read: there every text is whole, and every time is as it is stored.
"""

from datetime import datetime, tzinfo
from functools import partial
from typing import Final

from msgspec import Struct

from sandbox_pin.cli.times import age, local_time
from sandbox_pin.core.record import TellTime
from sandbox_pin.text import shown

_NARROWEST: Final = 24
_GAP: Final = "..."


class Screen(Struct, frozen=True, kw_only=True):
    """A terminal, as far as it matters to a text.

    Attributes:
        width: in columns.
        now: the moment of reading.
        zone: the operator's zone; ``None`` is the system's own.
    """

    width: int
    now: datetime
    zone: tzinfo | None = None


def told_time(text: str, screen: Screen | None) -> str:
    """A stored time: at a terminal ``2026-11-30 14:03:05 CET``, elsewhere as it is."""
    return text if screen is None else local_time(text, screen.zone)


def told_time_and_age(text: str, screen: Screen | None) -> str:
    """A stored time: at a terminal ``2026-11-30 14:03:05 CET, 3 hours ago``, elsewhere as it is."""
    if screen is None:
        return text
    ago = age(text, screen.now)
    return text if ago is None else f"{local_time(text, screen.zone)}, {ago}"


def times_of(screen: Screen | None) -> TellTime:
    """How times inside a sentence are told: as ``told_time_and_age`` tells them."""
    return partial(told_time_and_age, screen=screen)


def fitted(text: str, screen: Screen | None, *, indent: int) -> list[str]:
    """The lines that a text takes: at a terminal as many as it needs there, elsewhere one.

    It is broken at its spaces. A word that is longer than a line (a path, an id) is cut short in its
    middle: broken in two it could neither be read nor copied, and the whole of it is one pipe away.

    Args:
        text: the text, of any origin.
        screen: the terminal.
        indent: how many spaces each line but the first begins with.
    """
    text = shown(text)
    if screen is None or columns(text) <= screen.width:
        return [text]
    width = max(screen.width, _NARROWEST)
    first, *words = text.split(" ")
    lines: list[str] = []
    line = shortened(first, width)
    begin = " " * min(indent, width // 2)
    for word in words:
        if columns(line) + 1 + columns(word) <= width:
            line += f" {word}"
            continue
        # A word that no line holds begins where it stands if a readable part of it fits there.
        room = width - columns(line) - 1
        if columns(word) > width - len(begin) and room * 2 >= width:
            line += f" {shortened(word, room)}"
            continue
        lines.append(line.rstrip())
        line = begin + shortened(word, width - len(begin))
    return [*lines, line.rstrip()]


def shortened(text: str, width: int) -> str:
    """The text, cut short in its middle where it takes more columns: both ends of a path tell something."""
    if columns(text) <= width:
        return text
    room = max(width - len(_GAP), 2)
    head = _cut(text, room // 3)
    tail = _cut(text[::-1], room - columns(head))[::-1]
    return f"{head}{_GAP}{tail}"


def columns(text: str) -> int:
    """How many columns of a terminal a printable text takes.

    Wide characters take two, combining ones none (Unicode Standard Annex 11).
    """
    if text.isascii():
        return len(text)
    return sum(_columns_of(character) for character in text)


def _columns_of(character: str) -> int:
    from unicodedata import category, east_asian_width  # noqa: PLC0415 - a table that few texts need

    if category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if east_asian_width(character) in {"W", "F"} else 1


def _cut(text: str, width: int) -> str:
    taken = 0
    for end, character in enumerate(text):
        taken += _columns_of(character)
        if taken > width:
            return text[:end]
    return text
