"""``status``, ``explain``, ``log`` and ``list``: what they tell; and that they change nothing."""

import json
import os
from pathlib import Path

import pytest

from cli.support import (
    AT,
    FLAG,
    PREFERRED,
    REQUIRED,
    Bench,
    Ended,
    end_of,
    needs_sandbox,
    snapshot,
)
from sandbox_pin.shell.processes import identify


def _tells(bench: Bench, *words: str, status: int = 0) -> Ended:
    """A command that only tells: nothing is changed, the time of reading aside."""
    return bench.unchanged(*words, status=status)


# status


def test_status_tells_pin_status_workspace_and_last_launch(bench: Bench) -> None:
    _ = bench.run("r1", "--mode", "disabled", command=("sh", "-c", "exit 3"))
    ended = _tells(bench, "status", "r1")
    for piece in (
        "r1 (local, blocked)",
        "disabled (created ",
        str(bench.workspace),
        "NOT sandboxed",
        "exit status 3",
    ):
        assert piece in ended.out
    assert ended.err == ""


def test_status_as_json_is_one_object(bench: Bench) -> None:
    _ = bench.run("r1", command=("sh", "-c", "exit 3"))
    (told,) = _tells(bench, "status", "r1", "--json").objects
    assert told["run"] == "r1"
    assert told["status"] == "blocked"
    assert told["in_force"] == told["state_pin"] == told["witness"] == bench.pin()
    assert told["last_end"]["exit_code"] == 3
    assert told["busy"] is False


def test_status_says_so_where_state_and_log_differ(bench: Bench) -> None:
    """A state that was put back from an old copy: the run is held to the stronger, and both are shown."""
    bench.make("r1", "required")
    bench.damage("r1", sandbox_pin={"schema": 1, "mode": "disabled", "source": "accepted", "recorded_at": AT})
    ended = _tells(bench, "status", "r1")
    assert f"pinned to  required (created {AT})" in ended.out
    assert f"the state says disabled (accepted {AT})" in ended.out
    assert f"the run log says required (created {AT})" in ended.out


def test_status_of_a_run_from_before_pins(bench: Bench) -> None:
    _ = bench.make_old()
    assert "from before pins" in _tells(bench, "status", "r1").out
    assert _tells(bench, "status", "r1", "--json").objects[0]["in_force"] == {"type": "unpinned"}


def test_status_of_a_disputed_backend_names_both(bench: Bench) -> None:
    bench.make("r1", "required", kind="remote", backend="other")
    pin = {"schema": 2, "mode": "required", "source": "created", "recorded_at": AT, "backend": "bubblewrap"}
    bench.damage("r1", sandbox_pin=pin)
    ended = _tells(bench, "status", "r1")
    assert "disputed" in ended.out
    assert "on other" in ended.out
    assert "on bubblewrap" in ended.out
    _ = _tells(bench, "status", "r1", "--json")


def test_status_of_a_launch_that_lives_and_of_one_that_was_lost(bench: Bench) -> None:
    """A launch is lost with its controller: such a run is blocked, whatever its state says."""
    launch = identify(os.getpid())
    assert launch is not None
    bench.make("r1", "disabled", status="running", launch=launch)
    assert _tells(bench, "status", "r1", "--json").objects[0]["busy"] is True
    assert "running" in _tells(bench, "status", "r1").out
    bench.damage("r1", launch={"pid": launch.pid, "started": launch.started + 1, "boot": launch.boot})
    assert "blocked" in _tells(bench, "status", "r1").out


def test_a_torn_end_of_the_log_is_told(bench: Bench) -> None:
    path = bench.make("r1", "disabled") / "run.jsonl"
    _ = path.write_bytes(path.read_bytes() + b'{"event"')
    assert "1 torn line(s)" in _tells(bench, "status", "r1").out
    assert "torn or garbage" in _tells(bench, "log", "r1").out
    ended = _tells(bench, "log", "r1", "--json")
    assert len(ended.objects) == 1
    assert "torn or garbage" in ended.err


