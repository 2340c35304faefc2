"""``--result``: decision, gate, end and run id as one JSON object, however the command ends."""

import json
import stat
from typing import Any

import pytest

from cli.support import FLAG, TRUE, Bench, needs_sandbox


def _result(bench: Bench, *words: str, command: tuple[str, ...] = ()) -> tuple[int, dict[str, Any]]:
    path = bench.desk / "result.json"
    ended = bench.call(*words, "--result", str(path), *(("--", *command) if command else ()))
    raw = path.read_bytes()
    assert raw.count(b"\n") == 1
    result: dict[str, Any] = json.loads(raw)
    assert result["exit_status"] == ended.status
    path.unlink()
    return ended.status, result


def test_a_new_run(bench: Bench) -> None:
    words = ("run", "--workspace", str(bench.workspace))
    status, result = _result(bench, *words, command=("sh", "-c", "exit 3"))
    (folder,) = bench.root.iterdir()
    assert status == 3
    assert result["run"] == folder.name
    assert result["decision"]["decision"] == "create"
    assert result["decision"]["pin"]["mode"] == "disabled"
    assert result["gate"]["gate"] == "run_unenforced"
    assert result["end"] == {**result["end"], "ran": True, "exit_code": 3}
    assert result["error"] is None


@pytest.mark.parametrize(
    ("options", "decision", "status"),
    [
        (("--mode", "preferred"), "unchanged", 0),
        (("--mode", "disabled", FLAG), "accept", 0),
        (("--mode", "disabled"), "refuse", 77),
    ],
)
def test_each_decision(options: tuple[str, ...], decision: str, status: int, bench: Bench) -> None:
    bench.make("r1", "preferred")
    ended, result = _result(bench, "step", "r1", *options, command=(TRUE,))
    assert ended == status
    assert decision in json.dumps(result["decision"])
    assert (result["gate"] is None) == (result["end"] is None) == (status == 77)


def test_an_unblocked_run(bench: Bench) -> None:
    bench.make("r1", "disabled", status="blocked")
    status, result = _result(bench, "unblock", "r1", "--mode", "required")
    assert status == 0
    assert "strengthen" in json.dumps(result["decision"])
    assert result["end"] is None


def test_a_closed_gate(bench: Bench) -> None:
    bench.make("r1", "required")
    bench.without_bubblewrap()
    status, result = _result(bench, "step", "r1", "--mode", "required", command=(TRUE,))
    assert status == 69
    assert result["gate"]["gate"] == "refuse_launch"
    assert result["end"] is None


@needs_sandbox
def test_an_enforced_launch_names_its_backend(bench: Bench) -> None:
    bench.make("r1", "required")
    status, result = _result(bench, "step", "r1", "--mode", "required", command=(TRUE,))
    assert status == 0
    assert result["gate"] == {**result["gate"], "gate": "enforce", "backend": "bubblewrap"}


@pytest.mark.parametrize(
    ("words", "command", "status"),
    [
        (("step", "r1", "--config", "none.toml"), (TRUE,), 78),
        (("step", "none"), (TRUE,), 64),
        (("resume", "r1"), (), 64),
        (("step", "r1"), ("no-such-program-here",), 127),
    ],
)
def test_what_went_wrong_is_in_words(
    words: tuple[str, ...], command: tuple[str, ...], status: int, bench: Bench
) -> None:
    bench.make("r1", "disabled")
    ended, result = _result(bench, *words, command=command)
    assert ended == status
    assert result["error"]
    assert result["decision"] is None


def test_a_result_of_old_is_replaced_whole_and_a_link_is_not_followed(bench: Bench) -> None:
    target = bench.desk / "target"
    _ = target.write_text("kept")
    path = bench.desk / "result.json"
    path.symlink_to(target)
    _ = bench.run("r1", "--result", str(path))
    assert target.read_text() == "kept"
    assert not path.is_symlink()
    assert json.loads(path.read_bytes())["run"] == "r1"
    assert [name.name for name in bench.desk.iterdir() if name.name.startswith(".")] == []


@pytest.mark.parametrize(
    "path", ["runs/r1/state.json", "runs/r1/run.jsonl", "runs/r2/state.json", "runs/new", "linked/state.json"]
)
@pytest.mark.parametrize("words", [("unblock", "r1", "--result"), ("log", "r1", "--html")])
def test_no_file_of_a_run_is_replaced(words: tuple[str, ...], path: str, bench: Bench) -> None:
    """Neither this run's nor another's, by whatever name its folder is reached."""
    bench.make("r1", "disabled", status="blocked", command=(TRUE,))
    bench.make("r2", "disabled")
    (bench.home / "linked").symlink_to("runs/r2")
    said = bench.unchanged(*words, str(bench.home / path), status=64).err
    assert "below the folder of all runs" in said
    assert f"expected a file outside {bench.root}" in said


def test_a_new_run_replaces_no_file_of_another(bench: Bench) -> None:
    path = bench.make("r1", "disabled") / "state.json"
    words = ("run", "--id", "r2", "--workspace", str(bench.workspace), "--result", str(path))
    _ = bench.unchanged(*words, "--", *bench.touches(), status=64)


def test_a_new_result_is_private(bench: Bench) -> None:
    _ = bench.run("r1", "--result", "result.json")
    assert stat.S_IMODE((bench.desk / "result.json").stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["none/result", "", ".", "folder"])
def test_a_result_that_can_not_be_written_is_refused_before_anything_is_done(name: str, bench: Bench) -> None:
    """Else the launch would have happened, and its exit status be lost."""
    (bench.desk / "folder").mkdir()
    bench.make("r1", "required")
    _ = bench.unchanged("step", "r1", FLAG, "--result", name, "--", *bench.touches(), status=64)
