"""A timeline as one HTML file that needs nothing else: no script, no font, no network.

Whatever comes from the log is text: shown as a terminal would show it, then escaped (``_text``); an agent may
have written it. A strict Content-Security-Policy stands behind that: were markup to get through, nothing in
it could run or load. The colours are of the palette of Okabe and Ito (https://jfly.uni-koeln.de/color/),
which eyes of every kind can tell apart, darkened where white paper leaves too little contrast; and each has a
pattern, a width or a word beside it.
"""

from collections.abc import Iterator
from html import escape
from itertools import pairwise
from typing import Final

from sandbox_pin.cli.log_lines import mode_words
from sandbox_pin.cli.screen import shortened
from sandbox_pin.cli.timeline_chart import chart, key
from sandbox_pin.cli.timeline_words import RowWords, row_words, took_words
from sandbox_pin.core.modes import mode_strength
from sandbox_pin.core.timeline import Timeline
from sandbox_pin.shell.moment import parse_time
from sandbox_pin.text import shown

POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
"""What a browser lets the page do: style itself, and nothing else."""

_LONGEST_TEXT: Final = 400

_STYLE: Final = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1b1b; --quiet: #595959; --line: #cfcfcf;
  --blue: #0072b2; --orange: #b97a00; --red: #d55e00; --purple: #a2487a; --warning: #ad4b00; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #16181b; --ink: #ececec; --quiet: #a9adb3; --line: #43474d;
    --blue: #56b4e9; --orange: #e69f00; --red: #d55e00; --purple: #cc79a7; --warning: #ff8f4a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 68rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .5rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