# A log that can't be read


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _link(path: Path) -> None:
    path.symlink_to(path.rename(path.with_name("elsewhere")))


def _fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


NO_FILE = {"a folder": _folder, "a link": _link, "a FIFO": _fifo}


@pytest.mark.parametrize("what", NO_FILE)
def test_a_log_that_can_not_be_read_is_never_hidden(what: str, bench: Bench) -> None:
    """The state's pin may be the weaker one: it is told as the state's alone, and the exit status is 74."""
    path = bench.make("r1", "required") / "run.jsonl"
    bench.damage("r1", sandbox_pin={"schema": 1, "mode": "disabled", "source": "accepted", "recorded_at": AT})
    NO_FILE[what](path)
    for words in (("status", "r1"), ("list",)):
        ended = _tells(bench, *words, status=74)
        assert f"disabled (accepted {AT}) by the state alone: the log can't be read" in ended.out
        assert f"{path}: it is a" in ended.err
        (told,) = _tells(bench, *words, "--json", status=74).objects
        assert told["witness"] is None
        assert told["log_failure"].startswith(f"{path}: it is a")
    explained = _tells(bench, "explain", "r1", "--mode", "disabled").out
    assert "by the state alone" in explained
    assert f"witness    {path}: it is a" in explained


def test_a_log_that_may_not_be_read_is_never_hidden(bench: Bench) -> None:
    """As a user without the right to."""
    path = bench.make("r1", "disabled") / "run.jsonl"
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    ended = bench.call("status", "r1", "--json")  # a snapshot could not read it either
    assert ended.status == 74
    assert "Permission denied" in ended.objects[0]["log_failure"]


def test_list_goes_on_behind_a_log_that_can_not_be_read(bench: Bench) -> None:
    _folder(bench.make("a1", "required") / "run.jsonl")
    bench.make("b1", "required")
    ended = _tells(bench, "list", status=74)
    assert [line.split()[0] for line in ended.out.splitlines()] == ["a1", "b1"]
    assert ended.err.count("\n") == 1


def test_a_log_that_could_be_read_has_no_failure(bench: Bench) -> None:
    bench.make("r1", "required")
    assert _tells(bench, "status", "r1", "--json").objects[0]["log_failure"] is None


# log


def test_log_tells_each_event_in_a_line(bench: Bench) -> None:
    _ = bench.run("r1", "--config", bench.config(PREFERRED), "--remote", "--mode", "disabled")
    _ = bench.call("step", "r1", "--mode", "disabled", FLAG, "--", "sh", "-c", "kill -TERM $$")
    ended = _tells(bench, "log", "r1")
    lines = ended.out.splitlines()
    assert len(lines) == len(bench.log()) == 5
    assert "created by" in lines[0]
    assert "pinned to disabled" in lines[0]
    assert "from --mode" in lines[0]
    assert "NOT sandboxed" in lines[1]
    assert "exit status 0" in lines[2]
    assert "SIGTERM" in lines[4]


def test_log_tells_each_change_of_the_pin_with_both_modes_and_the_origin(bench: Bench) -> None:
    bench.make("r1", "preferred", status="blocked")
    config = bench.config(REQUIRED)
    _ = bench.succeeds("unblock", "r1", "--config", config)
    bench.damage("r1", status="blocked")
    _ = bench.succeeds("unblock", "r1", FLAG)
    lines = _tells(bench, "log", "r1").out.splitlines()
    assert "STRENGTHENED" in lines[1]
    assert f"preferred -> required; asked for required (from {config})" in lines[1]
    assert "ACCEPTED" in lines[2]
    assert "required -> disabled; asked for disabled (from the built-in default" in lines[2]


