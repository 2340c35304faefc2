"""What went wrong for people who run coding agents, played again by the commands."""

import json
import os
import shutil
from pathlib import Path

import pytest

from cli.support import (
    AT,
    FLAG,
    NO_MODE,
    PREFERRED,
    REQUIRED,
    TRUE,
    Bench,
    full_disk,
    needs_sandbox,
    snapshot,
)

STEP = ("step", "r1")
PIN = {"schema": 1, "mode": "required", "source": "created", "recorded_at": AT}


@needs_sandbox
def test_case_01_resume_with_the_mode_gone_is_refused(bench: Bench) -> None:
    """The default counts as an offered mode, and the message says that it came from the default."""
    config = bench.config(REQUIRED)
    assert bench.run("r1", "--config", config, command=("sh", "-c", "exit 1")).status == 1
    _ = bench.config(NO_MODE)
    ended = bench.unchanged("resume", "r1", "--config", config, status=77)
    assert f"the built-in default, as {config} has no sandbox.mode" in ended.err
    assert "the built-in default" in bench.unchanged("resume", "r1", status=77).err


def test_case_03_every_pin_event_names_old_new_and_the_source(bench: Bench) -> None:
    bench.make("r1", "disabled", status="blocked")
    config = bench.config(REQUIRED)
    for options, came_from in (
        (("--mode", "preferred"), {"from": "flag", "flag": "--mode"}),
        (("--config", config), {"from": "file", "path": config}),
        ((FLAG,), {"from": "default", "file": None}),
    ):
        before = bench.pin()
        _ = bench.succeeds("unblock", "r1", *options)
        entry = bench.log()[-1]
        assert entry["before"] == before
        assert entry["pin"] == bench.pin()
        assert entry["request"]["mode_from"] == came_from
        bench.damage("r1", status="blocked")


def test_case_04_a_wrong_pin_is_put_right_by_the_flag_once(bench: Bench) -> None:
    """History is kept; the next command without the flag is equal and quiet."""
    bench.make("r1", "required")
    config = bench.config(PREFERRED)
    _ = bench.succeeds(*STEP, "--config", config, FLAG, "--", TRUE)
    assert bench.events()[:2] == ["run_created", "pin_accepted"]
    pin = bench.pin()
    ended = bench.succeeds(*STEP, "--config", config, "--", TRUE)
    assert bench.pin() == pin
    assert "accept" not in ended.err


@needs_sandbox
def test_case_05_an_override_at_creation_outlives_the_command(bench: Bench) -> None:
    config = bench.config(PREFERRED)
    assert (
        bench.run("r1", "--config", config, "--mode", "required", command=("sh", "-c", "exit 1")).status == 1
    )
    assert bench.pin()["mode"] == "required"
    assert "preferred" in bench.unchanged("resume", "r1", "--config", config, status=77).err


@needs_sandbox
def test_case_06_a_raised_pin_sticks(bench: Bench) -> None:
    assert bench.run("r1").status == 0
    _ = bench.succeeds(*STEP, "--mode", "required", "--", TRUE)
    _ = bench.unchanged(*STEP, "--", *bench.touches(), status=77)
    assert bench.pin()["mode"] == "required"


def test_case_08_a_copy_without_its_pin_is_no_run_from_before_pins(bench: Bench) -> None:
    """Copied by hand, with the pin left out, with and without its log: damage, never an upgrade."""
    folder = bench.make("r1", "required")
    for log in (True, False):
        shutil.rmtree(bench.root / "r2", ignore_errors=True)
        shutil.copytree(folder, bench.root / "r2")
        bench.damage("r2", sandbox_pin=..., run="r2")
        if not log:
            (bench.root / "r2" / "run.jsonl").unlink()
        for options in ((), (FLAG,)):
            ended = bench.unchanged("step", "r2", *options, "--", *bench.touches(), status=65)
            assert "upgrade" not in ended.err


@needs_sandbox
def test_case_09_a_child_is_at_least_as_strong_as_its_parent(bench: Bench) -> None:
    bench.make("r1", "required")
    config = bench.config(PREFERRED)
    assert bench.run("r2", "--parent", "r1", "--config", config).status == 0
    assert bench.pin("r2")["mode"] == "required"
    assert [entry["enforced"] for entry in bench.log("r2") if entry["event"] == "launch_started"] == [True]


