"""One launch: held until it is known, handed nothing that is not its own, ended with its controller."""

import fcntl
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec
import pytest

from sandbox_pin import SandboxMode
from sandbox_pin.core.gate import Enforce, RunUnenforced
from sandbox_pin.errors import InsideLaunchError, StorageError
from sandbox_pin.shell import held_launch
from sandbox_pin.shell.bubblewrap import Profile
from sandbox_pin.shell.held_launch import LaunchEnd, signals_for_launch
from sandbox_pin.shell.launch import (
    MARKER,
    hold_launch,
    launch_arguments,
    refuse_inside_a_launch,
    wants_new_session,
)
from sandbox_pin.shell.processes import identify, is_alive
from sandbox_pin.shell.programs import Command
from sandbox_pin.shell.spawn import spawn
from shell.support import (
    PATIENCE,
    capable_program,
    children,
    launched,
    open_descriptors,
    python_process,
    read_line,
    wait_until,
)

Gate = Enforce | RunUnenforced
UNENFORCED: Final = RunUnenforced(asked=SandboxMode.DISABLED, why="the mode is disabled")


@pytest.fixture(params=["enforced", "unenforced"])
def gate(request: pytest.FixtureRequest, tmp_path: Path) -> Gate:
    """What the gate said: both ways of launching keep the same laws."""
    if request.param == "unenforced":
        return UNENFORCED
    return Enforce(asked=SandboxMode.REQUIRED, backend="bubblewrap", program=capable_program(tmp_path))


@pytest.fixture
def enforced(tmp_path: Path) -> Enforce:
    """A launch in a real sandbox."""
    return Enforce(asked=SandboxMode.REQUIRED, backend="bubblewrap", program=capable_program(tmp_path))


def run(gate: Gate, workspace: Path, script: str) -> LaunchEnd:
    """Runs a shell script as a launch in this workspace."""
    return launched(gate, Profile(workspace=str(workspace)), script)


def told(gate: Gate, workspace: Path, script: str) -> list[str]:
    """The lines that a script writes; it must end well."""
    assert run(gate, workspace, f"exec > out; {script}") == LaunchEnd(ran=True, exit_code=0)
    return (workspace / "out").read_text().splitlines()


# The end


@pytest.mark.parametrize("code", [0, 1, 42, 126, 127, 255])
def test_the_command_s_exit_status_passes(gate: Gate, tmp_path: Path, code: int) -> None:
    end = run(gate, tmp_path, f"exit {code}")
    assert end == LaunchEnd(ran=True, exit_code=code)
    assert end.succeeded == (code == 0)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_the_signal_that_ended_it_is_told(gate: Gate, tmp_path: Path, number: signal.Signals) -> None:
    """Under bwrap as a shell tells it, by its status."""
    end = run(gate, tmp_path, f"ulimit -c 0; kill -{number.value} $$")
    if isinstance(gate, Enforce):
        assert end == LaunchEnd(ran=True, exit_code=128 + number)
    else:
        assert end == LaunchEnd(ran=True, signal=number)
    assert not end.succeeded


def test_a_program_that_can_t_be_run_did_not_run(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"\0\0\0\0")
    program.chmod(0o755)
    with signals_for_launch() as mask:
        command = Command(program=str(program), words=("program",))
        end = hold_launch(UNENFORCED, command, Profile(workspace=str(tmp_path)), run="r", mask=mask).run()
    assert end == LaunchEnd(ran=False, failure="Exec format error")
    assert not end.succeeded


@pytest.mark.parametrize("what", ["a program in /tmp", "a folder that is gone", "no bwrap"])
def test_the_sandbox_s_own_failure_is_not_the_command_s(enforced: Enforce, tmp_path: Path, what: str) -> None:
    """It ends with 1 then, as a command may."""
    program, gate = "/bin/true", enforced
    profile = Profile(workspace=str(tmp_path))
    match what:
        case "a program in /tmp":
            outside = tmp_path.parent / "program"
            outside.write_text("#!/bin/sh\nexit 0\n")
            outside.chmod(0o755)
            program = str(outside)
        case "a folder that is gone":
            profile = Profile(workspace=str(tmp_path), writable=(str(tmp_path / "gone"),))
        case _:
            gate = Enforce(asked=SandboxMode.REQUIRED, backend="bubblewrap", program=str(tmp_path / "bwrap"))
    with signals_for_launch() as mask:
        command = Command(program=program, words=("true",))
        end = hold_launch(gate, command, profile, run="r", mask=mask).run()
    assert (end.ran, end.exit_code, end.signal) == (False, None, None)
    assert end.failure
    assert not end.succeeded