def test_log_as_json_is_the_log(bench: Bench) -> None:
    _ = bench.run("r1")
    assert _tells(bench, "log", "r1", "--json").objects == bench.log()


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_log_shows_the_lines_around_a_damaged_one_and_ends_with_65(
    as_json: tuple[str, ...], bench: Bench
) -> None:
    path = bench.make("r1", "disabled") / "run.jsonl"
    whole = path.read_bytes()
    _ = path.write_bytes(whole + b'{"event":"pin_removed"}\n' + whole)
    ended = _tells(bench, "log", "r1", *as_json, status=65)
    assert len(ended.out.splitlines()) == (2 if as_json else 3)
    assert "recover" in ended.err


def test_a_missing_log_is_damage(bench: Bench) -> None:
    (bench.make("r1", "disabled") / "run.jsonl").unlink()
    assert "missing" in _tells(bench, "log", "r1", status=65).err


# list


def test_list_tells_a_line_a_run_in_order(bench: Bench) -> None:
    for run, mode in (("b", "required"), ("a", "disabled")):
        bench.make(run, mode)
    lines = _tells(bench, "list").out.splitlines()
    assert [line.split()[0] for line in lines] == ["a", "b"]
    assert "required (created" in lines[1]
    assert [told["run"] for told in _tells(bench, "list", "--json").objects] == ["a", "b"]


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_list_shows_the_others_where_one_run_is_damaged(as_json: tuple[str, ...], bench: Bench) -> None:
    for run in ("a", "b", "c"):
        bench.make(run, "disabled")
    bench.damage("b", sandbox_pin={})
    ended = _tells(bench, "list", *as_json, status=65)
    assert len(ended.out.splitlines()) == 2
    assert str(bench.root / "b") in ended.err
    assert "sandbox-pin recover b" in ended.err


def test_list_passes_over_what_is_no_run(bench: Bench) -> None:
    bench.make("a", "disabled")
    (bench.root / ".new-b-12345678").mkdir()
    (bench.root / "Upper").mkdir()
    assert len(_tells(bench, "list").out.splitlines()) == 1


def test_list_of_nothing_is_nothing_and_makes_nothing(bench: Bench) -> None:
    assert _tells(bench, "list") == (0, "", "")
    assert not bench.root.exists()


# explain


def test_explain_of_an_equal_request_says_what_step_would_launch(bench: Bench) -> None:
    bench.make("r1", "disabled")
    ended = _tells(bench, "explain", "r1")
    for piece in (
        "request    disabled (from the built-in default",
        f"may write  {bench.workspace}",
        "nothing that decides lies where a launch can write",
        "rule       the pin stays",
        "next       step launches",
    ):
        assert piece in ended.out


@needs_sandbox
def test_explain_of_a_stronger_request_tells_host_rule_and_gate(bench: Bench) -> None:
    bench.make("r1", "disabled", status="blocked")
    config = bench.config(REQUIRED)
    more = bench.home / "more"
    more.mkdir()
    ended = _tells(bench, "explain", "r1", "--config", config, "--writable", str(more))
    for piece in (
        f"required (from {config})",
        f"may write  {more}",
        "host       can enforce, by bubblewrap",
        "rule       the pin rises",
        "gate       enforced by bubblewrap",
        "next       resume launches",
    ):
        assert piece in ended.out
    (told,) = _tells(bench, "explain", "r1", "--config", config, "--json").objects
    assert told["request"]["mode_from"] == {"from": "file", "path": config}
    assert told["decision"]["pin"]["mode"] == "required"
    assert told["gate"]["gate"] == "enforce"
    assert told["host"]["host"] == "capable"


def test_explain_of_a_weaker_request_says_that_it_would_be_refused_and_ends_with_0(bench: Bench) -> None:
    """It only tells: nothing was refused."""
    bench.make("r1", "required")
    ended = _tells(bench, "explain", "r1")
    assert "next       refused" in ended.out
    assert f"{FLAG}=disabled" in ended.out
    assert _tells(bench, "explain", "r1", "--json").objects[0]["gate"] is None


