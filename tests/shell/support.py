"""Real files, processes and sandboxes, shared by the tests of the shell."""

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from core.strategies import AT
from sandbox_pin import PinSource, RunKind, SandboxMode, SandboxPin
from sandbox_pin.core.event import Entry, LaunchEnded, RunCreated
from sandbox_pin.core.gate import Capable, Enforce, RunUnenforced
from sandbox_pin.core.run_state import PROTOCOL, LaunchProcess, RunState, RunStatus
from sandbox_pin.shell.bubblewrap import Profile
from sandbox_pin.shell.durable import open_folder
from sandbox_pin.shell.held_launch import LaunchEnd, signals_for_launch
from sandbox_pin.shell.host import find_bubblewrap, probe_host
from sandbox_pin.shell.launch import hold_launch
from sandbox_pin.shell.programs import Command
from sandbox_pin.shell.run_creation import create_run
from sandbox_pin.shell.run_log import FileRunLog
from sandbox_pin.testing import build_entry, build_pin

PATIENCE: Final = 5.0
"""How long a test waits for what must happen, in seconds; mostly it happens at once."""

PIN: Final = build_pin()
WEAK: Final = build_pin(mode=SandboxMode.DISABLED, source=PinSource.ACCEPTED)
ENDED: Final = LaunchEnded(at=AT, run="r", kind=RunKind.LOCAL, pin=PIN, ran=True, exit_code=0, signal=None)

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount and give files away")


def first_entry(run: str = "r", *, pin: SandboxPin = PIN, kind: RunKind = RunKind.LOCAL) -> RunCreated:
    """A run's first entry."""
    return build_entry(run=run, pin=pin, kind=kind)


def run_state(
    run: str = "r",
    *,
    kind: RunKind = RunKind.LOCAL,
    status: RunStatus = RunStatus.READY,
    launch: LaunchProcess | None = None,
) -> RunState:
    """A new run's own fields."""
    return RunState(
        protocol=PROTOCOL,
        run=run,
        kind=kind,
        status=status,
        workspace="/work",
        created_at=AT,
        launch=launch,
    )


def make_run(root: Path, state: RunState | None = None, *, pin: SandboxPin = PIN) -> Path:
    """A whole run in a root that is there; its folder."""
    state = state or run_state()
    with create_run(str(root), state, pin, [first_entry(state.run, pin=pin, kind=state.kind)]) as folder:
        return Path(folder.path)


@contextmanager
def opened(path: Path) -> Iterator[int]:
    """A folder's descriptor."""
    descriptor = open_folder(str(path))
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def log_in(folder: Path, name: str = "run.jsonl") -> Iterator[FileRunLog]:
    """The run log of that name in a folder."""
    with opened(folder) as descriptor:
        yield FileRunLog(descriptor, name, shown_as=str(folder / name))


class Seen(NamedTuple):
    """What a look at a file finds; only its last access is left out, as a look changes it."""

    mode: int
    owner: tuple[int, int]
    inode: int
    links: int
    size: int
    changed: int
    content: bytes | str | None


def snapshot(folder: Path) -> dict[str, Seen]:
    """The folder and everything below it, by name."""
    seen: dict[str, Seen] = {}
    for path in (folder, *sorted(folder.rglob("*"))):
        found = path.lstat()
        content: bytes | str | None = None
        if stat.S_ISLNK(found.st_mode):
            content = str(path.readlink())
        elif stat.S_ISREG(found.st_mode) and found.st_size < 1 << 20:
            content = path.read_bytes()
        seen[str(path.relative_to(folder))] = Seen(
            found.st_mode,
            (found.st_uid, found.st_gid),
            found.st_ino,
            found.st_nlink,
            found.st_size,
            found.st_mtime_ns,
            content,
        )
    return seen


def children() -> set[int]:
    """The processes that this one has started, in any thread, and not waited for."""
    lists = Path("/proc/self/task").glob("*/children")
    return {int(child) for file in lists for child in file.read_text().split()}


def open_descriptors() -> set[int]:
    """The numbers of this process's open descriptors."""
    found: set[int] = set()
    for number in range(1024):
        with suppress(OSError):
            os.fstat(number)
            found.add(number)
    return found


def mode_of(path: Path) -> int:
    """Its permission bits."""
    return stat.S_IMODE(path.lstat().st_mode)


def wait_until(condition: Callable[[], object]) -> None:
    """Waits for what must come to be."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(0.005)


def run_python(
    program: str, *arguments: str, under: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Runs a program text in an interpreter of its own, perhaps started by another command."""
    return subprocess.run(
        [*under, sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE * 3,
        check=False,
    )


@contextmanager
def python_process(
    program: str, *arguments: str, under: tuple[str, ...] = (), environment: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Starts a program text in an interpreter of its own; it is killed at the latest when the block ends."""
    with subprocess.Popen(
        [*under, sys.executable, "-c", program, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def read_line(process: subprocess.Popen[str]) -> str:
    """The next line that a process writes."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


_CALLS: Final = (
    "chdir",
    "close",
    "fchmod",
    "fstat",
    "fsync",
    "mkdir",
    "open",
    "pread",
    "rename",
    "rmdir",
    "stat",
    "unlink",
    "write",
)


def killed_before_call(number: int, action: Callable[[], object]) -> bool:
    """Does it in a process of its own that is killed before its n-th system call; whether it got that far."""
    pid = os.fork()
    if pid == 0:
        left = number

        def counted(real: Callable[..., object]) -> Callable[..., object]:
            def call(*positional: object, **named: object) -> object:
                nonlocal left
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(*positional, **named)

            return call

        with suppress(BaseException):
            for name in _CALLS:
                setattr(os, name, counted(getattr(os, name)))
            action()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL


def capable_program(workspace: Path) -> str:
    """The path of bwrap; the test is skipped where the host can't enforce, with its own words."""
    program = find_bubblewrap()
    host = probe_host(program, Profile(workspace=str(workspace)))
    if not isinstance(host, Capable):
        pytest.skip(host.missing)
    return host.program


def whole_entries(raw: bytes) -> list[Entry]:
    """The entries of a log without garbage."""
    import msgspec  # noqa: PLC0415 - used here alone

    return [msgspec.json.decode(line, type=Entry) for line in raw.splitlines()]


def sandboxed(
    workspace: Path,
    script: str,
    *,
    writable: tuple[Path, ...] = (),
    hidden: tuple[Path, ...] = (),
    new_session: bool = True,
) -> LaunchEnd:
    """Runs a shell script in a real sandbox, and waits for its end."""
    profile = Profile(
        workspace=str(workspace),
        writable=tuple(map(str, writable)),
        hidden=tuple(map(str, hidden)),
        new_session=new_session,
    )
    gate = Enforce(asked=SandboxMode.REQUIRED, backend="bubblewrap", program=capable_program(workspace))
    return launched(gate, profile, script)


def launched(gate: Enforce | RunUnenforced, profile: Profile, script: str) -> LaunchEnd:
    """Runs a shell script as a launch, and waits for its end."""
    command = Command(program="/bin/sh", words=("sh", "-c", script))
    with signals_for_launch() as mask:
        return hold_launch(gate, command, profile, run="r", mask=mask).run()
