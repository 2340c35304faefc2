"""A timeline's chart, as SVG inside of the HTML page, which has the styles of the classes that are used here.

Row under row, not along an axis of time: a run's events lie seconds and days apart, and rows are readable at
any width. What an agent may have written is left to the table, but for how a launch ended.
"""

from datetime import UTC
from html import escape
from itertools import groupby
from typing import Final

from sandbox_pin.cli.screen import shortened
from sandbox_pin.cli.timeline_words import BAR_STEPS, RowWords, bar_length, took_words
from sandbox_pin.cli.times import local_time
from sandbox_pin.core.modes import Strength, mode_strength
from sandbox_pin.shell.moment import parse_time
from sandbox_pin.text import shown

_WIDTH: Final = 430
_ROW: Final = 38
_TEXT: Final = 56
_RIGHT: Final = 178
_CELL: Final = 12
_LONGEST_LABEL: Final = 38

_RAILS: Final = {
    Strength.ALWAYS: ("always", 22, "required: never runs without a sandbox"),
    Strength.WHERE_CAPABLE: ("capable", 14, "preferred: sandboxed where the host can"),
    Strength.LOGICAL: ("logical", 7, "disabled: no sandbox"),
}
"""For each strength its class, the rail's width and its words; to a remote run preferred is as required."""

_PATTERNS: Final = (
    '<defs><pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><rect width="7" height="7" class="ground"/>'
    '<path d="M1.5 0V7" class="hatch"/></pattern>'
    '<pattern id="dots" width="5" height="5" patternUnits="userSpaceOnUse">'
    '<rect width="5" height="5" class="ground"/><circle cx="2.5" cy="2.5" r="1" class="dot"/></pattern>'
    '<pattern id="cross" width="7" height="7" patternUnits="userSpaceOnUse">'
    '<rect width="7" height="7" class="ground"/><path d="M0 0L7 7M7 0L0 7" class="cross"/></pattern></defs>'
)


def key() -> str:
    """What the shapes mean, a list."""
    items = [
        (f'<rect x="{15 - width / 2}" y="2" width="{width}" height="14" class="{name}"/>', words)
        for name, width, words in _RAILS.values()
    ]
    items += [
        ('<rect x="1" y="4" width="28" height="10" class="sandboxed"/>', "a launch, sandboxed"),
        ('<rect x="1" y="4" width="28" height="10" class="bare"/>', "a launch, NOT sandboxed"),
        ('<rect x="1" y="4" width="28" height="10" class="unsure"/>', "a launch, how long is not known"),
    ]
    entries = "".join(
        f'<li><svg width="30" height="18" aria-hidden="true">{shape}</svg>{escape(words)}</li>'
        for shape, words in items
    )
    steps = ", ".join(step for step, _ in BAR_STEPS)
    return (
        f'<ul class="key">{entries}</ul>\n'
        f'<p class="quiet">A launch\'s bar is one longer at each of {steps}.</p>\n'
    )


def chart(rows: list[RowWords], *, description: str) -> str:
    """The chart of these rows.

    Args:
        rows: the rows, the oldest first.
        description: the whole in a few words, for who does not see it.
    """
    height = max(len(rows), 1) * _ROW + 4
    begin = (
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {height}" role="img" '
        'aria-labelledby="chart-title chart-description">'
        '<title id="chart-title">Pin and launches, the oldest first</title>'
        f'<desc id="chart-description">{_label(description, 400)} The table below has every row.</desc>'
        f"{_PATTERNS}\n"
    )
    pieces = [begin]
    strengths = _strengths(rows)
    for strength, group in groupby(range(len(rows)), key=lambda place: strengths[place]):
        places = list(group)
        if strength is not None:
            name, width, _ = _RAILS[strength]
            pieces.append(
                f'<rect x="{12 - width / 2}" y="{2 + places[0] * _ROW}" width="{width}" '
                f'height="{len(places) * _ROW}" class="{name}"/>\n'
            )
    pieces += [_row(words, 2 + place * _ROW) for place, words in enumerate(rows)]
    return f"{''.join(pieces)}</svg>\n"


def _strengths(rows: list[RowWords]) -> list[Strength | None]:
    """For each row what held from it on; ``None`` before the first that tells."""
    held: list[Strength | None] = []
    for words in rows:
        told = None if words.pin is None else mode_strength(words.pin[0].mode, words.pin[1])
        held.append(told if told is not None else held[-1] if held else None)
    return held


def _row(words: RowWords, top: int) -> str:
    first, second = top + 15, top + 31
    pieces = [
        f'<path d="M30 {top}H{_WIDTH}" class="separator"/>',
        f'<text x="42" y="{first}" class="sign">{_label(words.sign, 1)}</text>',
        f'<text x="{_TEXT}" y="{first}" class="time">{_label(_time(words), 20)}</text>',
    ]
    if words.sandboxed is None:
        pieces.append(_said(words.what, first, "what"))
        pieces.append(_said(words.headline, second, ""))
    else:
        pieces.append(_said(_launch(words), first, "what" if words.sandboxed else "bad-word"))
        pieces.append(_bar(words, top + 22))
        pieces.append(_said(took_words(words), second, ""))
    return "".join(pieces) + "\n"


def _launch(words: RowWords) -> str:
    return "LAUNCH, sandboxed" if words.sandboxed else "LAUNCH, NOT sandboxed"


def _bar(words: RowWords, y: int) -> str:
    known = words.took is not None
    name = ("sandboxed" if words.sandboxed else "bare") if known else "unsure"
    width = bar_length(words.took) * _CELL if known else 4 * _CELL
    return f'<rect x="{_TEXT}" y="{y}" width="{width}" height="10" class="{name}"/>'


def _said(text: str, y: int, name: str) -> str:
    return f'<text x="{_RIGHT}" y="{y}" class="{name}">{_label(text, _LONGEST_LABEL)}</text>'


def _time(words: RowWords) -> str:
    if words.at is None or parse_time(words.at) is None:
        return "no time"
    return local_time(words.at, UTC).removesuffix(" UTC")


def _label(text: str, most: int) -> str:
    return escape(shortened(shown(text), most), quote=True)