p { margin: .25rem 0; }
.quiet { color: var(--quiet); }
ul.key { list-style: none; display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: .5rem 0; padding: 0; }
ul.key li { display: flex; align-items: center; gap: .45rem; }
svg { display: block; }
svg.chart { width: 100%; max-width: 43rem; height: auto; }
svg text { fill: var(--ink); font: 12px system-ui, sans-serif; unicode-bidi: isolate; }
svg text.time { fill: var(--quiet); font-size: 11px; font-variant-numeric: tabular-nums; }
svg text.what { font-weight: 600; }
svg text.sign { font: 700 13px ui-monospace, monospace; text-anchor: middle; }
.ground { fill: var(--paper); }
.separator { stroke: var(--line); stroke-width: 1; }
.always { fill: var(--blue); stroke: var(--blue); }
.capable { fill: url(#hatch); stroke: var(--orange); stroke-width: 1.5; }
.logical { fill: url(#dots); stroke: var(--red); stroke-width: 1.5; stroke-dasharray: 3 2; }
.hatch { stroke: var(--orange); stroke-width: 3; }
.dot { fill: var(--red); }
.cross { stroke: var(--red); stroke-width: 1.6; }
.sandboxed { fill: var(--blue); stroke: var(--blue); }
.bare { fill: url(#cross); stroke: var(--red); stroke-width: 1.5; }
.unsure { fill: none; stroke: var(--purple); stroke-width: 1.5; stroke-dasharray: 4 3; }
svg text.bad-word { fill: var(--warning); font-weight: 600; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; table-layout: fixed; }
caption { text-align: left; color: var(--quiet); padding-bottom: .5rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem .35rem 0;
  border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
th.when { width: 11.5rem; }
th.what { width: 7rem; }
th.held { width: 7rem; }
th.end { width: 11rem; }
td.when { font-variant-numeric: tabular-nums; }
td.what { font-weight: 600; }
td p { margin: 0; }
@media (max-width: 44rem) {
  table, caption, tbody, tr, td { display: block; width: 100%; }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  tr { border-bottom: 1px solid var(--line); padding: .5rem 0; }
  td { border: 0; padding: .1rem 0 .1rem 6rem; position: relative; min-height: 1.6rem; }
  td::before { content: attr(data-label); position: absolute; left: 0; color: var(--quiet);
    font-weight: 400; white-space: nowrap; }
  td.none { display: none; }
}
@media print { body { max-width: none; } }
"""


def timeline_html(timeline: Timeline, *, run: str, made_at: str) -> str:
    """The whole file.

    Args:
        timeline: the rows.
        run: the run's id.
        made_at: when this is made, as stored times are.
    """
    rows = [row_words(row) for row in timeline.rows]
    return "".join(_pieces(rows, timeline.left_out, run=run, made_at=made_at))


def _pieces(rows: list[RowWords], left_out: int, *, run: str, made_at: str) -> Iterator[str]:
    kind = next((words.pin[1] for words in rows if words.pin is not None), None)
    yield (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{_text(f'Timeline of the run {run}')}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<header>\n<h1>Timeline of the run <bdi>{_text(run)}</bdi></h1>\n"
    )
    yield f"<p>{_text(_summary(rows, kind))}</p>\n"
    if left_out:
        yield f"<p><strong>{left_out} older rows are left out.</strong> --last N shows more.</p>\n"
    yield (
        f'<p class="quiet">Made at {_text(made_at)} from the log. '
        "Times are UTC in the chart, as logged in the table. "
        '<a href="#table">The same as a table</a></p>\n</header>\n<main>\n'
        '<section aria-labelledby="chart-heading">\n<h2 id="chart-heading">Pin and launches</h2>\n'
    )
    yield key()
    yield chart(rows, description=_summary(rows, kind))
    yield (
        '</section>\n<section aria-labelledby="table-heading" id="table">\n'
        '<h2 id="table-heading">The same as a table</h2>\n<table role="table">\n'
        "<caption>The oldest first. A very long text is cut short in its middle: "
        "the log has it whole.</caption>\n"
        '<thead role="rowgroup"><tr role="row">'
    )
    for label, name in _COLUMNS:
        yield f'<th scope="col" role="columnheader" class="{name}">{label}</th>'
    yield '</tr></thead>\n<tbody role="rowgroup">\n'
    for words in rows:
        yield _table_row(words)
    yield "</tbody>\n</table>\n</section>\n</main>\n</body>\n</html>\n"


_COLUMNS: Final = (
    ("When", "when"),
    ("What", "what"),
    ("Details", "details"),
    ("Held to", "held"),
    ("Took, end", "end"),
)


def _table_row(words: RowWords) -> str:
    by = "" if words.who is None else f" by {words.who}"
    when = _isolated(words.at or "")
    if words.at is not None and parse_time(words.at) is not None:
        when = f'<time datetime="{_text(words.at)}">{_text(words.at)}</time>'
    cells = (
        when,
        _isolated(words.what),
        "".join(f"<p>{_isolated(line)}</p>" for line in (f"{words.headline}{by}", *words.details)),
        _isolated("" if words.pin is None else mode_words(words.pin[0])),
        _isolated(took_words(words)),
    )
    row = "".join(
        f'<td role="cell" class="{name}{"" if cell else " none"}" data-label="{label}">{cell}</td>'
        for (label, name), cell in zip(_COLUMNS, cells, strict=True)
    )
    return f'<tr role="row">{row}</tr>\n'


def _isolated(text: str) -> str:
    """A text whose direction of writing does not reach its neighbours."""
    return f"<bdi>{_text(text)}</bdi>" if text else ""


def _summary(rows: list[RowWords], kind: str | None) -> str:
    launches = [words for words in rows if words.sandboxed is not None]
    bare = sum(not words.sandboxed for words in launches)
    holds = next((words.pin for words in reversed(rows) if words.pin is not None), None)
    held = "It holds nothing that can be read." if holds is None else f"Pinned to {mode_words(holds[0])}."
    strengths = [mode_strength(pin.mode, of) for pin, of in (words.pin for words in rows if words.pin)]
    moves = sum(before != after for before, after in pairwise(strengths))
    odd = sum(words.what in {"TORN", "DAMAGED"} for words in rows)
    said = [
        f"A {kind or 'unknown'} run. {held}",
        f"Launches: {len(launches)}, of which {bare} NOT sandboxed.",
        f"Changes of strength: {moves}.",
    ]
    if odd:
        said.append(f"Torn or damaged places in its log: {odd}.")
    return " ".join(said)


def _text(text: str) -> str:
    """Any text, as text of HTML or as an attribute's quoted value."""
    return escape(shortened(shown(text), _LONGEST_TEXT), quote=True)
