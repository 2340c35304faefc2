"""Every line compares like with like: both sides give the same answer, and refuse the same."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from benchmarks.line import Calls, Line

from benchmarks import decode, lines, measure, state, states, unmet
from sandbox_pin import PinV1, SandboxMode, StateError, decode_pin, read_pin

for _peer in ("orjson", "pydantic", "pyperf", "simdjson"):
    _ = pytest.importorskip(_peer, reason="the peers of the benchmarks are not installed")

SLOW = "20 MB"
"""What is the same work as in smaller states, and takes seconds."""


def comparable() -> Sequence[Line]:
    """The lines whose two sides give an answer."""
    return [line for line in lines.all_lines() if line.agree is not None and SLOW not in line.work]


@pytest.mark.parametrize("line", comparable(), ids=lambda line: line.name)
def test_both_sides_of_a_line_give_the_same_answer(line: Line, tmp_path: Path) -> None:
    """Otherwise the ratio says nothing."""
    assert isinstance(line.ours, Calls)
    assert isinstance(line.theirs, Calls)
    assert line.agree is not None
    assert line.agree(line.ours.prepare(tmp_path)(), line.theirs.prepare(tmp_path)())


def test_no_two_lines_have_the_same_name() -> None:
    """Results are kept by name."""
    names = [line.name for line in lines.all_lines()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    "raw",
    [
        b'{"schema":1,"mode":"disabled","mode":"required","source":"created","recorded_at":"t"}',
        b'{"schema":1,"schema":1,"mode":"required","source":"created","recorded_at":"t"}',
    ],
)
def test_a_repeated_key_is_refused_by_us_and_by_the_standard_librarys_side(raw: bytes) -> None:
    """Both do the same work; orjson and pydantic can't see it, and the module says so."""
    with pytest.raises(StateError):
        _ = decode_pin(raw)
    with pytest.raises(ValueError, match="repeated"):
        _ = decode.by_json(raw)


@pytest.mark.parametrize(
    "raw",
    [
        b'{"schema":3,"mode":"required","source":"created","recorded_at":"t"}',
        b'{"schema":1,"mode":"Required","source":"created","recorded_at":"t"}',
        b'{"schema":1,"mode":"required","source":"made","recorded_at":"t"}',
        b'{"schema":1,"mode":"required","source":"created","recorded_at":""}',
        b'{"schema":1,"mode":"required","source":"created","recorded_at":7}',
        b'{"schema":1,"mode":"required","source":"created","recorded_at":"' + b"t" * 65 + b'"}',
        b'{"schema":1,"mode":"required","source":"created"}',
        b'{"schema":1,"mode":"required","source":"created","recorded_at":"t","backend":"b"}',
        b'{"schema":2,"mode":"required","source":"created","recorded_at":"t"}',
        b'{"schema":2,"mode":"required","source":"created","recorded_at":"t","backend":""}',
        b"[]",
    ],
)
def test_every_side_that_decodes_refuses_what_is_no_record(raw: bytes) -> None:
    """No peer is fast because it checks less, but for repeated keys."""
    with pytest.raises(StateError):
        _ = decode_pin(raw)
    for side in (decode.by_json, decode.prepare_orjson(), decode.prepare_pydantic()):
        with pytest.raises((ValueError, TypeError)):
            _ = side(raw)


@pytest.mark.parametrize("name", states.SIZES)
def test_a_state_is_as_large_as_it_says_with_the_pin_not_first(name: str) -> None:
    """Within a tenth, or one turn of the agent's."""
    size = states.SIZES[name]
    raw = states.state_of(size)
    assert size <= len(raw) <= size + max(size // 10, 500)
    assert raw.index(b'"sandbox_pin"') > len(raw) // 2
    pin = read_pin(raw)
    assert isinstance(pin, PinV1)
    assert pin.mode is SandboxMode.REQUIRED


def test_the_peak_of_reading_counts_the_file_itself(tmp_path: Path) -> None:
    """A peak below the file's size would be a measurement that missed it."""
    size = states.SIZES["20 MB"]
    assert state.peak_of_reading(size, tmp_path) > 0.9 * state.size_of_file(size, tmp_path)


@pytest.mark.parametrize("which", ["ours", "theirs"])
def test_a_worker_measures_one_side_in_a_process_of_its_own(which: str, tmp_path: Path) -> None:
    """First how many calls fill a value's time, then that many."""
    line = next(line for line in lines.all_lines() if line.name.startswith("decide: unchanged"))
    (loops,) = measure.run_worker(line, which, tmp_path, loops=0)
    assert loops >= 1
    values = measure.run_worker(line, which, tmp_path, loops=int(loops))
    assert len(values) == measure.VALUES
    assert all(value > 0 for value in values)


def test_each_reason_for_a_missed_aim_is_of_a_line() -> None:
    """A line that is renamed takes its reason along."""
    assert {line.name for line in lines.all_lines()} >= unmet.WHY.keys()


def test_lines_have_the_same_names_on_every_machine(tmp_path: Path) -> None:
    """Whatever its interpreter is called, and whichever peers it lacks: results are kept by these names."""
    called = tmp_path / "another-name"
    called.symlink_to(sys.executable)
    program = f"""
import sys
sys.path[:0] = {sys.path!r}
from benchmarks import lines
print("\\n".join(line.name for line in lines.all_lines()))
"""
    no_programs = {"PATH": str(tmp_path / "empty")}
    told = subprocess.run(
        [called, "-c", program], check=True, capture_output=True, text=True, env=no_programs
    ).stdout
    assert told.splitlines() == [line.name for line in lines.all_lines()]
