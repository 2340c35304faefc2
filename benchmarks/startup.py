"""What it costs to start: the library beside ``import msgspec``, the command beside what it needs.

Each line is a ratio of medians of runs that took turns, so that a slow moment of the machine slows all alike.
Usage: python benchmarks/startup.py [ROUNDS]
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

PYTHON: Final = sys.executable
COMMAND: Final = str(Path(sys.executable).with_name("sandbox-pin"))


def main() -> None:
    """Measures, and prints a table."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        (scratch / "project").mkdir()
        runs = ["--runs", str(scratch / "runs")]
        start = [COMMAND, "run", *runs, "--id", "r", "--workspace", str(scratch / "project"), "--", "true"]
        _ = subprocess.run(start, check=True, capture_output=True)
        commands = {
            "import msgspec": [PYTHON, "-c", "import msgspec"],
            "import sandbox_pin": [PYTHON, "-c", "import sandbox_pin"],
            "import msgspec, click": [PYTHON, "-c", "import msgspec, click"],
            "sandbox-pin explain": [COMMAND, "explain", "r", *runs],
            "sandbox-pin status": [COMMAND, "status", "r", *runs],
        }
        took: dict[str, list[float]] = {what: [] for what in commands}
        # As installed: with its bytecode, which the first round writes.
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        for number in range(rounds + 1):
            for what, command in commands.items():
                began = time.perf_counter()
                _ = subprocess.run(command, check=True, capture_output=True, env=environment)
                if number > 0:
                    took[what].append(time.perf_counter() - began)
    median = {what: statistics.median(times) for what, times in took.items()}
    for what, beside in (
        ("import sandbox_pin", "import msgspec"),
        ("sandbox-pin explain", "import msgspec, click"),
        ("sandbox-pin status", "import msgspec, click"),
    ):
        print(
            f"{what}: {median[what] / median[beside]:.2f} times python -c '{beside}' "
            f"({median[what] * 1e3:.0f} ms beside {median[beside] * 1e3:.0f} ms, {rounds} rounds)"
        )


if __name__ == "__main__":
    main()
