"""A fault at every call of ``os`` that a command makes: killed, failed, cut short. No privileges, no tools.

The laws are in ``faults/laws.py``. Kills and short writes are tried at every point, always; errors on a
sample drawn by a printed seed, and at every point by ``make test-faults-full``; the walks of paths, in some
commands.
"""

from typing import Final

import pytest
from msgspec.structs import replace

from faults.support import SCENARIOS, Bench, Driver, Place, Scenario, Tally, sample

_each: Final = pytest.mark.parametrize("scenario", SCENARIOS, ids=[scenario.name for scenario in SCENARIOS])
_ERRORS: Final = ("error:EIO", "error:ENOSPC")
_CAN_BE_FULL: Final = {"fork", "fsync", "link", "mkdir", "open", "pipe", "rename", "write"}
"""What may fail for want of room; that any call may fail at all is tried with EIO."""

_LOOKS: Final = {"access", "fstat", "listdir", "lstat", "pread", "read", "readlink", "stat"}
"""Where no kill makes a difference: it is the same as one before the next call that does something."""

_WALKS: Final = {"access", "lstat", "readlink", "stat"}
"""Most calls, as each path is walked: that they fail is tried in some commands."""

_WALKING: Final = {"run", "step_accept", "step_refused", "check_accept", "check_refused"}

_SHORT: Final = (
    "short:half",
    *(f"short:{part}-{then}" for part in ("first", "half", "last") for then in ("kill", "full")),
)


def _try(bench: Bench, point: int, fault: str, *, uncertain: bool = False) -> None:
    before = bench.fresh()
    answer = bench.driver.do(replace(bench.job(), point=point, fault=fault))
    assert answer.fired, (bench.scenario.name, point, fault)
    bench.judge(before, answer, trial=(point, fault), uncertain=uncertain)


@_each
def test_laws_1_to_3_hold_where_a_command_is_killed_before_any_call_that_does_something(
    scenario: Scenario, driver: Driver, place: Place, tally: Tally
) -> None:
    bench = Bench(driver, place, scenario)
    calls = bench.record()
    for point, call in enumerate(calls, 1):
        if call[0] not in _LOOKS:
            _try(bench, point, "kill")
            tally.points += 1
            tally.trials += 1


@_each
@pytest.mark.faults  # minutes, and the strace suite fails every call as well
@pytest.mark.parametrize("error", _ERRORS)
def test_laws_1_to_3_hold_where_any_call_fails(
    scenario: Scenario, error: str, driver: Driver, place: Place, tally: Tally
) -> None:
    bench = Bench(driver, place, scenario)
    points = [
        (point, call)
        for point, call in enumerate(bench.record(), 1)
        if (error != "error:ENOSPC" or call[0] in _CAN_BE_FULL)
        and (call[0] not in _WALKS or scenario.name in _WALKING)
    ]
    tally.points = len(points)
    for point, call in sample(points, f"{scenario.name} {error}"):
        _try(bench, point, error, uncertain=call == ("fsync", "folder"))
        tally.trials += 1


@_each
def test_laws_1_to_3_hold_where_a_write_takes_less_than_it_is_given(
    scenario: Scenario, driver: Driver, place: Place, tally: Tally
) -> None:
    bench = Bench(driver, place, scenario)
    calls = bench.record()
    writes = [point for point, call in enumerate(calls, 1) if call == ("write", "file")]
    tally.points = len(writes)
    for point in writes:
        for fault in _SHORT:
            _try(bench, point, fault)
            tally.trials += 1


@_each
def test_laws_1_to_3_hold_where_no_file_can_grow_past_a_size(
    scenario: Scenario, driver: Driver, place: Place, tally: Tally
) -> None:
    """The kernel's own short writes: at each size, a multiple of 37, until the command is not disturbed."""
    bench = Bench(driver, place, scenario)
    _ = bench.record()
    done = max(len(content or b"") for content in scenario.read(place))
    for size in range(0, done + 1, 37):
        before = bench.fresh()
        answer = driver.do(replace(bench.job(), file_size=size))
        bench.judge(before, answer, trial=("no file past", size))
        tally.points += 1
        tally.trials += 1
