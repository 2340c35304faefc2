"""The only place that starts an agent's process. It takes a gate decision, never a mode (design: "The gate").

The launch is held until the run's state knows its process. While it runs, what this process is told by
SIGINT, SIGTERM or SIGHUP goes to the command; they are taken one by one with sigwaitinfo(2), so that none is
lost between a look and a wait.
"""

import contextlib
import itertools
import os
import signal
from collections.abc import Generator
from io import FileIO
from signal import Signals
from typing import Final, assert_never

from msgspec import Struct

from sandbox_pin.core.gate import Enforce, RunUnenforced
from sandbox_pin.core.run_state import LaunchProcess
from sandbox_pin.errors import InsideLaunchError, StorageError
from sandbox_pin.shell.bubblewrap import Profile, end_sandbox, open_memory, read_report, sandbox_arguments
from sandbox_pin.shell.guardian import guard
from sandbox_pin.shell.processes import children_of, identify
from sandbox_pin.shell.programs import Command
from sandbox_pin.shell.spawn import Child, spawn

MARKER: Final = "SANDBOX_PIN_LAUNCH"
"""The variable that tells a launch that it is one; its value is the run's id. It is no boundary."""

_OURS: Final = "SANDBOX_PIN_"
_FORWARDED: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_HEARD: Final = (*_FORWARDED, signal.SIGCHLD)
_LOOK_AGAIN: Final = 1.0
_SOON: Final = 0.01
_FROM_TERMINAL: Final = 0x80
"""SI_KERNEL in sigaction(2): the terminal sent it, to each process of its foreground group."""


class LaunchEnd(Struct, frozen=True, kw_only=True):
    """How a launch ended.

    Attributes:
        ran: whether the command itself really ran.
        exit_code: its exit status, where it had one.
        signal: the signal that ended it, where one did.
        interrupted: whether this command was told to stop meanwhile.
        failure: why it did not run; ``None`` where it did.
    """

    ran: bool
    exit_code: int | None = None
    signal: Signals | None = None
    interrupted: bool = False
    failure: str | None = None

    @property
    def succeeded(self) -> bool:
        """Whether the run may go on with another step."""
        return self.ran and self.exit_code == 0 and not self.interrupted


def refuse_inside_a_launch(what: str) -> None:
    """Refuses what only the operator may do, where the marker says that a launch asks.

    An agent with a shell can take the marker away: this stops an honest mistake, and is no boundary.

    Raises:
        InsideLaunchError: the marker is set.
    """
    if MARKER in os.environ:
        raise InsideLaunchError(
            f"{what} is refused from inside a launch (of the run {os.environ[MARKER]})",
            remedy="It is the operator's to use, outside of any run.",
        )


def wants_new_session() -> bool:
    """Whether a launch must be kept from the terminal's input queue (TIOCSTI, ioctl_tty(2)).

    A terminal is needed for an agent that a person talks to; it is safe to hand on where the kernel refuses
    that request to all.
    """
    if not os.isatty(0):
        return True
    try:
        with open("/proc/sys/dev/tty/legacy_tiocsti", "rb") as file:
            return file.read().strip() != b"0"
    except OSError:
        return True


class HeldLaunch:
    """A launch whose guardian is there, but has not started it yet.

    Attributes:
        process: which process the guardian is, for the run's state; it lives as long as the launch does.
    """

    def __init__(
        self, guardian: Child, process: LaunchProcess, *, status: FileIO | None, shares_terminal: bool
    ) -> None:
        self.process = process
        self._guardian = guardian
        self._status = status
        self._shares_terminal = shares_terminal

    def abandon(self) -> None:
        """Ends it; the command never runs."""
        self._guardian.abandon()
        self._close()

    def run(self) -> LaunchEnd:
        """Lets the command run, and waits for its end."""
        self._guardian.release()
        interrupted = self._wait()
        what, _, number = self._guardian.told().partition(b" ")
        report = read_report(self._status) if self._status is not None else None
        self._close()
        if report is not None:
            end_sandbox(report)
        if what == b"failed":
            return LaunchEnd(ran=False, interrupted=interrupted, failure=os.strerror(int(number)))
        # A guardian that was killed has told nothing; what it started was killed with it.
        ended = int(number) if what == b"ended" else -signal.SIGKILL
        if report is None:
            return _end(ended, interrupted=interrupted)
        if report.exit_code is not None:
            return LaunchEnd(ran=True, exit_code=report.exit_code, interrupted=interrupted)
        if ended < 0 and report.child_pid is not None:
            return _end(ended, interrupted=interrupted)
        failure = (
            f"it, or the sandbox, could not be started: see what bwrap says above (it ended with {ended})"
        )
        return LaunchEnd(ran=False, interrupted=interrupted, failure=failure)

    def _wait(self) -> bool:
        """Waits for the end, handing on what this process is told; whether it was told to stop."""
        interrupted = False
        undelivered: list[int] = []
        while True:
            # With a time, as another thread of a program that calls this may be given the end's signal.
            got = signal.sigtimedwait(_HEARD, _LOOK_AGAIN if not undelivered else _SOON)
            if got is not None and got.si_signo != signal.SIGCHLD:
                interrupted = True
                # What the terminal sent to a launch in this very session, it has already.
                if not (self._shares_terminal and got.si_code == _FROM_TERMINAL):
                    undelivered.append(got.si_signo)
            if self._guardian.poll():
                return interrupted
            # What comes before the command is there waits for it.
            commands = self._commands() if undelivered else []
            for pid, number in itertools.product(commands, undelivered):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            if commands:
                undelivered = []

    def _commands(self) -> list[int]:
        """The command's process: the guardian's child, or under bwrap what the first one inside started."""
        if self._status is None:
            return children_of(self._guardian.pid)
        first = read_report(self._status).child_pid
        return [] if first is None else children_of(first)

    def _close(self) -> None:
        self._guardian.close()
        if self._status is not None:
            self._status.close()