def test_a_workspace_that_is_gone_is_told(gate: Gate, tmp_path: Path) -> None:
    end = run(gate, tmp_path / "gone", "true")
    assert (end.ran, end.failure) == (False, "No such file or directory")


def test_a_system_without_room_for_a_process_is_a_failure_of_storage(
    gate: Gate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", fail)
    with pytest.raises(StorageError, match="no process could be started"):
        run(gate, tmp_path, "true")


def test_launching_leaves_no_descriptor_and_no_process(gate: Gate, tmp_path: Path) -> None:
    before, others = open_descriptors(), children()
    run(gate, tmp_path, "true")
    run(gate, tmp_path / "gone", "true")
    assert open_descriptors() == before
    assert children() == others


def test_a_start_that_fails_leaves_no_descriptor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that calls this again and again must not run out of them."""

    def fail() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", fail)
    before = open_descriptors()
    with pytest.raises(StorageError):
        run(UNENFORCED, tmp_path, "true")
    left = open_descriptors() - before
    for number in left:
        os.close(number)
    assert left == set()


# What it is handed


def test_it_starts_in_its_workspace(gate: Gate, tmp_path: Path) -> None:
    assert told(gate, tmp_path, "pwd") == [str(tmp_path)]


def test_the_marker_is_set_and_nothing_else_of_ours(
    gate: Gate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANDBOX_PIN_RUNS", "/runs")
    monkeypatch.setenv("SANDBOX_PIN_LAUNCH", "outer")
    monkeypatch.setenv("SANDBOX_PIN_", "x")
    monkeypatch.setenv("SANDBOX_PINS", "kept")
    monkeypatch.setenv("API_KEY", "kept")
    lines = told(gate, tmp_path, "env")
    assert [line for line in lines if line.startswith("SANDBOX_PIN_")] == [f"{MARKER}=r"]
    assert {"SANDBOX_PINS=kept", "API_KEY=kept"} <= set(lines)


def test_no_descriptor_is_inherited_but_the_standard_ones(gate: Gate, tmp_path: Path) -> None:
    """Neither what the operator's shell left open, nor the sandbox's own report."""
    with (tmp_path / "secret").open("w+") as file:
        assert 57 not in open_descriptors()
        os.dup2(file.fileno(), 57, inheritable=True)
        try:
            assert told(gate, tmp_path, "ls /proc/$$/fd; true") == ["0", "1", "2"]
        finally:
            os.close(57)


def test_the_end_can_t_be_forged(enforced: Enforce, tmp_path: Path) -> None:
    """The command writes its own report wherever it finds an open descriptor, the sandbox's too."""
    script = """
        for file in /proc/[0-9]*/fd/*; do
            case $file in
                */[012]) ;;
                *) (echo '{"exit-code": 0}' >> $file) 2> errors ;;
            esac
        done
        exit 42
    """
    assert run(enforced, tmp_path, script) == LaunchEnd(ran=True, exit_code=42)


def test_python_s_own_signal_settings_are_not_handed_on(gate: Gate, tmp_path: Path) -> None:
    """It ignores two that programs count on; whoever is told to ignore one himself keeps that."""
    before = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    try:
        (line,) = told(gate, tmp_path, "grep SigIgn /proc/self/status")
        (blocked,) = told(gate, tmp_path, "grep SigBlk /proc/self/status")
    finally:
        signal.signal(signal.SIGUSR1, before)
    ignored = int(line.split()[1], 16)
    assert ignored & 1 << signal.SIGUSR1 - 1
    assert not ignored & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1)
    assert int(blocked.split()[1], 16) == 0


def test_the_arguments_for_a_program_that_starts_its_own_processes(enforced: Enforce) -> None:
    words = ["/bin/echo", "-n"]
    profile = Profile(workspace="/work")
    assert launch_arguments(UNENFORCED, words, profile) == words
    arguments = launch_arguments(enforced, words, profile)
    assert arguments[0] == enforced.program
    assert arguments[-3:] == ["--", *words]
    assert "--json-status-fd" not in arguments
    assert "--json-status-fd" in launch_arguments(enforced, words, profile, status=7)


