"""Measures lines: processes of ours and of the peer take turns, many short ones, so drift hits both."""

import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Final

import msgspec
from benchmarks.line import Line
from benchmarks.results import Measured

ROUNDS: Final = 15
QUICK_ROUNDS: Final = 5
VALUES: Final = 3
ROOT: Final = Path(__file__).resolve().parent.parent


def measure(line: Line, folder: Path, *, quick: bool) -> Measured:
    """Runs a line's pairs of processes, the order within a pair changing from one to the next."""
    rounds = min(QUICK_ROUNDS if quick else ROUNDS, line.rounds or ROUNDS)
    took: dict[str, list[float]] = {"ours": [], "theirs": []}
    loops = {which: int(run_worker(line, which, folder, loops=0)[0]) for which in took}
    for number in range(rounds):
        for which in list(took) if number % 2 else reversed(took):
            took[which].append(median(run_worker(line, which, folder, loops=loops[which])))
    return Measured(name=line.name, ours=took["ours"], theirs=took["theirs"])


def run_worker(line: Line, which: str, folder: Path, *, loops: int) -> list[float]:
    """One process of one side: its values, or with ``loops`` 0 how many calls fill one value's time."""
    output = folder / "worker.json"
    command = [sys.executable, "-m", "benchmarks.worker", line.name, which, str(folder), str(output)]
    # As installed: with its bytecode, which the first process writes.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    values, tried = (VALUES, 1) if line.rounds is None else (1, 0)
    numbers = [str(number) for number in (loops, values, tried)]
    _ = subprocess.run([*command, *numbers], check=True, cwd=ROOT, env=environment)
    return msgspec.json.decode(output.read_bytes(), type=list[float])
