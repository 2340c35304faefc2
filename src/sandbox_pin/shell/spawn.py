"""The one place that starts a process.

A child is held before it becomes its program, until its number is safely in the run's state: a controller
that dies in between leaves no process that the next command could not know of, as a held child ends when its
controller does. fork(2) and execve(2) are called directly, since ``subprocess`` can't hold a child.
"""

import contextlib
import os
import signal
from collections.abc import Callable, Mapping
from typing import Final, NoReturn

_GO: Final = b"g"
_PR_SET_PDEATHSIG: Final = 1
_CHANGED_BY_PYTHON: Final = (signal.SIGPIPE, signal.SIGXFSZ)
"""Python ignores these, and a program inherits what is ignored."""


class Child:
    """A started process, held until ``release``.

    Attributes:
        pid: its number; it is this process's child, so that the number stays its own until it is reaped.
    """

    def __init__(self, pid: int, gate: int, failure: int) -> None:
        self.pid = pid
        self._gate = gate
        self._failure = failure

    def release(self) -> OSError | None:
        """Lets the child become its program.

        Returns:
            Why it could not; ``None`` where it did.
        """
        with contextlib.suppress(BrokenPipeError):
            _ = os.write(self._gate, _GO)
        os.close(self._gate)
        found = os.read(self._failure, 64)
        os.close(self._failure)
        return OSError(int(found), os.strerror(int(found))) if found else None

    def abandon(self) -> None:
        """Ends a child that is still held, so that it never becomes its program."""
        os.close(self._gate)
        os.close(self._failure)
        _ = self.wait()

    def wait(self) -> int:
        """Waits for the end; its exit status, or less than 0: the signal that ended it, negated."""
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def poll(self) -> int | None:
        """As ``wait``, without waiting; ``None``: it has not ended."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        return None if pid == 0 else os.waitstatus_to_exitcode(status)


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
    """Starts a child, held; it inherits no descriptor but the standard ones and ``kept``.

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
    held, gate = os.pipe()
    failure, failed = os.pipe()
    pid = os.fork()
    if pid == 0:  # pragma: no cover - another process, which coverage can't follow through execve
        os.close(gate)
        os.close(failure)
        try:
            if prctl is not None:
                _ = prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent or os.read(held, 1) != _GO:
                os._exit(1)
            os.close(held)
            _become(arguments, environment, folder=folder, standard=standard, kept=kept, mask=mask)
        except OSError as error:
            _ = os.write(failed, str(error.errno).encode())
        finally:
            os._exit(1)
    os.close(held)
    os.close(failed)
    return Child(pid, gate, failure)


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
    for number in _CHANGED_BY_PYTHON:
        _ = signal.signal(number, signal.SIG_DFL)
    if mask is not None:
        _ = signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    os.execve(arguments[0], arguments, environment)  # noqa: S606 - no shell is wanted


def _prctl() -> Callable[[int, int], int]:
    import ctypes  # noqa: PLC0415 - 5 ms that a sandboxed launch need not spend

    prctl: Callable[[int, int], int] = ctypes.CDLL(None).prctl
    return prctl
