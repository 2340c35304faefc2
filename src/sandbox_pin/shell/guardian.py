"""A process that stands between this one and a launch, and outlives neither.

bwrap dies with its parent, but only once it has said so to the kernel, and the first process inside says so
for itself, later still: a controller that is killed in those few milliseconds would leave an agent that no
command knows of. The guardian ends the launch when its controller ends, however early. It is a fork of the
controller, so that it also has the run's lock until the launch is gone.
"""

import contextlib
import os
import select
import signal
from collections.abc import Callable

from sandbox_pin.shell.processes import children_of
from sandbox_pin.shell.spawn import Child, fork_held


def guard(start: Callable[[], Child], *, new_session: bool) -> Child:
    """Starts a guardian, held, of a process that it starts itself.

    The guardian reports ``ended N``, where N is as for ``Child.wait``, or ``failed N`` with the number of the
    error for which the process could not be run; nothing, where it was itself killed.

    Args:
        start: starts the process, held; it is called in the guardian.
        new_session: whether both leave the terminal's foreground, so that what it sends by Ctrl-C comes
            to the controller alone, which hands it on to the command, and not to bwrap.

    Raises:
        OSError: the system can't make another process, or another pipe.
    """

    def body(held: int, reporting: int) -> None:  # pragma: no cover - as in fork_held
        try:
            if new_session:
                os.setsid()
            child = start()
            child.release()
            failed = child.told()
        except OSError as error:
            failed = str(error.errno).encode()
        else:
            if not failed:
                _ = os.write(reporting, b"ended %d" % _watch(child, held))
                return
        _ = os.write(reporting, b"failed " + failed)

    return fork_held(body)


def _watch(child: Child, held: int) -> int:  # pragma: no cover - as in fork_held
    """Waits for the end of the child, and ends it where the controller ends first."""
    ends = os.pidfd_open(child.pid)
    ready, _, _ = select.select([ends, held], [], [])
    if ends not in ready:
        _end(child.pid)
    return child.wait()


def _end(pid: int) -> None:  # pragma: no cover - as in fork_held
    """Ends a process and what it has started.

    It is stopped first, so that it starts nothing more: of bwrap that is the first process inside, with which
    the kernel ends all others.
    """
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
        _ = os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        for started in children_of(pid):
            os.kill(started, signal.SIGKILL)
        os.kill(pid, signal.SIGKILL)
