"""Commands at the same time, and commands that were killed."""

import os
import signal
import subprocess
import time
from collections.abc import Generator

import pytest
from msgspec.structs import asdict

from cli.support import BIN, FLAG, TRUE, Bench, end_of, needs_sandbox, wait_for
from sandbox_pin.shell.processes import identify

_WAITS = ": > up; while ! test -e done; do sleep 0.02; done"
_FIRST_TIME_FOREVER = "test -e again && exit 0; : > again; : > up; exec sleep 60"


@pytest.fixture
def holder(bench: Bench) -> Generator["subprocess.Popen[bytes]"]:
    """A step of ``r1`` whose launch lives until it is told to end."""
    bench.make("r1", "disabled")
    process = bench.start("step", "r1", "--", "sh", "-c", _WAITS)
    wait_for(bench.workspace / "up")
    yield process
    (bench.workspace / "done").touch()
    _ = process.communicate(timeout=60)


def test_while_a_launch_lives_the_run_is_busy(bench: Bench, holder: "subprocess.Popen[bytes]") -> None:
    for words in (
        ("step", "r1", "--wait", "0", "--", TRUE),
        ("resume", "r1", "--wait", "0"),
        ("unblock", "r1", "--wait", "0", FLAG),
    ):
        begun = time.monotonic()
        ended = bench.unchanged(*words, status=75)
        assert time.monotonic() - begun < 2
        assert "busy" in ended.err
        assert "--wait" in ended.err
    begun = time.monotonic()
    assert bench.call("step", "r1", "--wait", "0.3", "--", TRUE).status == 75
    assert 0.3 <= time.monotonic() - begun < 5


def test_a_command_that_waits_long_enough_gets_the_run_and_reads_it_afresh(
    bench: Bench, holder: "subprocess.Popen[bytes]"
) -> None:
    second = bench.start("step", "r1", "--mode", "preferred", "--", TRUE)
    third = bench.start("step", "r1", "--wait", "30", "--", TRUE)
    time.sleep(0.5)
    assert second.poll() is None
    (bench.workspace / "done").touch()
    assert end_of(second).status == 0
    assert end_of(holder).status == 0
    assert end_of(third).status in {0, 77}
    assert bench.pin()["mode"] == "preferred"


def test_another_run_is_not_held_up(bench: Bench, holder: "subprocess.Popen[bytes]") -> None:
    assert holder.poll() is None
    assert bench.run("r2").status == 0


def test_changes_at_the_same_time_come_one_after_the_other(bench: Bench) -> None:
    """Whatever their order: no change is lost, each begins where the last one ended."""
    bench.make("r1", "preferred", status="blocked")
    bench.damage("r1", status="ready")
    wants = [
        ("--mode", "preferred"),
        ("--mode", "disabled", FLAG),
        ("--mode", "preferred"),
        ("--mode", "disabled"),
    ]
    commands = [bench.start("step", "r1", *options, "--", TRUE) for options in wants]
    statuses = [end_of(command).status for command in commands]
    assert statuses[:3] == [0, 0, 0]
    assert statuses[3] in {0, 77}
    entries = bench.log()
    held = entries[0]["pin"]
    for entry in entries[1:]:
        if entry["event"].startswith("pin_"):
            assert entry["before"] == held
            held = entry["pin"]
        assert entry["pin"] == held
    assert bench.pin() == held
    assert [entry["event"] for entry in entries].count("pin_accepted") == 1
    assert bench.state()["status"] == "ready"


def test_a_rise_survives_whatever_runs_beside_it_without_the_flag(bench: Bench) -> None:
    bench.make("r1", "disabled")
    commands = [
        bench.start("step", "r1", "--mode", mode, "--", TRUE)
        for mode in ("disabled", "preferred", "disabled", "preferred")
    ]
    statuses = [end_of(command).status for command in commands]
    assert statuses[1] == statuses[3] == 0
    assert bench.pin()["mode"] == "preferred"
    assert bench.events().count("pin_strengthened") == 1


def test_two_runs_of_one_id_at_the_same_time_make_one(bench: Bench) -> None:
    words = ("run", "--id", "r1", "--workspace", str(bench.workspace), "--", TRUE)
    statuses = sorted(end_of(command).status for command in [bench.start(*words) for _ in range(3)])
    assert statuses == [0, 64, 64]
    assert [path.name for path in bench.root.iterdir()] == ["r1"]
    assert bench.events() == ["run_created", "launch_started", "launch_ended"]


