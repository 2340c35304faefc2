"""One plot: how far each line is from its aim, on a scale where twice as good is as far as half as good."""

import math
from collections.abc import Sequence
from html import escape
from typing import Final

from benchmarks.line import AtLeast, AtMost, Line, NoAim
from benchmarks.page import aim_told, number, pairs_of
from benchmarks.ratio import Ratio, is_met
from benchmarks.results import Results

_ROW: Final = 22
_TOP: Final = 64
_LEFT: Final = 540
_RIGHT: Final = 900
_WIDTH: Final = 1040
_TICKS: Final = (0.25, 0.5, 1, 2, 4, 8)

# Blue and orange are told apart in every common kind of colour blindness; so are the full and the empty dot.
# Text and lines take the reader's own scheme, light or dark.
_STYLE: Final = """\
text{font:13px system-ui,sans-serif;fill:#1f2328}.label{font-size:12px}
.soft{fill:#59636e}.grid{stroke:#d1d9e0}.aim{stroke:#1f2328}
.met{fill:#0072b2;stroke:#0072b2}.missed{fill:none;stroke:#c2410c}
@media (prefers-color-scheme:dark){text{fill:#f0f6fc}.soft{fill:#9198a1}.grid{stroke:#3d444d}
.aim{stroke:#f0f6fc}
.met{fill:#56b4e9;stroke:#56b4e9}.missed{stroke:#f0a35e}}"""


def plot_of(results: Results, lines: Sequence[Line]) -> str:
    """The plot as SVG text."""
    shown = [(line, ratio) for line, ratio in pairs_of(results, lines) if not isinstance(line.aim, NoAim)]
    bottom = _TOP + _ROW * len(shown)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {bottom + 30}" role="img">',
        "<title>How many times better than its aim each line is</title>",
        f"<style>{_STYLE}</style>",
        '<text x="10" y="22">How many times better than its aim each line is</text>',
        '<text class="soft" x="10" y="42">full dot: met; ring: not met; bar: quartiles of the pairs</text>',
    ]
    for tick in _TICKS:
        x = _place(tick)
        kind = "aim" if tick == 1 else "grid"
        parts.append(f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 8}" y2="{bottom}"/>')
        label = "the aim" if tick == 1 else f"{tick:g}"
        parts.append(f'<text class="soft" x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{label}</text>')
    for place, (line, ratio) in enumerate(shown):
        parts.extend(_row(line, ratio, _TOP + _ROW * place + _ROW // 2))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _row(line: Line, ratio: Ratio, y: int) -> list[str]:
    kind = "met" if is_met(ratio, line.aim) else "missed"
    x = _place(_better(line, ratio.value))
    ends = sorted(_place(_better(line, value)) for value in (ratio.low, ratio.high))
    label = escape(f"{line.work} / {line.peer}")
    figure = f"{number(ratio.value)} ({aim_told(line.aim)})"
    return [
        f'<text class="label" x="{_LEFT - 12}" y="{y + 4}" text-anchor="end">{label}</text>',
        f'<line class="{kind}" stroke-width="2" x1="{ends[0]:.1f}" x2="{ends[1]:.1f}" y1="{y}" y2="{y}"/>',
        f'<circle class="{kind}" stroke-width="2" cx="{x:.1f}" cy="{y}" r="5"/>',
        f'<text class="soft" x="{_RIGHT + 8}" y="{y + 4}">{figure}</text>',
    ]


def _better(line: Line, value: float) -> float:
    match line.aim:
        case AtLeast(times=times):
            return value / times
        case AtMost(times=times):
            return times / value
        case NoAim():
            return value


def _place(better: float) -> float:
    low, high = math.log(_TICKS[0]), math.log(_TICKS[-1])
    along = (math.log(better) - low) / (high - low)
    return _LEFT + min(max(along, 0.0), 1.0) * (_RIGHT - _LEFT)
