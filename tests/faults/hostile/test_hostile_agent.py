"""Under `required` no descendant of a launch gets out of the sandbox, whatever it tries (law 7).

Each agent is a program of ``agents/``, launched by the installed command itself, once by root and once by an
ordinary user who owns all that the agent goes for. What it got done is asked from outside: bytes, times,
processes and settings are those of before. The controls show that without the sandbox the same
agents do get it done, so that a test that finds nothing has looked.
"""

import json
import os
import pty
import shutil
import signal
import socket
import subprocess
import sys
import termios
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from faults.hostile.support import (
    FLAG,
    PATIENCE,
    SECRET,
    Desk,
    done,
    end_of,
    living,
    look,
    only_x86_64,
    scratch,
    wait_until,
)

SETTINGS: Final = (
    "kernel/core_pattern",
    "kernel/hostname",
    "kernel/randomize_va_space",
    "vm/swappiness",
    "fs/suid_dumpable",
)
READABLE_SETTINGS: Final = tuple(name for name in SETTINGS if os.access(f"/proc/sys/{name}", os.R_OK))


def settings() -> dict[str, str]:
    """The kernel's settings that an agent goes for."""
    return {name: Path("/proc/sys", name).read_text() for name in READABLE_SETTINGS}


def decides(desk: Desk) -> list[Path]:
    """Each thing that decides about the sandbox, and something precious."""
    return [
        desk.config,
        desk.root / "a" / "state.json",
        desk.root / "a" / "run.jsonl",
        desk.tool.sandbox_program,
        desk.tool.python,
        desk.tool.standard_library / "os.py",
        desk.tool.command,
        desk.tool.package / "core" / "rule.py",
        desk.tool.site / "msgspec" / "__init__.py",
        desk.other / "precious",
    ]


# Files


def test_nothing_that_decides_can_be_written_in_any_way(desk: Desk) -> None:
    """Configuration, state, log, sandbox program, interpreter, package, and what is only precious."""
    before, runs = desk.guarded(), (desk.root / "a" / "run.jsonl").read_bytes()
    ended = desk.step(desk.agent("files", *decides(desk)))
    assert ended.status == 0, ended
    report = desk.report()
    assert len(report) == 11 * len(decides(desk))
    assert done(report) == []
    assert desk.guarded() == before
    assert (desk.root / "a" / "run.jsonl").read_bytes().startswith(runs)
    assert desk.launched_in_the_sandbox()
    assert desk.state()["sandbox_pin"]["mode"] == "required"


def test_control_without_a_sandbox_the_same_agent_writes_all_of_it(desk: Desk) -> None:
    """Only what is on the desk: the installation serves other tests."""
    assert desk.run("d", mode="disabled").status == 0
    victims = [
        desk.config,
        desk.root / "a" / "state.json",
        desk.root / "a" / "run.jsonl",
        desk.other / "precious",
    ]
    assert desk.call("step", "d", "--", *desk.agent("files", *victims)).status in {0, 65, 74}
    report = desk.report()
    for victim in victims:
        assert len([name for name in done(report) if name.endswith(str(victim))]) >= 3, report


def test_the_folder_of_all_runs_is_hidden_and_gives_nothing_away(desk: Desk) -> None:
    ended = desk.step(desk.agent("sockets", desk.root, "/run", "/tmp"))  # noqa: S108 - the sandbox's own
    assert ended.status == 0, ended
    report = desk.report()
    resolver = "systemd resolvconf NetworkManager"
    assert (report[f"in {desk.root}"], report["in /tmp"]) == ("", "")
    assert set(report["in /run"].split()) <= set(resolver.split())


def test_mounts_namespaces_and_devices_lead_nowhere(desk: Desk) -> None:
    """Remounts by the old and the new calls, bind mounts, setns, chroot, nested user namespaces, mknod."""
    before, mounts = desk.guarded(), Path("/proc/self/mountinfo").read_text()
    ended = desk.step(desk.agent("mounts", desk.other, desk.other / "precious"))
    assert ended.status == 0, ended
    report = desk.report()
    assert len(report) > 30
    assert done(report) == []
    assert desk.guarded() == before
    assert Path("/proc/self/mountinfo").read_text() == mounts


