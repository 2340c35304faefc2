"""``sandbox-pin audit`` over many runs, beside what an operator would reach for, and how it grows.

The peers only look for the pinned mode in each state; ours also reads each log, joins the two and judges.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from io import FileIO
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.commands import COMMAND
from benchmarks.line import Aim, AtLeast, AtMost, Calls, Clocked, Figure, Line, NoAim, missing_programs

RUNS: Final = 100_000
SMALLEST: Final = 1_000
MILLION: Final = 1_000_000
MILLION_VARIABLE: Final = "SANDBOX_PIN_BENCH_MILLION"
"""Set to anything, growth is measured at a million runs too: they take gigabytes, and minutes to make."""


def runs_folder(folder: Path, count: int) -> str:
    """A folder of so many runs, made once."""
    root = folder / f"audited-{count}"
    if not root.exists():
        making = folder / f"audited-{count}.making"
        maker = [sys.executable, "-m", "benchmarks.make_runs", str(count), str(making)]
        _ = subprocess.run(maker, check=True, capture_output=True)
        _ = making.rename(root)
    return str(root)


def _audit(root: str, jobs: int) -> list[str]:
    return [COMMAND, "audit", "--jobs", str(jobs), "--json", root]


def _ours(jobs: int, folder: Path) -> Callable[[], object]:
    command = _audit(runs_folder(folder, RUNS), jobs)

    def call() -> None:
        _ = subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    return call


def _by_shell(script: str, folder: Path) -> Callable[[], object]:
    command = script.format(root=runs_folder(folder, RUNS))

    def call() -> None:
        _ = subprocess.run(
            ["/bin/sh", "-c", command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    return call


def _by_duckdb(folder: Path) -> Callable[[], object]:
    root = runs_folder(folder, RUNS)
    states = (
        f"read_json('{root}/*/state.json', columns={{'sandbox_pin': 'STRUCT(mode VARCHAR)'}}, filename=true)"
    )
    query = f"SELECT filename, sandbox_pin.mode FROM {states}"  # noqa: S608 - the folder is our own
    code = f"import duckdb; duckdb.sql({query!r}).fetchall()"

    def call() -> None:
        _ = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)

    return call


def _by_bare_reads(folder: Path) -> Callable[[], object]:
    """Every file of every run opened and read, and nothing done with it."""
    root = runs_folder(folder, RUNS)

    def call() -> int:
        total = 0
        for run in os.scandir(root):
            for name in ("state.json", "run.jsonl"):
                with FileIO(f"{run.path}/{name}") as file:
                    total += len(file.read())
        return total

    return call


def _taking(count: int, as_if: int, folder: Path) -> Callable[[int], float]:
    """The time of an audit of so many runs, scaled to another number of them."""
    command = _audit(runs_folder(folder, count), 1)

    def take(loops: int) -> float:
        began = time.perf_counter()
        for _ in range(loops):
            _ = subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return (time.perf_counter() - began) * as_if / count

    return take


def _peak(count: int, folder: Path) -> float:
    """The most memory that an audit's process has had, in bytes."""
    command = _audit(runs_folder(folder, count), 1)
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"the audit of {count} runs failed")
    return float(used.ru_maxrss * 1024)


_GROWTH: Final = (10_000, RUNS, MILLION)
_NO_MILLION: Final = () if os.environ.get(MILLION_VARIABLE) else (f"{MILLION_VARIABLE} is not set",)
_JQ: Final = "find {root} -name state.json -print0 | xargs -0 jq -r '.sandbox_pin.mode'"
_RIPGREP: Final = (
    """rg -U -o --no-heading --no-ignore -g state.json '"sandbox_pin": *\\{{[^}}]*\\}}' {root}"""
)


class _Peer(NamedTuple):
    """What an audit is held beside, and what it is to be against it."""

    jobs: int
    name: str
    calls: Calls
    aim: Aim
    missing: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()


_PEERS: Final = [
    _Peer(1, "every file read by bare Python, one process", Calls(_by_bare_reads), AtMost(1.3)),
    _Peer(
        2,
        "jq over xargs, of each state",
        Calls(partial(_by_shell, _JQ)),
        AtLeast(4),
        missing=missing_programs("jq"),
    ),
    _Peer(
        2,
        "ripgrep -U -o, of each state",
        Calls(partial(_by_shell, _RIPGREP)),
        AtLeast(1),
        missing=missing_programs("rg"),
    ),
    _Peer(
        2,
        "DuckDB's read_json, of each state",
        Calls(_by_duckdb),
        NoAim(),
        missing=() if find_spec("duckdb") else ("duckdb",),
        packages=("duckdb",),
    ),
    _Peer(2, "the same with --jobs 1", Calls(partial(_ours, 1)), AtLeast(1)),
]

ROUNDS: Final = 3
"""Pairs of processes: each looks through a hundred thousand runs."""

LINES: Final = [
    *(
        Line(
            f"audit of {RUNS:,} runs, --jobs {peer.jobs}",
            peer.name,
            Calls(partial(_ours, peer.jobs)),
            peer.calls,
            peer.aim,
            packages=peer.packages,
            rounds=ROUNDS,
            missing=peer.missing,
        )
        for peer in _PEERS
    ),
    *(
        Line(
            f"audit of {count:,} runs, time for each run",
            f"audit of {SMALLEST:,} runs",
            Clocked(partial(_taking, count, count)),
            Clocked(partial(_taking, SMALLEST, count)),
            AtMost(1.1),
            rounds=ROUNDS,
            missing=_NO_MILLION if count == MILLION else (),
        )
        for count in _GROWTH
    ),
    *(
        Line(
            f"audit of {count:,} runs, most memory of a process",
            f"audit of {SMALLEST:,} runs",
            Figure(partial(_peak, count)),
            Figure(partial(_peak, SMALLEST)),
            AtMost(1.1),
            rounds=ROUNDS,
            missing=_NO_MILLION if count == MILLION else (),
        )
        for count in _GROWTH
    ),
]