@contextlib.contextmanager
def signals_for_launch(*, own_session: bool = False) -> Generator[set[Signals]]:
    """Keeps back what this process is told, for the launch; yields the mask that the launch starts with.

    A signal that this process ignores (nohup(1), a background job) stays ignored.

    Args:
        own_session: whether the launch gets a session of its own. Ctrl-Z is ignored then: were this process
            to stop alone, the command would go on, and read what is typed into the shell.
    """
    _ = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    stop = signal.signal(signal.SIGTSTP, signal.SIG_IGN) if own_session and os.isatty(0) else None
    heard = {number for number in _FORWARDED if signal.getsignal(number) is not signal.SIG_IGN}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*heard, signal.SIGCHLD})
    mask = {number for number in before if isinstance(number, Signals)}
    try:
        yield mask
    finally:
        _ = signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if stop is not None:
            _ = signal.signal(signal.SIGTSTP, stop)


def launch_arguments(
    gate: Enforce | RunUnenforced, command: list[str], profile: Profile, *, status: int | None = None
) -> list[str]:
    """The arguments of one launch, for a program that starts its processes itself.

    Args:
        gate: what the gate said; a refused launch has no arguments.
        command: the command, its program's absolute path first.
        profile: where it works, and what it may write.
        status: the descriptor that the sandbox reports on (``read_report``); ``None``: it does not.
    """
    match gate:
        case Enforce(program=program):
            return [*sandbox_arguments(program, profile, status=status), *command]
        case RunUnenforced():
            return command
        case _:
            assert_never(gate)


def hold_launch(
    gate: Enforce | RunUnenforced, command: Command, profile: Profile, *, run: str, mask: set[Signals]
) -> HeldLaunch:
    """Starts the process of a launch, and holds it.

    Args:
        gate: what the gate said.
        command: what is launched.
        profile: where it works, and what it may write.
        run: the run's id, for the marker.
        mask: the signals that it starts with blocked, from ``signals_for_launch``.

    Raises:
        StorageError: the system can't make another process.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    environment[MARKER] = run
    status = open_memory("status") if isinstance(gate, Enforce) else None
    arguments = launch_arguments(
        gate, command.arguments, profile, status=None if status is None else status.fileno()
    )
    # Without a sandbox the command stays in this session; in one, only where it gets none of its own.
    shares = status is None or not profile.new_session
    would_steal = _steals_input(shares_terminal=shares)
    kept = None if status is None else status.fileno()

    def start() -> Child:  # pragma: no cover - called in the guardian, another process
        return spawn(
            arguments,
            environment=environment,
            folder=profile.workspace,
            standard=(_nothing() if would_steal else 0, 1, 2),
            kept=kept,
            dies_with_parent=status is None,
            mask=mask,
        )

    try:
        guardian = guard(start, new_session=not shares)
    except OSError as error:
        if status is not None:
            status.close()
        raise StorageError(f"no process could be started: {error.strerror}") from None
    process = identify(guardian.pid)
    if process is None:
        guardian.abandon()
        if status is not None:
            status.close()
        raise StorageError("the new process can't be seen in /proc", expected="a /proc that is mounted")
    return HeldLaunch(guardian, process, status=status, shares_terminal=shares)


def _steals_input(*, shares_terminal: bool) -> bool:
    """Whether the command would read what the operator types to something else.

    Job control does not stop a reader of another session: a launch in the background gets no terminal.
    """
    return not shares_terminal and os.isatty(0) and os.tcgetpgrp(0) != os.getpgrp()


def _nothing() -> int:
    return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)


def _end(ended: int, *, interrupted: bool) -> LaunchEnd:
    if ended < 0:
        return LaunchEnd(ran=True, signal=Signals(-ended), interrupted=interrupted)
    return LaunchEnd(ran=True, exit_code=ended, interrupted=interrupted)
