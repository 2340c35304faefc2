"""A launch from its release to its end.

While it runs, what this process is told by SIGINT, SIGTERM or SIGHUP goes to the command; the signals are
taken one by one with sigtimedwait(2), so that none is lost between a look and a wait.
"""

import contextlib
import itertools
import os
import signal
from collections.abc import Generator
from io import FileIO
from signal import Signals
from typing import Final

from msgspec import Struct

from sandbox_pin.core.run_state import LaunchProcess
from sandbox_pin.shell.bubblewrap import end_sandbox, read_report
from sandbox_pin.shell.processes import children_of
from sandbox_pin.shell.spawn import Child

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


def _end(ended: int, *, interrupted: bool) -> LaunchEnd:
    if ended < 0:
        return LaunchEnd(ran=True, signal=Signals(-ended), interrupted=interrupted)
    return LaunchEnd(ran=True, exit_code=ended, interrupted=interrupted)