@pytest.mark.parametrize("mode", ["disabled", pytest.param("required", marks=needs_sandbox)])
def test_a_launch_that_was_lost_with_its_controller_leaves_the_run_blocked_and_resume_works(
    mode: str, bench: Bench
) -> None:
    """SIGKILL: nothing could be logged or saved, and the launch itself dies with it."""
    bench.make("r1", mode)
    process = bench.start("step", "r1", "--mode", mode, "--", "sh", "-c", _FIRST_TIME_FOREVER)
    wait_for(bench.workspace / "up")
    launch = bench.state()["launch"]
    assert bench.state()["status"] == "running"
    process.kill()
    assert end_of(process).status == -signal.SIGKILL
    deadline = time.monotonic() + 10
    while (found := identify(launch["pid"])) is not None and asdict(found) == launch:
        assert time.monotonic() < deadline, "the launch outlived its controller"
        time.sleep(0.01)
    assert bench.succeeds("status", "r1", "--json").objects[0]["status"] == "blocked"
    _ = bench.unchanged("step", "r1", "--mode", mode, "--", TRUE, status=64)
    _ = bench.succeeds("resume", "r1", "--mode", mode)
    assert bench.state()["status"] == "ready"
    assert bench.state()["launch"] is None
    assert bench.events() == ["run_created", "launch_started", "launch_started", "launch_ended"]


def test_a_launch_that_outlived_its_controller_keeps_the_run_busy(bench: Bench) -> None:
    """Told by number and start time: the same number, started at another time, is another process."""
    with subprocess.Popen(["sleep", "60"]) as other:
        launch = identify(other.pid)
        assert launch is not None
        bench.make("r1", "disabled", status="running", launch=launch, command=(TRUE,))
        for words in (("step", "r1", "--", TRUE), ("resume", "r1"), ("unblock", "r1"), ("recover", "r1")):
            ended = bench.unchanged(*words, status=64 if words[0] == "recover" else 75)
            assert str(other.pid) in ended.err or words[0] == "recover"
        assert bench.succeeds("status", "r1", "--json").objects[0]["busy"] is True
        bench.damage("r1", launch={**asdict(launch), "started": launch.started - 1})
        assert bench.succeeds("status", "r1", "--json").objects[0]["busy"] is False
        bench.damage("r1", launch=asdict(launch))
        other.kill()
    _ = bench.succeeds("resume", "r1")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("mode", ["disabled", pytest.param("required", marks=needs_sandbox)])
def test_what_a_command_is_told_goes_to_its_launch(number: signal.Signals, mode: str, bench: Bench) -> None:
    """Its end is logged, and the run is blocked, even where the launch makes a success of it."""
    bench.make("r1", mode)
    script = f"trap 'echo told; exit 0' {number.name[3:]}; : > up; while :; do sleep 0.02; done"
    process = bench.start("step", "r1", "--mode", mode, "--", "sh", "-c", script)
    wait_for(bench.workspace / "up")
    os.kill(process.pid, number)
    ended = end_of(process)
    assert (ended.status, ended.out) == (0, "told\n")
    assert bench.state()["status"] == "blocked"
    assert bench.log()[-1] == {**bench.log()[-1], "event": "launch_ended", "ran": True, "exit_code": 0}


def test_ctrl_c_while_a_command_waits_changes_nothing(
    bench: Bench, holder: "subprocess.Popen[bytes]"
) -> None:
    assert holder.poll() is None
    waiting = bench.start("step", "r1", "--mode", "required", "--", TRUE)
    time.sleep(1)
    waiting.send_signal(signal.SIGINT)
    ended = end_of(waiting)
    assert ended.status == 130
    assert "Traceback" not in ended.err
    assert bench.pin()["mode"] == "disabled"


def test_the_lock_is_not_handed_to_the_launch(bench: Bench) -> None:
    """A process that the command left behind does not hold the run."""
    bench.make("r1", "disabled")
    script = "setsid sh -c ': > up; while ! test -e done; do sleep 0.02; done' < /dev/null > /dev/null 2>&1 &"
    try:
        assert bench.real("step", "r1", "--", "sh", "-c", script).status == 0
        _ = bench.succeeds("step", "r1", "--wait", "0", "--", TRUE)
    finally:
        (bench.workspace / "done").touch()


@pytest.mark.parametrize("command", ["run", "step"])
def test_nobody_listening_to_the_messages_stops_no_command_half_way(command: str, bench: Bench) -> None:
    """As under ``2>&1 | head -1``: the launch still happens, and the exit status is its own."""
    words = ["run", "--id", "r1", "--workspace", str(bench.workspace)]
    if command == "step":
        bench.make("r1", "disabled")
        words = ["step", "r1"]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [BIN / "sandbox-pin", *words, "--mode", "preferred", "--", *bench.touches()],
        env=bench.environment(),
        cwd=bench.desk,
        stdin=subprocess.DEVNULL,
        stderr=writer,
        check=False,
    )
    os.close(writer)
    assert done.returncode == 0
    assert bench.pin()["mode"] == "preferred"
    assert (bench.workspace / "launched").exists()
