"""The one place that starts a process.

A child is held before it does anything, until its number is safely in the run's state: a controller that dies
in between leaves no process that the next command could not know of, as a held child ends when its
controller does. fork(2) and execve(2) are called directly, since ``subprocess`` can't hold a child.
"""

import contextlib
import os
import signal
from collections.abc import Callable, Mapping
from typing import Final, NoReturn

_GO: Final = b"g"
_PR_SET_PDEATHSIG: Final = 1
_IGNORED_HERE: Final = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGTSTP)
"""Python ignores the first two, a launch's controller the third; a program inherits what is ignored."""


class Child:
    """A process of ours, held until ``release``.

    Attributes:
        pid: its number, which stays its own until it is waited for.
    """

    def __init__(self, pid: int, gate: int, report: int) -> None:
        self.pid = pid
        self._gate = gate
        self._report = report

    def release(self) -> None:
        """Lets it go on."""
        with contextlib.suppress(BrokenPipeError):
            _ = os.write(self._gate, _GO)

    def told(self) -> bytes:
        """All that it reports, read to the end: when it becomes its program, or ends."""
        pieces: list[bytes] = []
        while piece := os.read(self._report, 256):
            pieces.append(piece)
        return b"".join(pieces)

    def abandon(self) -> None:
        """Ends it while it is still held, so that it does nothing."""
        os.close(self._gate)
        self._gate = -1
        _ = self.wait()

    def wait(self) -> int:
        """Waits for its end; its exit status, or less than 0: the signal that ended it, negated."""
        ended = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self.close()
        return ended

    def poll(self) -> bool:
        """Whether it has ended; it is waited for then."""
        return os.waitpid(self.pid, os.WNOHANG)[0] != 0

    def close(self) -> None:
        """Lets go of what connects to it, once it has ended."""
        for descriptor in (self._gate, self._report):
            if descriptor >= 0:
                os.close(descriptor)
        self._gate = self._report = -1


def fork_held(body: Callable[[int, int], None]) -> Child:
    """Starts a child that runs ``body``, held.

    Args:
        body: what it does. It is given a descriptor that comes to its end when this process does, and
            one to report on.

    Raises:
        OSError: the system can't make another process, or another pipe.
    """
    pipes: list[int] = []
    try:
        pipes += os.pipe()
        pipes += os.pipe()
        parent = os.getpid()
        pid = os.fork()
    except OSError:
        for descriptor in pipes:
            os.close(descriptor)
        raise
    held, gate, report, reporting = pipes
    if pid == 0:  # pragma: no cover - another process, which coverage can't follow through execve
        try:
            os.close(gate)
            os.close(report)
            if os.getppid() == parent and os.read(held, 1) == _GO:
                body(held, reporting)
        finally:
            os._exit(1)
    os.close(held)
    os.close(reporting)
    return Child(pid, gate, report)


def spawn(
    arguments: list[str],
    *,
    environment: Mapping[str, str],
    folder: str,
    standard: tuple[int, int, int] = (0, 1, 2),
    kept: int | None = None,
    dies_with_parent: bool = False,
    mask: set[signal.Signals] | None = None,
) -> Child:
    """Starts a program, held; it reports nothing, or the number of the error for which it could not be run.

    It inherits no descriptor but the standard ones and ``kept``.

    Args:
        arguments: the program's absolute path, and its arguments.
        environment: the program's whole environment.
        folder: the folder that it starts in.
        standard: the descriptors that become its standard input, output and error.
        kept: one more descriptor that it inherits, under its number.
        dies_with_parent: whether the kernel kills it when the thread that started it ends
            (PR_SET_PDEATHSIG in prctl(2)); its own children are not covered.
        mask: the signals that it starts with blocked; ``None``: those of this thread.

    Raises:
        OSError: the system can't make another process, or another pipe.
    """
    prctl = _prctl() if dies_with_parent else None
    parent = os.getpid()

    def body(_: int, reporting: int) -> None:  # pragma: no cover - as in fork_held
        try:
            if prctl is not None:
                _ = prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() == parent:
                _become(arguments, environment, folder=folder, standard=standard, kept=kept, mask=mask)
        except OSError as error:
            _ = os.write(reporting, str(error.errno).encode())

    return fork_held(body)


def _become(
    arguments: list[str],
    environment: Mapping[str, str],
    *,
    folder: str,
    standard: tuple[int, int, int],
    kept: int | None,
    mask: set[signal.Signals] | None,
) -> NoReturn:
    os.chdir(folder)
    for number, descriptor in enumerate(standard):
        if number != descriptor:
            _ = os.dup2(descriptor, number)
    # An agent must not get what this process was itself handed: a lock, a log, a secret. Python's own
    # descriptors are close-on-exec; these are what the operator's shell or service left open.
    for name in os.listdir("/proc/self/fd"):
        if int(name) >= len(standard):
            with contextlib.suppress(OSError):
                os.set_inheritable(int(name), int(name) == kept)
    for number in _IGNORED_HERE:
        _ = signal.signal(number, signal.SIG_DFL)
    if mask is not None:
        _ = signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    os.execve(arguments[0], arguments, environment)  # noqa: S606 - no shell is wanted


def _prctl() -> Callable[[int, int], int]:
    import ctypes  # noqa: PLC0415 - 5 ms that a sandboxed launch need not spend

    prctl: Callable[[int, int], int] = ctypes.CDLL(None).prctl
    return prctl