def test_a_launch_may_not_do_what_is_the_operator_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(MARKER, raising=False)
    refuse_inside_a_launch("recover")
    for value in ("r", ""):
        monkeypatch.setenv(MARKER, value)
        with pytest.raises(InsideLaunchError, match="recover is refused from inside a launch"):
            refuse_inside_a_launch("recover")


# Held, released, abandoned


def test_a_held_launch_is_a_process_that_has_not_run(gate: Gate, tmp_path: Path) -> None:
    command = Command(program="/bin/sh", words=("sh", "-c", "echo x > ran"))
    with signals_for_launch() as mask:
        held = hold_launch(gate, command, Profile(workspace=str(tmp_path)), run="r", mask=mask)
        assert is_alive(held.process)
        time.sleep(0.05)
        assert not (tmp_path / "ran").exists()
        assert held.run() == LaunchEnd(ran=True, exit_code=0)
        assert not is_alive(held.process)
    assert (tmp_path / "ran").exists()


def test_an_abandoned_launch_never_runs(gate: Gate, tmp_path: Path) -> None:
    command = Command(program="/bin/sh", words=("sh", "-c", "echo x > ran"))
    before = open_descriptors()
    with signals_for_launch() as mask:
        held = hold_launch(gate, command, Profile(workspace=str(tmp_path)), run="r", mask=mask)
        held.abandon()
    assert not is_alive(held.process)
    assert list(tmp_path.iterdir()) == []
    assert open_descriptors() == before


def test_a_child_that_was_killed_while_it_was_held_is_told_by_its_end(tmp_path: Path) -> None:
    child = spawn(["/bin/true"], environment={}, folder=str(tmp_path))
    assert not child.poll()
    os.kill(child.pid, signal.SIGKILL)
    child.release()
    assert child.wait() == -signal.SIGKILL


def test_a_child_s_standard_descriptors_are_those_that_it_is_given(tmp_path: Path) -> None:
    with (tmp_path / "out").open("wb") as out, Path("/dev/null").open("rb") as null:
        child = spawn(
            ["/bin/sh", "-c", "echo out; echo error >&2; pwd; env | grep ONLY"],
            environment={"ONLY": "this"},
            folder=str(tmp_path),
            standard=(null.fileno(), out.fileno(), out.fileno()),
        )
        child.release()
        assert child.told() == b""
        assert child.wait() == 0
    assert (tmp_path / "out").read_text().split() == ["out", "error", str(tmp_path), "ONLY=this"]


# The controller

CONTROLLER: Final = """
import json, os, sys
import msgspec
from sandbox_pin.core.gate import Enforce, RunUnenforced
from sandbox_pin.shell.bubblewrap import Profile
from sandbox_pin.shell.held_launch import signals_for_launch
from sandbox_pin.shell.launch import hold_launch, wants_new_session
from sandbox_pin.shell.programs import Command

gate = msgspec.json.decode(sys.argv[1], type=Enforce | RunUnenforced)
command = Command(program="/bin/sh", words=("sh", "-c", sys.argv[3]))
profile = Profile(workspace=sys.argv[2], new_session=wants_new_session())
with signals_for_launch() as mask:
    held = hold_launch(gate, command, profile, run=os.environ["RUN"], mask=mask)
    print(held.process.pid, flush=True)
    sys.stdin.readline()
    end = held.run()
    print(msgspec.json.encode(end).decode(), flush=True)
"""


def name_of(workspace: Path) -> str:
    """A run's id that no other test has."""
    return f"r{os.getpid()}-{workspace.parent.name}-{workspace.name}"


def processes_of(workspace: Path) -> list[int]:
    """The processes whose environment says that they are of this launch."""
    marker = f"{MARKER}={name_of(workspace)}\0".encode()
    found: list[int] = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                environment = (folder / "environ").read_bytes()
            except OSError:
                continue
            if marker in environment:
                found.append(int(folder.name))
    return found


def end_processes_of(workspace: Path) -> None:
    """Ends whatever is left of a launch, and what that had just started."""
    while found := processes_of(workspace):
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@contextmanager
def controller(
    gate: Gate, workspace: Path, script: str, *, under: tuple[str, ...] = (), release: bool = True
) -> Iterator[subprocess.Popen[str]]:
    """A process that controls a launch, in the middle of it; whatever is left of it is ended."""
    with python_process(
        CONTROLLER,
        msgspec.json.encode(gate).decode(),
        str(workspace),
        script,
        under=under,
        environment={"RUN": name_of(workspace)},
    ) as process:
        try:
            assert int(read_line(process)) > 0
            if release:
                assert process.stdin is not None
                process.stdin.write("\n")
                process.stdin.flush()
                wait_until((workspace / "ready").exists)
            yield process
        finally:
            end_processes_of(workspace)


