"""What the tests of faults share: the driver, the place, and the figures that a session ends with."""

import json
import os
import time
from collections.abc import Generator
from pathlib import Path
from typing import Final

import pytest

from faults.support import SAMPLE, SEED, Driver, Place, Tally

_FIGURES: Final = "SANDBOX_PIN_FIGURES"
_PROPERTY: Final = "faults"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Folders of its own."""
    return Place(tmp_path / "home")


@pytest.fixture(scope="session")
def driver() -> Generator[Driver]:
    """A warm interpreter, for all tests of a session."""
    with Driver() as driver:
        yield driver


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Generator[Tally]:
    """Counts a test's trials; the figures are printed at the end, and kept where that is asked for."""
    tally = Tally()
    began = time.monotonic()
    yield tally
    node: pytest.Item = request.node
    figures = {
        "suite": node.path.stem,
        "test": node.name,
        "points": tally.points,
        "trials": tally.trials,
        "seconds": round(time.monotonic() - began, 2),
        "sample": SAMPLE,
        "seed": SEED,
    }
    node.user_properties.append((_PROPERTY, figures))
    if os.environ.get(_FIGURES):
        with Path(os.environ[_FIGURES]).open("a", encoding="utf-8") as file:
            _ = file.write(json.dumps(figures) + "\n")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints what was tried, and how to try it again."""
    sums: dict[str, list[float]] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, told in getattr(report, "user_properties", ()):
                if name == _PROPERTY and report.when == "teardown":
                    row = sums.setdefault(told["suite"], [0, 0, 0, 0])
                    for column, value in enumerate((1, told["points"], told["trials"], told["seconds"])):
                        row[column] += value
    if not sums:
        return
    terminalreporter.section("faults")
    for suite, (tests, points, trials, seconds) in sorted(sums.items()):
        line = f"{suite}: {tests} tests, {points} points, {trials} trials, {seconds:.0f} s"
        terminalreporter.write_line(line)
    again = f"SANDBOX_PIN_FAULT_SEED={SEED} SANDBOX_PIN_FAULT_SAMPLE={SAMPLE} repeats the sample"
    terminalreporter.write_line(again)
