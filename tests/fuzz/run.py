"""Fuzzes every target, and says how often each was executed.

``python tests/fuzz/run.py [--seconds N] [--target T]``: with atheris where it is installed, else with plain
random changes. Ends with status 1 on a finding. The figures are appended, as JSON lines, to the file that the
environment's ``SANDBOX_PIN_FIGURES`` names.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from random import SystemRandom
from typing import Final, NamedTuple

HERE: Final = Path(__file__).resolve().parent
TARGETS: Final = sorted(folder.name for folder in (HERE / "corpus").iterdir())
_EXECUTIONS: Final = re.compile(r"^(?:executions|stat::number_of_executed_units): *(\d+)$", re.MULTILINE)
_PATIENCE: Final = 120


class Fuzzed(NamedTuple):
    """What came of one target."""

    target: str
    driver: str
    seed: int
    executions: int
    seconds: float
    failed: bool
    said: str


def fuzz(target: str, *, driver: str, seconds: float, seed: int, findings: Path) -> Fuzzed:
    """Fuzzes one target, in a process of its own: a hang, or a crash of the interpreter, is a finding too."""
    command = [
        *(sys.executable, "-m", "fuzz.drive", target, "--driver", driver),
        *("--seconds", str(seconds), "--seed", str(seed), "--findings", str(findings.absolute())),
    ]
    began = time.monotonic()
    try:
        done = subprocess.run(
            command,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(filter(None, (str(HERE.parent), os.environ.get("PYTHONPATH")))),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=seconds + _PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        said, failed = f"{(error.output or b'').decode(errors='replace')}\nhangs", True
    else:
        said, failed = done.stdout.decode(errors="replace"), done.returncode != 0
    counts = _EXECUTIONS.findall(said)
    return Fuzzed(
        target=target,
        driver=driver,
        seed=seed,
        executions=int(counts[-1]) if counts else 0,
        seconds=round(time.monotonic() - began, 1),
        failed=failed or not counts,
        said=said,
    )


def main() -> int:
    """Fuzzes what the arguments name."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seconds", type=float, default=30.0, help="for each target")
    arguments.add_argument("--target", choices=TARGETS, action="append", help="this one; else all of them")
    arguments.add_argument("--driver", choices=("atheris", "random"))
    arguments.add_argument("--seed", type=int, default=SystemRandom().randrange(1, 1 << 31))
    arguments.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many at a time")
    arguments.add_argument("--findings", type=Path, default=Path("build", "fuzz"), help="for their inputs")
    told = arguments.parse_args()
    told.findings.mkdir(parents=True, exist_ok=True)
    driver = told.driver or ("atheris" if find_spec("atheris") else "random")
    with ThreadPoolExecutor(told.jobs) as pool:
        done = list(
            pool.map(
                lambda target: fuzz(
                    target, driver=driver, seconds=told.seconds, seed=told.seed, findings=told.findings
                ),
                told.target or TARGETS,
            )
        )
    for one in done:
        verdict = "a finding" if one.failed else "nothing found"
        sys.stdout.write(f"{one.target:12} {one.executions:10} executions in {one.seconds:6} s: {verdict}\n")
        if one.failed:
            sys.stderr.write(one.said[-8000:] + "\n")
    total, seconds = sum(one.executions for one in done), sum(one.seconds for one in done)
    sys.stdout.write(
        f"{'all':12} {total:10} executions in {seconds:6.1f} s, with {driver}, seed {told.seed}\n"
    )
    figures = os.environ.get("SANDBOX_PIN_FIGURES")
    if figures is not None:
        with Path(figures).open("a", encoding="utf-8") as file:
            for one in done:
                row = {"suite": "fuzz", **one._asdict()}
                del row["said"]
                file.write(json.dumps(row) + "\n")
    return int(any(one.failed for one in done))


if __name__ == "__main__":
    sys.exit(main())