def end_of(process: subprocess.Popen[str]) -> LaunchEnd:
    """How the controller says that the launch ended."""
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    return msgspec.json.decode(output.splitlines()[-1], type=LaunchEnd)


WAITING: Final = "touch ready; while :; do sleep 0.02; done"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_what_the_controller_is_told_reaches_the_command(
    gate: Gate, tmp_path: Path, number: signal.Signals
) -> None:
    """The command ends as it likes; the launch is told as interrupted, and is no success."""
    name = number.name.removeprefix("SIG")
    with controller(gate, tmp_path, f"trap 'echo {name} > got; exit 0' {name}; {WAITING}") as process:
        process.send_signal(number)
        end = end_of(process)
    assert end == LaunchEnd(ran=True, exit_code=0, interrupted=True)
    assert not end.succeeded
    assert (tmp_path / "got").read_text() == f"{name}\n"


def test_a_command_that_does_not_heed_it_goes_on_as_interrupted(gate: Gate, tmp_path: Path) -> None:
    script = "trap 'echo x >> got' TERM; touch ready; while ! test -e go; do sleep 0.02; done; exit 7"
    with controller(gate, tmp_path, script) as process:
        got = tmp_path / "got"
        process.send_signal(signal.SIGTERM)
        wait_until(lambda: got.exists() and got.read_text() == "x\n")
        process.send_signal(signal.SIGTERM)
        wait_until(lambda: got.read_text() == "x\nx\n")
        assert process.poll() is None
        (tmp_path / "go").touch()
        assert end_of(process) == LaunchEnd(ran=True, exit_code=7, interrupted=True)


def test_a_command_without_a_handler_is_ended_by_it(gate: Gate, tmp_path: Path) -> None:
    with controller(gate, tmp_path, "touch ready; exec sleep 60") as process:
        process.send_signal(signal.SIGTERM)
        end = end_of(process)
    assert (end.ran, end.interrupted, end.succeeded) == (True, True, False)
    assert (end.exit_code, end.signal) in {(128 + signal.SIGTERM, None), (None, signal.SIGTERM)}


def test_what_the_controller_ignores_stays_ignored(gate: Gate, tmp_path: Path) -> None:
    """nohup(1): neither controller nor command is told."""
    script = "touch ready; while ! test -e go; do sleep 0.02; done; grep SigIgn /proc/self/status > out"
    with controller(gate, tmp_path, script, under=("sh", "-c", "trap '' HUP; exec \"$@\"", "x")) as process:
        process.send_signal(signal.SIGHUP)
        time.sleep(0.1)
        (tmp_path / "go").touch()
        assert end_of(process) == LaunchEnd(ran=True, exit_code=0)
    assert int((tmp_path / "out").read_text().split()[1], 16) & 1 << signal.SIGHUP - 1


def test_a_signal_that_comes_while_the_launch_is_held_reaches_the_command(tmp_path: Path) -> None:
    with controller(UNENFORCED, tmp_path, "touch ran; exec sleep 60", release=False) as process:
        process.send_signal(signal.SIGTERM)
        end = end_of(process)
    assert (end.ran, end.signal, end.interrupted) == (True, signal.SIGTERM, True)


def test_a_killed_controller_leaves_no_process_of_a_sandbox(enforced: Enforce, tmp_path: Path) -> None:
    """Not the command, nor what it started, not even in another session and without a parent."""
    script = "setsid sh -c 'sleep 60 & sleep 60' & (trap '' TERM HUP; sleep 60) & touch ready; wait"
    with controller(enforced, tmp_path, script) as process:
        wait_until(lambda: len(processes_of(tmp_path)) >= 5)
        process.kill()
        process.wait()
        wait_until(lambda: processes_of(tmp_path) == [])


def test_a_killed_controller_leaves_no_unenforced_command(tmp_path: Path) -> None:
    """The command's own children are not covered: that is what logical isolation means."""
    with controller(UNENFORCED, tmp_path, "trap '' TERM HUP; touch ready; exec sleep 60") as process:
        assert len(processes_of(tmp_path)) == 1
        process.kill()
        process.wait()
        wait_until(lambda: processes_of(tmp_path) == [])


KILLED_AT_RELEASE: Final = CONTROLLER.replace(
    "    end = held.run()", "    held._guardian.release()\n    os.kill(os.getpid(), 9)"
)