def test_case_13_a_configuration_that_the_agent_edits_is_refused_at_creation(bench: Bench) -> None:
    config = bench.workspace / "kilo.toml"
    _ = config.write_text(REQUIRED)
    words = ("run", "--id", "r1", "--workspace", str(bench.workspace), "--config", str(config))
    ended = bench.unchanged(*words, "--", *bench.touches(), status=78)
    assert str(config) in ended.err
    assert str(bench.workspace) in ended.err
    assert not bench.root.exists()


def test_case_14_a_deleted_pin_and_a_deleted_state_are_no_first_run(bench: Bench) -> None:
    folder = bench.make("r1", "required")
    bench.damage("r1", sandbox_pin=...)
    _ = bench.unchanged(*STEP, FLAG, "--", *bench.touches(), status=65)
    (folder / "state.json").unlink()
    _ = bench.unchanged(*STEP, FLAG, "--", *bench.touches(), status=65)
    words = ("run", "--id", "r1", "--workspace", str(bench.workspace))
    _ = bench.unchanged(*words, "--", *bench.touches(), status=64)


@pytest.mark.parametrize("pin", ["", None, [], "   "])
def test_case_15_a_blanked_pin_is_damage_and_none_is_upgraded(pin: object, bench: Bench) -> None:
    bench.make("r1", "required")
    bench.damage("r1", sandbox_pin=pin)
    ended = bench.unchanged(*STEP, "--mode", "required", "--", *bench.touches(), status=65)
    assert "upgrade" not in ended.err


def test_case_16_an_old_looking_state_is_held_to_what_its_log_says(bench: Bench) -> None:
    """The log is the high-water mark, whatever was done to the state."""
    folder = bench.make("r1", "required")
    bench.damage("r1", protocol=11, sandbox_pin=...)
    assert f"required (created {AT})" in bench.unchanged(*STEP, "--", *bench.touches(), status=77).err
    bench.without_bubblewrap()
    assert bench.call(*STEP, "--mode", "required", "--", TRUE).status == 69
    assert bench.pin() == PIN
    assert bench.state()["protocol"] == 12
    assert (folder / "run.jsonl").read_bytes().count(b"\n") == 1


def test_case_18_an_agent_that_approves_itself_is_refused(bench: Bench) -> None:
    bench.make("r1", "required", status="blocked", command=bench.touches())
    before = snapshot(bench.root / "r1")
    command = ("sh", "-c", f"sandbox-pin resume --runs {bench.root} r1 {FLAG}")
    assert bench.run("r2", command=command).status == 77
    assert snapshot(bench.root / "r1") == before
    assert not (bench.workspace / "launched").exists()


@pytest.mark.parametrize("kind", ["missing", "empty", "a folder", "a dangling link"])
def test_case_20_a_named_configuration_is_never_the_default(kind: str, bench: Bench) -> None:
    config = Path(bench.config(""))
    if kind != "empty":
        config.unlink()
    if kind == "a folder":
        config.mkdir()
    elif kind == "a dangling link":
        config.symlink_to(bench.home / "none")
    words = ("run", "--id", "r1", "--workspace", str(bench.workspace), "--config", str(config))
    assert str(config) in bench.unchanged(*words, "--", *bench.touches(), status=78).err
    assert not bench.root.exists()


def test_case_23_a_configuration_broken_between_two_steps_is_an_error(bench: Bench) -> None:
    """Not "no mode offered", and not the last good value."""
    bench.make("r1", "preferred")
    config = bench.config(PREFERRED)
    _ = bench.succeeds(*STEP, "--config", config, "--", TRUE)
    _ = bench.config(PREFERRED[:-3])
    _ = bench.unchanged(*STEP, "--config", config, "--", *bench.touches(), status=78)
    _ = bench.unchanged(*STEP, "--config", config, FLAG, "--", *bench.touches(), status=78)


@needs_sandbox
def test_case_29_a_missing_helper_never_switches_the_sandbox_off_in_silence(bench: Bench) -> None:
    for run, mode in (("r1", "required"), ("r2", "preferred"), ("r3", "disabled")):
        bench.make(run, mode)
    bench.without_bubblewrap()
    statuses = [
        bench.call("step", run, "--mode", mode, "--", *bench.touches(run)).status
        for run, mode in (("r1", "required"), ("r2", "preferred"), ("r3", "disabled"))
    ]
    assert statuses == [69, 0, 0]
    assert [(bench.workspace / run).exists() for run in ("r1", "r2", "r3")] == [False, True, True]
    assert [bench.pin(run)["mode"] for run in ("r1", "r2", "r3")] == ["required", "preferred", "disabled"]
    assert bench.log("r2")[1]["why_not"].startswith("bubblewrap is not installed")


