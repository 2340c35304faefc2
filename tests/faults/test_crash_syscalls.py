"""A fault at every system call of a command, between its first and its last, by strace(1): killed, or failed.

The laws are in ``faults/laws.py``. A sample is drawn by a seed that is printed; SANDBOX_PIN_FAULT_SAMPLE=all
tries everything. Only the command's own process is traced, never what it launches. What only concerns memory
is left out: it differs from time to time, and a kill there is one before the next call.
"""

import os
import re
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from msgspec.structs import replace

from faults.protocol import Answer
from faults.support import (
    DISABLED,
    SANDBOXED,
    SCENARIOS,
    SLEEP,
    Bench,
    Driver,
    Place,
    Scenario,
    Tally,
    capable_program,
    run_with,
    sample,
)

_STRACE: Final = shutil.which("strace")
_MEMORY: Final = {"brk", "madvise", "mmap", "mprotect", "mremap", "munmap"}
_MARK: Final = "getppid"
_FAULTS: Final = ("signal=KILL", "error=EIO", "error=ENOSPC")
_SLEEPS: Final = "60"
_CALL: Final = re.compile(r"^(\w+)\((?:\d+<([^>]*)>)?")

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(_STRACE is None, reason="strace is not installed"),
]


class Point(NamedTuple):
    """A system call of a command.

    Attributes:
        call: its name.
        number: which call of that name, from when the tracer came.
        flushes_folder: whether it is the flush of a folder.
    """

    call: str
    number: int
    flushes_folder: bool


@contextmanager
def _traced(bench: Bench, log: Path, *options: str) -> Generator[None]:
    """Attaches strace to the command's process, which has stopped itself, and lets it go on."""
    bench.driver.begin(replace(bench.job(), traced=True))
    pid = bench.driver.answer().pid
    arguments = [_STRACE or "strace", "-y", "-o", str(log), *options, "-p", str(pid)]
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True) as tracer:
        assert tracer.stderr is not None
        said = tracer.stderr.readline()
        if "attached" not in said:
            os.kill(pid, signal.SIGKILL)
            _ = bench.driver.answer()
            pytest.skip(f"strace may not trace here: {said.strip()}")
        os.kill(pid, signal.SIGCONT)
        yield
        _ = tracer.communicate(timeout=30)


def _points(bench: Bench, log: Path) -> list[Point]:
    """Every system call between the two marks."""
    _ = bench.record()
    _ = bench.fresh()
    with _traced(bench, log):
        answer = bench.driver.answer()
    assert answer.status == bench.scenario.status, answer
    assert bench.driver.reap() == ()
    seen: Counter[str] = Counter()
    points: list[Point] = []
    inside = False
    for line in log.read_text(errors="replace").splitlines():
        found = _CALL.match(line)
        if found is None:
            continue
        call, path = found[1], found[2] or ""
        seen[call] += 1
        if call == _MARK:
            inside = not inside
        elif inside and call not in _MEMORY:
            folder = call == "fsync" and not path.endswith((".new", ".jsonl"))
            points.append(Point(call, seen[call], folder))
    assert points, "no window"
    return points


def _inject(bench: Bench, log: Path, point: Point, fault: str) -> Answer:
    """One command with one fault, which must have come."""
    with _traced(
        bench, log, "-e", f"trace={point.call}", "-e", f"inject={point.call}:{fault}:when={point.number}"
    ):
        answer = bench.driver.answer()
    killed = answer.status == -signal.SIGKILL
    told = "(INJECTED)" in log.read_text(errors="replace")
    assert killed if fault == "signal=KILL" else told, f"{point}, {fault}: it never came"
    return answer


def _try(scenario: Scenario, driver: Driver, place: Place, tally: Tally, program: str | None = None) -> None:
    bench = Bench(driver, place, scenario, program=program)
    log = place.home.with_name("strace")
    points = _points(bench, log)
    tally.points = len(points)
    trials = [(point, fault) for point in points for fault in _FAULTS]
    for point, fault in sample(trials, scenario.name):
        before = bench.fresh()
        answer = _inject(bench, log, point, fault)
        uncertain = point.flushes_folder and fault != "signal=KILL"
        bench.judge(before, answer, trial=(point, fault), uncertain=uncertain)
        tally.trials += 1


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[scenario.name for scenario in SCENARIOS])
def test_laws_1_to_3_hold_where_any_system_call_is_the_last_or_fails(
    scenario: Scenario, driver: Driver, place: Place, tally: Tally
) -> None:
    _try(scenario, driver, place, tally)


def test_laws_1_to_3_hold_where_the_sandbox_is_required(driver: Driver, place: Place, tally: Tally) -> None:
    program = capable_program(place.home.parent)
    if program is None:
        pytest.skip("this host can't enforce a sandbox")
    _try(SANDBOXED, driver, place, tally, program)


@pytest.mark.parametrize("sandboxed", [False, True], ids=["disabled", "required"])
def test_a_launch_ends_with_its_killed_controller_or_its_run_is_busy(
    sandboxed: bool, driver: Driver, place: Place, tally: Tally
) -> None:
    """At each system call from the launch's log entry to the wait for its end; the command would go on."""
    program = capable_program(place.home.parent) if sandboxed else None
    if sandboxed and program is None:
        pytest.skip("this host can't enforce a sandbox")
    mode = SANDBOXED.wanted if sandboxed else DISABLED
    log = place.home.with_name("strace")

    def sleeping(seconds: str) -> Bench:
        words = lambda place: ["step", "r1", "--runs", str(place.root), "--mode", mode, "--", SLEEP, seconds]  # noqa: E731
        scenario = Scenario(
            name=f"step_sleeping_{mode}", words=words, make=run_with(mode), wanted=mode, old=mode
        )
        return Bench(driver, place, scenario, program=program)

    points = _points(sleeping("0.2"), log)
    forks = {"clone", "clone3", "fork", "vfork"}
    forked = max(number for number, point in enumerate(points) if point.call in forks)
    first = max(number for number, point in enumerate(points[:forked]) if point.call == "fsync")
    last = next(number for number, point in enumerate(points) if number > forked and "wait" in point.call)
    bench = sleeping(_SLEEPS)
    tally.points = last - first + 1
    for point in sample(points[first : last + 1], bench.scenario.name):
        before = bench.fresh()
        answer = _inject(bench, log, point, "signal=KILL")
        bench.judge(before, answer, trial=point)
        tally.trials += 1