def test_a_controller_that_is_killed_as_it_releases_leaves_no_process(gate: Gate, tmp_path: Path) -> None:
    """The command's program has just been started, and has not yet asked to die with its parent by itself."""
    for _ in range(5):
        with python_process(
            KILLED_AT_RELEASE,
            msgspec.json.encode(gate).decode(),
            str(tmp_path),
            "exec sleep 60",
            environment={"RUN": name_of(tmp_path)},
        ) as process:
            try:
                assert process.stdin is not None
                process.stdin.write("\n")
                process.stdin.flush()
                assert process.wait(PATIENCE) == -signal.SIGKILL
                wait_until(lambda: processes_of(tmp_path) == [])
            finally:
                end_processes_of(tmp_path)


def test_a_held_launch_never_runs_when_its_controller_dies(gate: Gate, tmp_path: Path) -> None:
    with controller(gate, tmp_path, "touch ran", release=False) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert len(children) == 1
        process.kill()
        process.wait()
        wait_until(lambda: identify(int(children[0])) is None)
    assert list(tmp_path.iterdir()) == []


def test_the_mask_is_as_before_when_the_launch_has_ended(tmp_path: Path) -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    with signals_for_launch() as mask:
        assert mask == before
        assert signal.pthread_sigmask(signal.SIG_BLOCK, []) >= {signal.SIGTERM, signal.SIGINT, signal.SIGCHLD}
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before


# The terminal

TIOCSTI: Final = 0x5412
REFUSED: Final = "/proc/sys/dev/tty/legacy_tiocsti"


@contextmanager
def terminal_as_input() -> Iterator[None]:
    """A terminal in the place of standard input."""
    controller_end, terminal = pty.openpty()
    before = os.dup(0)
    try:
        os.dup2(terminal, 0)
        yield
    finally:
        os.dup2(before, 0)
        for descriptor in (controller_end, terminal, before):
            os.close(descriptor)


def test_without_a_terminal_a_launch_has_a_session_of_its_own() -> None:
    before = os.dup(0)
    with Path("/dev/null").open("rb") as null:
        os.dup2(null.fileno(), 0)
        try:
            assert wants_new_session()
        finally:
            os.dup2(before, 0)
            os.close(before)


def test_a_terminal_is_shared_only_where_the_kernel_refuses_to_type_into_it() -> None:
    path = Path(REFUSED)
    allowed = not path.exists() or path.read_text().strip() != "0"
    with terminal_as_input():
        assert wants_new_session() == allowed


TYPING: Final = """
exec > out
perl -e 'open(T, "<", "/dev/tty") and print "opened\\n"; ioctl(STDIN, 0x5412, $x = "x") and print "typed\\n"'
true
"""


@pytest.mark.skipif(not Path("/usr/bin/perl").exists(), reason="needs perl to ask the kernel from inside")
def test_a_command_can_t_type_into_the_operator_s_terminal(enforced: Enforce, tmp_path: Path) -> None:
    """The controller has the terminal as its own; the kernel or the new session keeps the command from it."""
    begin = "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
    controller_end, terminal = pty.openpty()
    attributes = termios.tcgetattr(terminal)
    attributes[3] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSANOW, attributes)
    process = subprocess.Popen(
        [sys.executable, "-c", begin + CONTROLLER, msgspec.json.encode(enforced), tmp_path, TYPING],
        stdin=terminal,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "RUN": name_of(tmp_path)},
    )
    with process:
        try:
            assert int(read_line(process)) > 0
            os.write(controller_end, b"\n")
            assert msgspec.json.decode(read_line(process), type=LaunchEnd) == LaunchEnd(ran=True, exit_code=0)
            wants_its_own = Path(REFUSED).read_text().strip() != "0" if Path(REFUSED).exists() else True
            assert (tmp_path / "out").read_text() == ("" if wants_its_own else "opened\n")
            fcntl.fcntl(terminal, fcntl.F_SETFL, os.O_NONBLOCK)
            with pytest.raises(BlockingIOError):
                os.read(terminal, 1)
        finally:
            process.kill()
            os.close(controller_end)
            os.close(terminal)


def test_the_terminal_s_own_signals_are_known_by_their_sender() -> None:
    """SI_KERNEL: the constant is the kernel's, and Python has no name for it."""
    assert held_launch._FROM_TERMINAL == 0x80  # noqa: SLF001 - the one number that is copied from the kernel