def test_explain_tells_a_host_that_can_not_enforce(bench: Bench) -> None:
    bench.make("r1", "required")
    bench.without_bubblewrap()
    ended = _tells(bench, "explain", "r1", "--mode", "required")
    assert "can't enforce: bubblewrap is not installed" in ended.out
    assert "nothing is launched" in ended.out


def test_explain_tells_what_keeps_a_command_from_deciding_and_the_rest_all_the_same(bench: Bench) -> None:
    bench.make("r1", "required")
    config = bench.workspace / "c.toml"
    _ = config.write_text(REQUIRED)
    ended = _tells(bench, "explain", "r1", "--config", str(config))
    assert f"configuration file {config} lies in {bench.workspace}" in ended.out
    assert "next       stops before it decides" in ended.out
    ended = _tells(bench, "explain", "r1", "--config", "none.toml")
    assert "none.toml" in ended.out
    assert "stops before it decides" in ended.out
    assert f"required (created {AT})" in ended.out
    _ = _tells(bench, "explain", "r1", "--config", "none.toml", "--json")


def test_explain_of_a_run_from_before_pins_says_that_it_would_be_upgraded(bench: Bench) -> None:
    _ = bench.make_old()
    assert (
        "rule       the run had no pin, and is pinned to preferred"
        in _tells(bench, "explain", "r1", "--mode", "preferred").out
    )


def test_explain_beside_a_log_that_can_not_be_read_says_what_step_would_do(bench: Bench) -> None:
    """A refusal by the state's pin stands; a stronger request raises it; nothing else changes or launches."""
    log = bench.make("r1", "preferred") / "run.jsonl"
    log.unlink()
    log.mkdir()
    assert "next       refused" in _tells(bench, "explain", "r1").out
    _ = bench.unchanged("step", "r1", "--", *bench.touches(), status=77)
    same = ("r1", "--mode", "preferred")
    assert f"next       changes nothing: {log}" in _tells(bench, "explain", *same).out
    _ = bench.unchanged("step", *same, "--", *bench.touches(), status=74)
    stronger = ("r1", "--mode", "required")
    raises = f"next       raises the pin in the state, and launches nothing: {log}"
    assert raises in _tells(bench, "explain", *stronger).out
    assert bench.call("step", *stronger, "--", *bench.touches()).status == 74
    assert bench.state()["sandbox_pin"]["mode"] == "required"


def test_explain_of_a_busy_run_says_so(bench: Bench) -> None:
    bench.make("r1", "disabled", status="running", launch=identify(os.getpid()))
    assert "stops before it decides: a launch of the run lives" in _tells(bench, "explain", "r1").out


# All


@pytest.mark.parametrize("command", ["status", "explain", "log", "list"])
def test_they_take_no_command_to_launch(command: str, bench: Bench) -> None:
    bench.make("r1", "disabled")
    run = () if command == "list" else ("r1",)
    _ = _tells(bench, command, *run, "--", *bench.touches(), status=64)


@pytest.mark.parametrize("command", ["status", "explain", "log", "list"])
def test_they_answer_while_another_command_holds_the_run(command: str, bench: Bench) -> None:
    """They take no lock."""
    bench.make("r1", "disabled")
    holder = bench.start("step", "r1", "--", "sh", "-c", ": > up; while ! test -e done; do sleep 0.02; done")
    try:
        while not (bench.workspace / "up").exists():
            assert holder.poll() is None
        run = () if command == "list" else ("r1",)
        _ = bench.succeeds(command, *run)
    finally:
        (bench.workspace / "done").touch()
    assert end_of(holder).status == 0


def test_a_real_explain_changes_nothing(bench: Bench) -> None:
    bench.make("r1", "required")
    before = snapshot(bench.home)
    ended = bench.real("explain", "r1", "--json")
    assert ended.status == 0
    assert json.loads(ended.out)["summary"]["run"] == "r1"
    assert snapshot(bench.home) == before
