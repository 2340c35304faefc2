"""The page docs/performance.md, out of raw results."""

from collections.abc import Iterable, Sequence
from typing import Final

from benchmarks.line import Aim, AtLeast, AtMost, Line, NoAim
from benchmarks.ratio import Ratio, is_met, ratio_of
from benchmarks.results import Results
from benchmarks.unmet import WHY

PLOT: Final = "performance.svg"
_MET: Final = {True: "met", False: "**not met**", None: "told only"}

_HEAD: Final = """\
# What it costs

Every figure is a **ratio** beside what a user would pick instead, measured in the same run. Short processes
of ours and of the peer took turns, so that a slow moment of the machine hits both. A ratio is the
median of the ratios of the pairs; in brackets are their quartiles. Absolute times are in
[performance.json](performance.json), and say little. The very functions that are timed pass the conformance
vectors, and the tests hold that both sides of a line give the same answer.

![Each ratio beside its aim](performance.svg)
"""


def page_of(results: Results, lines: Sequence[Line]) -> str:
    """The whole page. A line that was not measured, or is no longer there, is left out."""
    return "\n".join([_HEAD, *_table(results, lines), "", *_unmet(results, lines), *_repeat(results)]) + "\n"


def pairs_of(results: Results, lines: Iterable[Line]) -> list[tuple[Line, Ratio]]:
    """Each line that was measured, with its ratio."""
    measured = {one.name: one for one in results.lines}
    return [(line, ratio_of(measured[line.name], line.aim)) for line in lines if line.name in measured]


def told(ratio: Ratio, aim: Aim) -> str:
    """Such as ``8.1 times as fast (7.9 to 8.4)``."""
    what = "times the cost" if isinstance(aim, AtMost) else "times as fast"
    return f"{number(ratio.value)} {what} ({number(ratio.low)} to {number(ratio.high)})"


def aim_told(aim: Aim) -> str:
    """Such as ``at least 7``."""
    match aim:
        case AtLeast(times=times):
            return f"at least {times:g}"
        case AtMost(times=times):
            return f"at most {times:g}"
        case NoAim():
            return ""


def number(value: float) -> str:
    """Three digits, and no more of them than are meant."""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def plain_row(line: Line, ratio: Ratio) -> str:
    """One line for the terminal."""
    met = _MET[is_met(ratio, line.aim)].strip("*")
    return f"{line.work} | {line.peer} | {told(ratio, line.aim)} | {aim_told(line.aim)} | {met}"


def _table(results: Results, lines: Sequence[Line]) -> list[str]:
    rows = ["| work | beside | ratio | aim | |", "|---|---|---|---|---|"]
    before = ""
    for line, ratio in pairs_of(results, lines):
        work = "" if line.work == before else line.work
        before = line.work
        met = _MET[is_met(ratio, line.aim)]
        rows.append(f"| {work} | {line.peer} | {told(ratio, line.aim)} | {aim_told(line.aim)} | {met} |")
    return rows


def _unmet(results: Results, lines: Sequence[Line]) -> list[str]:
    missed = [line for line, ratio in pairs_of(results, lines) if is_met(ratio, line.aim) is False]
    if not missed:
        return []
    why = [
        f"* **{line.work}, beside {line.peer}**: {WHY.get(line.name, 'not looked into yet.')}"
        for line in missed
    ]
    return ["## Aims that are not met, and why", "", *why, ""]


def _repeat(results: Results) -> list[str]:
    machine = results.machine
    versions = ", ".join(f"{name} {version}" for name, version in machine.versions.items())
    how = "few rounds (`QUICK=1`)" if results.quick else "the full number of rounds"
    return [
        "## Where, and how to repeat it",
        "",
        f"{results.date}, {how}: {machine.processor}, {machine.cores} cores, {machine.kernel},",
        f"{machine.python}; {versions}.",
        "",
        "`make bench` measures everything anew and writes this page; it takes minutes, with `QUICK=1` fewer.",
        "`make bench ONLY='words of a line'` measures the lines with these words and writes nothing.",
        "`SANDBOX_PIN_BENCH_MILLION=1` adds the audit of a million runs, which takes 10 GB and minutes.",
    ]
