"""One short process that measures one side of one line; ``measure.py`` starts it.

Usage: python -m benchmarks.worker NAME ours|theirs FOLDER OUTPUT LOOPS VALUES TRIED
LOOPS 0 finds out how many calls fill one value's time, and writes that number alone. TRIED is how many times
the work is done before it is timed.
"""

import contextlib
import io
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
from benchmarks.line import Calls, Clocked, Figure, Side
from benchmarks.lines import all_lines

import pyperf

MIN_TIME = 0.05
"""Seconds that one value takes at least, where the work is shorter than that."""


def main() -> None:
    """Measures, and writes a list of numbers."""
    name, which, folder, output, loops, values, tried = sys.argv[1:]
    line = next(line for line in all_lines() if line.name == name)
    side = line.ours if which == "ours" else line.theirs
    numbers = numbers_of(side, Path(folder), loops=int(loops), values=int(values), tried=int(tried))
    _ = Path(output).write_bytes(msgspec.json.encode(numbers))


def numbers_of(side: Side, folder: Path, *, loops: int, values: int, tried: int) -> list[float]:
    """The side's values, each in seconds for one call; with ``loops`` 0 the number of loops."""
    match side:
        case Figure(take=take):
            return [take(folder)] if loops else [1.0]
        case Calls(prepare=prepare):
            return _timed(_looped(prepare(folder)), loops, values, tried)
        case Clocked(prepare=prepare_clocked):
            return _timed(prepare_clocked(folder), loops, values, tried)


def _looped(call: Callable[[], object]) -> Callable[[int], float]:
    def run(loops: int) -> float:
        times = range(loops)
        began = time.perf_counter()
        for _ in times:
            call()
        return time.perf_counter() - began

    return run


def _timed(run: Callable[[int], float], loops: int, values: int, tried: int) -> list[float]:
    runner = pyperf.Runner()
    how = ["--calibrate-loops"]
    if loops:
        how = ["--loops", str(loops), "--values", str(values), "--warmups", str(tried)]
    runner.parse_args(["--worker", "--quiet", "--min-time", str(MIN_TIME), *how])
    with contextlib.redirect_stdout(io.StringIO()):
        benchmark = runner.bench_time_func("side", run)
    return list(benchmark.get_values()) if loops else [float(benchmark.get_runs()[0].warmups[-1][0])]


if __name__ == "__main__":
    main()
