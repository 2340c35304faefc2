"""A timeline as text: each row one or a few lines, at the left edge the strength that held.

No colour: every state has a sign and a word of its own. Row by row, so that a log of any length is shown as
it is read.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from sandbox_pin.cli.screen import Screen, fitted, told_time
from sandbox_pin.cli.timeline_words import BAR_STEPS, LONGEST_BAR, RowWords, bar_length, row_words, took_words
from sandbox_pin.core.modes import mode_strength
from sandbox_pin.core.timeline import Row

_INDENT: Final = 6
_UNKNOWN: Final = "  "


def legend_lines(screen: Screen | None) -> Iterator[str]:
    """What the signs mean."""
    steps = ", ".join(step for step, _ in BAR_STEPS)
    for line in (
        "held to:  ## never unsandboxed  #- sandboxed where the host can  -- no sandbox",
        "pin:      + created  ^ raised  v lowered  = upgraded  * recovered  ? not told",
        "launch:   > sandboxed  ! NOT sandboxed   log: ~ torn  X damaged",
        f"bar:      one longer at each of {steps}",
    ):
        yield from fitted(line, screen, indent=10)
    yield ""


def timeline_lines(rows: Iterable[Row], screen: Screen | None) -> Iterator[str]:
    """The rows, the oldest first, ready to be printed.

    Args:
        rows: the rows of a timeline.
        screen: the terminal that shows them; ``None``: texts are whole, times as they are stored.
    """
    gauge = _UNKNOWN
    for row in rows:
        words = row_words(row)
        if words.pin is not None:
            pin, kind = words.pin
            strength = mode_strength(pin.mode, kind)
            gauge = "#" * strength + "-" * (2 - strength)
        yield from _row_lines(words, gauge, screen)


def _row_lines(words: RowWords, gauge: str, screen: Screen | None) -> Iterator[str]:
    head = [part for part in (_time(words, screen), words.what, words.headline) if part]
    if words.who is not None:
        head.append(f"by {words.who}")
    yield from _railed(f"{gauge} {words.sign} ", " ".join(head), gauge, screen)
    for detail in words.details:
        yield from _railed(f"{gauge}   ", detail, gauge, screen)
    if words.end is not None:
        yield from _railed(f"{gauge}   ", f"{_bar(words)} {took_words(words)}", gauge, screen)


def _railed(begin: str, text: str, gauge: str, screen: Screen | None) -> Iterator[str]:
    """The text as lines behind the rail; only the first has the sign."""
    inner = screen and Screen(width=screen.width - _INDENT, now=screen.now, zone=screen.zone)
    for place, line in enumerate(fitted(text, inner, indent=2)):
        yield f"{begin if place == 0 else f'{gauge}   '} {line}"


def _time(words: RowWords, screen: Screen | None) -> str | None:
    return None if words.at is None else f"{told_time(words.at, screen)} "


def _bar(words: RowWords) -> str:
    if words.took is None:
        return f"[?{' ' * (LONGEST_BAR - 1)}]"
    length = bar_length(words.took)
    return f"[{('=' if words.sandboxed else '!') * length}{' ' * (LONGEST_BAR - length)}]"
