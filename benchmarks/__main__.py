"""Measures every line, or some, and writes the page.

Usage: python -m benchmarks [--quick] [--date DATE] [--only WORDS]... [--page FILE] [--page-only]
"""

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.line import Line
from benchmarks.lines import all_lines
from benchmarks.machine import this_machine
from benchmarks.measure import ROOT, measure
from benchmarks.page import PLOT, page_of, plain_row
from benchmarks.plot import plot_of
from benchmarks.ratio import ratio_of
from benchmarks.results import Measured, Results, read_results, write_results


def main() -> None:
    """Parses, measures unless only the page is asked for, and writes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="What things cost, as ratios.")
    _ = parser.add_argument("--quick", action="store_true", help="few rounds: rough ratios")
    _ = parser.add_argument("--date", default="undated", help="the day, for the page")
    _ = parser.add_argument(
        "--only", action="append", default=[], help="lines whose name has these words; no page"
    )
    _ = parser.add_argument("--results", type=Path, default=ROOT / "docs" / "performance.json")
    _ = parser.add_argument("--page", type=Path, default=ROOT / "docs" / "performance.md")
    _ = parser.add_argument(
        "--page-only", action="store_true", help="the page anew from the results that are there"
    )
    given = parser.parse_args()

    only: list[str] = given.only
    lines = [line for line in all_lines() if not only or any(words in line.name for words in only)]
    if only:
        for _ in _measured(lines, quick=given.quick):
            pass
        return
    if not given.page_only:
        machine = this_machine([line for line in lines if not line.missing])
        done: list[Measured] = []
        for measured in _measured(lines, quick=given.quick):
            done.append(measured)
            # After each line: what has been measured stays, should a later one fail.
            results = Results(date=given.date, machine=machine, quick=given.quick, lines=done)
            write_results(given.results, results)
    results = read_results(given.results)
    _ = given.page.write_text(page_of(results, lines), encoding="utf-8")
    _ = given.page.with_name(PLOT).write_text(plot_of(results, lines), encoding="utf-8")


def _measured(lines: Sequence[Line], *, quick: bool) -> Iterator[Measured]:
    with tempfile.TemporaryDirectory(prefix="sandbox-pin-bench.", dir="/var/tmp") as folder:
        for line in lines:
            if line.missing:
                print(f"{line.name}: not measured: not here: {', '.join(line.missing)}")
                continue
            began = time.monotonic()
            measured = measure(line, Path(folder), quick=quick)
            took = f"[{time.monotonic() - began:.0f} s]"
            print(plain_row(line, ratio_of(measured, line.aim)), took, flush=True)
            yield measured


if __name__ == "__main__":
    main()
