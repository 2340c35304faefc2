"""What the page tells of the machine."""

import os
import platform
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from benchmarks.line import Line
from benchmarks.results import Machine


def this_machine(lines: Iterable[Line]) -> Machine:
    """The machine, and the version of each package that a line names."""
    packages = {"msgspec", "pyperf", *(package for line in lines for package in line.packages)}
    return Machine(
        processor=_processor(),
        cores=len(os.sched_getaffinity(0)),
        kernel=f"{platform.system()} {platform.release().partition('-')[0]}",
        python=f"{platform.python_implementation()} {platform.python_version()}",
        versions={package: version(package) for package in sorted(packages)},
    )


def _processor() -> str:
    for row in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if row.startswith("model name"):
            return row.partition(":")[2].strip()
    return platform.machine()