@pytest.mark.faults
def test_control_with_its_capabilities_a_root_s_agent_gets_out_by_a_mount(desk: Desk) -> None:
    """What the profile drops is what holds: the same agent, and a sandbox that drops nothing."""
    if desk.tool.who.uid != 0:
        pytest.skip("an ordinary user has none to drop")
    program = [str(desk.tool.sandbox_program), "--unshare-user", "--unshare-pid", "--die-with-parent"]
    program += ["--ro-bind", "/", "/", "--proc", "/proc", "--bind", str(desk.work), str(desk.work)]
    program += ["--chdir", str(desk.work), "--"]
    ended = end_of(desk.start_program([*program, *desk.agent("mounts", desk.other, desk.other / "precious")]))
    assert ended.status == 0, ended
    assert {f"remount {desk.other.parent}", "write", "mount namespace"} & set(done(desk.report()))


def test_the_kernel_s_settings_can_t_be_written_not_even_to_what_they_are(desk: Desk) -> None:
    before = settings()
    ended = desk.step(desk.agent("settings", *READABLE_SETTINGS))
    assert ended.status == 0, ended
    report = desk.report()
    assert set(READABLE_SETTINGS) <= report.keys()
    assert done(report) == []
    assert settings() == before


def test_only_the_workspace_and_the_sandbox_s_own_mounts_are_writable(desk: Desk) -> None:
    """And of /proc nothing but what is each process's own, and what only wakes whoever opened it."""
    assert desk.step(desk.agent("settings")).status == 0
    report = desk.report()
    own = {str(desk.work), "/tmp", "/dev", "/dev/pts", "/dev/shm", "/dev/console", "/proc"}  # noqa: S108 - the sandbox's own
    devices = {f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty")}
    assert set(report["writable mounts"].split()) <= own | devices
    alarms = {f"/proc/pressure/{name}" for name in ("cpu", "io", "irq", "memory")}
    by_a_right_alone = {"/proc/mtrr"}  # whoever may open it: each write asks for a capability
    assert set(report["writable in /proc"].split()) <= alarms | by_a_right_alone


# Processes


def test_the_controller_can_t_be_seen_read_traced_or_signalled(desk: Desk) -> None:
    """A secret of the controller alone stays its own. What is not ours in its environment is inherited."""
    environment = {**desk.environment(), SECRET: "the-controller-s-own", "INHERITED": "an-api-key"}
    process = desk.start(
        *desk.step_words(desk.agent("processes", "the-controller-", "s-own")), env=environment
    )
    assert process.pid > 100
    aside = desk.work / "controller.aside"
    _ = aside.write_text(str(process.pid))
    _ = aside.rename(desk.work / "controller")
    ended = end_of(process)
    assert ended.status == 0, ended
    report = desk.report()
    assert len(report) == 12
    assert done(report) == []


def test_the_inherited_environment_is_what_is_promised(desk: Desk) -> None:
    environment = {**desk.environment(), SECRET: "x", "INHERITED": "an-api-key"}
    assert desk.step(["sh", "-c", "env > told"], env=environment).status == 0
    lines = (desk.work / "told").read_text().splitlines()
    assert "INHERITED=an-api-key" in lines
    assert [line for line in lines if line.startswith("SANDBOX_PIN_")] == ["SANDBOX_PIN_LAUNCH=a"]


def ends(desk: Desk, how: str, *, run: str = "a") -> tuple[int, list[int]]:
    """Launches an agent that leaves a process behind; the status, and who was left, who is then ended."""
    words = ["step", run] if run == "d" else ["step", run, "--config", str(desk.config)]
    # No pipe: whoever is left holds it open.
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with desk.start(*words, "--", *desk.agent("leftover", how, desk.home), **quiet) as process:
        status = process.wait(PATIENCE)
    left = living(desk.home)
    for pid in left:
        with suppress(ProcessLookupError):  # the first inside takes the others with it
            os.kill(pid, signal.SIGKILL)
    return status, left


def test_a_process_that_leaves_its_session_is_gone_when_the_command_has_ended(desk: Desk) -> None:
    """Forked twice, with a session of its own, heeding no signal."""
    assert ends(desk, "daemon") == (0, [])
    last = (desk.work / "beat").read_text()
    time.sleep(0.1)
    assert (desk.work / "beat").read_text() == last


@only_x86_64
def test_a_process_that_rewrites_the_sandbox_s_first_process_is_gone_too(desk: Desk) -> None:
    """It makes that forget to die, and report an end: the command sees to its sandbox's end all the same."""
    ended = ends(desk, "tracer")
    assert (desk.work / "leftover").read_text() == "did"
    assert ended == (0, [])


def test_a_killed_controller_takes_the_whole_launch_with_it(desk: Desk) -> None:
    process = desk.start(*desk.step_words(desk.agent("leftover", "daemon-and-wait", desk.home)))
    wait_until((desk.work / "beat").exists)
    process.kill()
    _ = end_of(process)
    wait_until(lambda: not living(desk.home))
    assert desk.call("unblock", "a", "--config", desk.config).status == 0


@only_x86_64
def test_a_killed_controller_takes_one_that_rewrites_the_first_process_with_it_too(desk: Desk) -> None:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    told = desk.work / "leftover"
    words = desk.step_words(desk.agent("leftover", "tracer-and-wait", desk.home))
    with desk.start(*words, **quiet) as process:
        wait_until(lambda: told.exists() and told.read_text() not in {"", "began"})
        process.kill()
        _ = process.wait(PATIENCE)
    assert told.read_text() == "did"
    wait_until(lambda: not living(desk.home))


def test_control_without_a_sandbox_such_a_process_lives_on(desk: Desk) -> None:
    assert desk.run("d", mode="disabled").status == 0
    status, left = ends(desk, "daemon", run="d")
    assert status == 0
    assert left


# What it is handed


def test_descriptors_that_the_operator_left_open_are_not_handed_on(desk: Desk) -> None:
    """A file that is open for writing, and the folder of all runs."""
    secret = desk.other / "precious"
    before = look(secret)
    with secret.open("r+b") as file:
        folder = os.open(desk.root, os.O_RDONLY | os.O_DIRECTORY)
        os.dup2(file.fileno(), 57)
        os.dup2(folder, 58)
        try:
            ended = desk.step(["sh", "-c", "exec > told; ls /proc/$$/fd; echo x >&57"], pass_fds=(57, 58))
        finally:
            for number in (57, 58, folder):
                os.close(number)
    assert ended.status == 2, ended
    assert (desk.work / "told").read_text().split() == ["0", "1", "2"]
    assert look(secret) == before


def test_the_sandbox_s_report_can_t_be_forged(desk: Desk) -> None:
    ended = desk.step(desk.agent("nothing", "7"))
    assert ended.status == 7, ended
    assert (desk.work / "descriptors").read_text().split() == ["0", "1", "2", "3"]  # the last: its own look
    last = desk.log()[-1]
    assert (last["event"], last["ran"], last["exit_code"]) == ("launch_ended", True, 7)
    assert desk.state()["status"] == "blocked"


BEGIN: Final = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_it_can_t_type_into_the_operator_s_terminal(desk: Desk) -> None:
    """The controller has it as its own; the launch has another session where the kernel would let it type."""
    operator, terminal = pty.openpty()
    attributes = termios.tcgetattr(terminal)
    attributes[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(terminal, termios.TCSANOW, attributes)
    try:
        os.fchown(terminal, desk.tool.who.uid, -1)
        words = [
            sys.executable if desk.tool.who.switched_to is None else str(desk.tool.python),
            "-IBc",
            BEGIN,
        ]
        words += [str(desk.tool.command), *desk.step_words(desk.agent("terminal"))]
        ended = end_of(desk.start_program(words, stdin=terminal))
        assert ended.status == 0, ended
        report = desk.report()
        assert report["is a terminal"] == "True"
        assert not {"its input", "by its name", "taken over"} & set(done(report)), report
        os.set_blocking(terminal, False)
        with pytest.raises(BlockingIOError):
            _ = os.read(terminal, 1)
    finally:
        os.close(operator)
        os.close(terminal)


# Rights


def test_programs_that_give_rights_give_none(desk: Desk) -> None:
    """A setuid program runs with the agent's own rights."""
    with scratch(desk.tool.who) as folder:
        program = Path(shutil.copy("/usr/bin/id", folder / "id"))
        if os.getuid() == 0:
            os.chown(program, 0, 0)
        program.chmod(0o4755)
        ended = desk.step(desk.agent("rights", program))
    assert ended.status == 0, ended
    report = desk.report()
    assert report["uid by a setuid program"] == report["uid"] == str(desk.tool.who.uid)
    assert set(done(report)) <= {"leave a setuid program"}


@pytest.mark.faults
def test_control_without_a_sandbox_a_setuid_program_gives_its_owner_s_rights(desk: Desk) -> None:
    if os.getuid() != 0 or desk.tool.who.uid == 0:
        pytest.skip("needs root to make one, and another to run it")
    assert desk.run("d", mode="disabled").status == 0
    with scratch(desk.tool.who) as folder:
        program = Path(shutil.copy("/usr/bin/id", folder / "id"))
        os.chown(program, 0, 0)
        program.chmod(0o4755)
        assert desk.call("step", "d", "--", str(program), "-u").out == "0\n"


# The tool itself


def test_the_tool_used_from_inside_changes_no_run(desk: Desk) -> None:
    """With the marker it refuses; without, there is no run to be found, and none can be made."""
    tool, flag = str(desk.tool.command), f"{FLAG}=disabled"
    lines = [
        [tool, "step", "--runs", str(desk.root), "a", "--mode", "disabled", FLAG, "--", "true"],
        [tool, "step", "--runs", str(desk.root), "a", "--mode", "disabled", flag, "--", "true"],
        [tool, "resume", "--runs", str(desk.root), "a", FLAG],
        [tool, "unblock", "--runs", str(desk.root), "a", FLAG],
        [tool, "recover", "--runs", str(desk.root), "a"],
        [
            tool,
            "run",
            "--runs",
            str(desk.root),
            "--id",
            "b",
            "--parent",
            "a",
            "--mode",
            "disabled",
            FLAG,
            "--",
            "true",
        ],
        [tool, "run", "--runs", str(desk.root), "--id", "b", "--mode", "required", "--", "true"],
    ]
    before, log = desk.guarded(), (desk.root / "a" / "run.jsonl").read_bytes()
    ended = desk.step(desk.agent("again", json.dumps(lines)))
    assert ended.status == 0, ended
    told = json.loads((desk.work / "report.json").read_bytes())
    assert len(told) == 2 * len(lines)
    for words, marked, status, said in told:
        flagged = FLAG in words or flag in words or "recover" in words
        assert status == 77 if marked and flagged else status in {64, 69, 74, 78}, (
            words,
            marked,
            status,
            said,
        )
    assert desk.guarded() == before
    assert [path.name for path in desk.root.iterdir()] == ["a"]
    events = [entry["event"] for entry in desk.log()]
    assert events[-2:] == ["launch_started", "launch_ended"]
    assert (desk.root / "a" / "run.jsonl").read_bytes().startswith(log)
    assert not any("accepted" in event for event in events)
    assert desk.state()["sandbox_pin"]["mode"] == "required"


# Names


def test_it_can_t_rename_what_it_works_in_nor_put_a_link_there(desk: Desk) -> None:
    before = (desk.guarded(), desk.work.stat().st_ino)
    ended = desk.step(desk.agent("swap", desk.config.parent, "x"))
    assert ended.status == 0, ended
    report = desk.report()
    assert len(report) >= 10
    assert done(report) == []
    assert (desk.guarded(), desk.work.stat().st_ino) == before
    assert not desk.work.is_symlink()


def swapped(desk: Desk, target: Path) -> None:
    """An agent of the run `a` has put a link in the place of a folder of its own."""
    (desk.work / "x").mkdir()
    if desk.tool.who.switched_to is not None:
        os.chown(desk.work / "x", desk.tool.who.switched_to, -1)
    ended = desk.step(desk.agent("swap", target, "x"))
    assert ended.status == 0, ended
    assert (desk.work / "x").readlink() == target


def refused(desk: Desk, *words: str | Path) -> str:
    """A command that is refused for where something lies, and changes nothing; what it said."""
    before = look(desk.home)
    ended = desk.call(*words, "--", "touch", desk.work / "launched")
    assert ended.status == 78, ended
    assert look(desk.home) == before
    return ended.err


@pytest.mark.parametrize("tree", ["the same run's", "another run's"])
def test_a_link_that_an_agent_put_in_its_workspace_opens_no_configuration(desk: Desk, tree: str) -> None:
    """The next command that is given the link as a writable folder is refused, naming what it would open."""
    other = desk.home / "projects" / "b"
    other.mkdir()
    swapped(desk, desk.config.parent)
    words: list[str | Path] = ["step", "a"]
    if tree == "another run's":
        words = ["run", "--id", "b", "--workspace", other]
    said = refused(desk, *words, "--config", desk.config, "--writable", desk.work / "x")
    assert str(desk.config) in said
    assert str(desk.work / "x") in said


def test_a_link_out_of_a_workspace_is_no_writable_folder_of_the_same_run(desk: Desk) -> None:
    """Also where nothing that decides lies behind it."""
    swapped(desk, desk.other)
    said = refused(desk, "step", "a", "--config", desk.config, "--writable", desk.work / "x")
    assert str(desk.work / "x") in said


def test_a_workspace_below_another_run_s_is_not_followed_to_where_that_run_points_it(desk: Desk) -> None:
    """The run keeps the real path of its workspace: a link on it came later."""
    inner = desk.work / "x"
    inner.mkdir()
    os.chown(inner, desk.tool.who.uid, -1)
    made = desk.call("run", "--id", "b", "--config", desk.config, "--workspace", inner, "--", "true")
    assert made.status == 0, made
    swapped_words = desk.agent("swap", desk.other, "x")
    assert desk.step(swapped_words).status == 0
    before = look(desk.other)
    ended = desk.step(["sh", "-c", "touch escaped"], "b")
    assert look(desk.other) == before, ended
    assert ended.status == 78, ended


# Places that only look like the host's


def test_what_fills_the_private_folders_is_not_on_the_host(desk: Desk) -> None:
    places = [Path("/tmp"), Path("/dev/shm")]  # noqa: S108 - the sandbox's own
    assert desk.step(desk.agent("fill", str(8 << 20), *places)).status == 0
    assert done(desk.report()) == [str(place) for place in places]
    assert not any((place / "filled-by-an-agent").exists() for place in places)


def test_sockets_in_hidden_folders_can_t_be_reached(desk: Desk) -> None:
    """In the folder of all runs here; in /run for the same reason."""
    with socket.socket(socket.AF_UNIX) as listener:
        path = desk.root / "s"
        listener.bind(str(path))
        listener.listen()
        path.chmod(0o777)
        ended = desk.step(desk.agent("sockets", path))
        path.unlink()
    assert ended.status == 0, ended
    assert done(desk.report()) == []