def test_case_30_a_degraded_run_is_raised_by_required(bench: Bench) -> None:
    bench.make("r1", "preferred", status="blocked", command=(TRUE,))
    bench.without_bubblewrap()
    _ = bench.succeeds("resume", "r1", "--mode", "preferred")
    bench.damage("r1", status="blocked")
    _ = bench.succeeds("unblock", "r1", "--config", bench.config(REQUIRED))
    assert (bench.pin()["mode"], bench.pin()["source"]) == ("required", "strengthened")


def test_case_33_an_accept_that_did_not_finish_is_no_consent(bench: Bench) -> None:
    """Killed between the log and the save: the log says accepted, the state still holds the stronger pin."""
    folder = bench.make("r1", "required", status="blocked")
    state = (folder / "state.json").read_bytes()
    _ = bench.succeeds("unblock", "r1", FLAG)
    _ = (folder / "state.json").write_bytes(state)
    ended = bench.unchanged("unblock", "r1", status=77)
    assert "the state says required" in ended.err
    _ = bench.succeeds("unblock", "r1", FLAG)
    assert bench.events() == ["run_created", "pin_accepted", "pin_accepted"]


@pytest.mark.parametrize("kind", ["a folder", "a FIFO", "a full disk"])
def test_case_34_an_accept_that_can_not_be_logged_does_not_go_on(kind: str, bench: Bench) -> None:
    path = bench.make("r1", "preferred") / "run.jsonl"
    limit = 1 << 30
    if kind == "a full disk":
        _ = path.write_bytes(b"x" * 60_000 + b"\n" + path.read_bytes())
        limit = 50_000
    else:
        path.unlink()
        if kind == "a folder":
            path.mkdir()
        else:
            os.mkfifo(path)
    with full_disk(limit):
        _ = bench.unchanged(*STEP, FLAG, "--", *bench.touches(), status=74)
        ended = bench.call(*STEP, "--mode", "required", "--", *bench.touches())
    assert ended.status in {69, 74}
    assert bench.pin()["mode"] == "required"
    assert "could not be logged" in ended.err
    assert not (bench.workspace / "launched").exists()


def test_case_36_a_rise_is_not_undone_by_a_view_from_before_it(bench: Bench) -> None:
    """A state written back from before the rise: the log remembers it, and the next save mends the state."""
    folder = bench.make("r1", "preferred", status="blocked")
    view = (folder / "state.json").read_bytes()
    _ = bench.succeeds("unblock", "r1", "--mode", "required")
    _ = (folder / "state.json").write_bytes(view)
    _ = bench.unchanged("unblock", "r1", "--mode", "preferred", status=77)
    ended = bench.succeeds("unblock", "r1", "--mode", "required")
    assert "the run is held to the stronger" in ended.err
    assert (bench.pin()["mode"], bench.pin()["source"]) == ("required", "strengthened")


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n", "\u2028", "\x1b[31m", "\x85"])
def test_case_39_one_event_is_one_line(end: str, bench: Bench) -> None:
    """In the run id it is refused; in a path it is escaped."""
    _ = bench.unchanged("run", "--id", f"r1{end}x", "--", TRUE, status=64)
    workspace = bench.workspace / f"a{end}{json.dumps({'event': 'pin_accepted'})}".replace("/", "")
    workspace.mkdir()
    assert bench.call("run", "--id", "r1", "--workspace", str(workspace), "--", TRUE).status == 0
    raw = (bench.root / "r1" / "run.jsonl").read_bytes()
    assert len(raw.decode().splitlines()) == len(raw.splitlines()) == 3
    assert bench.events() == ["run_created", "launch_started", "launch_ended"]


@pytest.mark.parametrize("run", ["../other", "/abs", "", ".", "x" * 300])
def test_case_40_a_run_id_is_no_path(run: str, bench: Bench) -> None:
    bench.make("other", "disabled")
    for words in (
        ("step", run, "--", TRUE),
        ("unblock", run),
        ("run", "--id", run, "--", TRUE),
        ("status", run),
    ):
        _ = bench.unchanged(*words, status=64)
