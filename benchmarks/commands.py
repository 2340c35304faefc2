"""What it costs to start: the import, the commands that tell, and whole launches in a sandbox."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from benchmarks.line import Aim, AtLeast, AtMost, Calls, Figure, Line, NoAim, missing_programs

PYTHON: Final = sys.executable
COMMAND: Final = str(Path(sys.executable).with_name("sandbox-pin"))
NEEDED: Final = "python -c 'import msgspec, click'"
"""What a command with these two libraries can't start without, whatever the interpreter is called."""

RUN: Final = "r"

LAUNCHES: Final = 20
SHARE: Final = 0.002
"""Seconds that the library itself is to take of a launch at the most."""


def called(*commands: list[str]) -> Callable[[], None]:
    """A call that runs these one after the other, as installed: with their bytecode."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def call() -> None:
        for command in commands:
            _ = subprocess.run(command, check=True, capture_output=True, env=environment)

    return call


class MadeRun(NamedTuple):
    """A run made for a side of a line, by the process that measures that side."""

    options: list[str]
    root: str
    workspace: str


def made_run(folder: Path) -> MadeRun:
    """A new run ``r``, in folders of its own."""
    own = Path(tempfile.mkdtemp(dir=folder))
    workspace = own / "workspace"
    workspace.mkdir()
    options = ["--runs", str(own / "runs")]
    given = [*options, "--mode", "required", "--id", RUN, "--workspace", str(workspace)]
    called([COMMAND, "run", *given, "--", "true"])()
    return MadeRun(options, str(own / "runs"), str(workspace))


def _imported(names: str, _: Path) -> Callable[[], object]:
    return called([PYTHON, "-c", f"import {names}"])


def _told(command: str, folder: Path) -> Callable[[], object]:
    mode = ["--mode", "required"] if command == "explain" else []
    return called([COMMAND, command, RUN, *made_run(folder).options, *mode])


def _checked(folder: Path) -> Callable[[], object]:
    state, log = folder / "other-state.json", folder / "other-log.jsonl"
    pin = {"schema": 1, "mode": "required", "source": "created", "recorded_at": "2026-01-01T00:00:00Z"}
    _ = state.write_text(json.dumps({"sandbox_pin": pin}))
    files = ["--state", str(state), "--log", str(log)]
    return called([COMMAND, "check", *files, "--kind", "local", "--mode", "required"])


def _step(folder: Path) -> Callable[[], object]:
    return called([COMMAND, "step", RUN, *made_run(folder).options, "--mode", "required", "--", "true"])


def _new_run(folder: Path) -> Callable[[], object]:
    """Each call makes a run of its own, in a folder that grows."""
    made = made_run(folder)
    given = [*made.options, "--mode", "required", "--workspace", made.workspace]
    return called([COMMAND, "run", *given, "--", "true"])


def _bare_launch(folder: Path) -> list[str]:
    """The command of bwrap alone, with the very arguments that a launch of ours has."""
    from sandbox_pin.shell import Profile, find_bubblewrap  # noqa: PLC0415 - each side imports its own alone
    from sandbox_pin.shell.bubblewrap import sandbox_arguments  # noqa: PLC0415 - as above

    program = find_bubblewrap()
    if program is None:
        raise SystemExit("no bwrap here: the lines of launches need one")
    made = made_run(folder)
    profile = Profile(workspace=made.workspace, hidden=(made.root,))
    return [*sandbox_arguments(program, profile), shutil.which("true") or "/usr/bin/true"]


def _needed_and_bare_launch(folder: Path) -> Callable[[], object]:
    return called([PYTHON, "-c", "import msgspec, click"], _bare_launch(folder))


def _needed_and_two_bare_launches(folder: Path) -> Callable[[], object]:
    bare = _bare_launch(folder)
    return called([PYTHON, "-c", "import msgspec, click"], bare, bare)


def _own_share(folder: Path) -> float:
    """The seconds that a step takes beyond bwrap: the command in this process, less two bare launches."""
    from sandbox_pin.cli.main import call  # noqa: PLC0415 - each side imports its own alone

    words = ["step", RUN, *made_run(folder).options, "--mode", "required", "--", "true"]
    bare = called(*[_bare_launch(folder)] * 2)
    kept = os.dup(sys.stderr.fileno())
    with Path(os.devnull).open("wb") as nothing:
        _ = os.dup2(nothing.fileno(), sys.stderr.fileno())
    try:
        own = [_seconds(lambda: call(words)) - _seconds(bare) for _ in range(LAUNCHES)]
    finally:
        _ = os.dup2(kept, sys.stderr.fileno())
        os.close(kept)
    return median(own)


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    _ = work()
    return time.perf_counter() - began


class Sandbox(NamedTuple):
    """Another sandbox's own command: what it needs on PATH, and how it launches ``true``.

    An agent tool's is to take longer than ours; another's is told only.
    """

    needs: tuple[str, ...]
    command: list[str]
    aim: Aim


SANDBOXES: Final = {
    "firejail": Sandbox(
        ("firejail",), ["firejail", "--quiet", "--noprofile", "--private-tmp", "true"], NoAim()
    ),
    "srt": Sandbox(("srt", "rg", "bwrap", "socat"), ["srt", "true"], AtLeast(1)),
    "codex sandbox": Sandbox(("codex",), ["codex", "sandbox", "true"], AtLeast(1)),
}
"""firejail(1), Debian's ``firejail``; npm's ``@anthropic-ai/sandbox-runtime``; npm's ``@openai/codex``."""


def _other_sandbox(name: str, _: Path) -> Callable[[], object]:
    return called(SANDBOXES[name].command)


_NEEDED_SIDE: Final = Calls(partial(_imported, "msgspec, click"))
_STEP: Final = "sandbox-pin step --mode required -- true, the whole command"

LINES: Final = [
    Line(
        "import sandbox_pin, a whole process",
        "import msgspec",
        Calls(partial(_imported, "sandbox_pin")),
        Calls(partial(_imported, "msgspec")),
        AtMost(1.25),
        packages=("msgspec",),
    ),
    Line("sandbox-pin explain", NEEDED, Calls(partial(_told, "explain")), _NEEDED_SIDE, AtMost(1.5)),
    Line("sandbox-pin check", NEEDED, Calls(_checked), _NEEDED_SIDE, AtMost(1.5)),
    Line("sandbox-pin status", NEEDED, Calls(partial(_told, "status")), _NEEDED_SIDE, NoAim()),
    Line(
        _STEP,
        f"{NEEDED}, and bwrap with the same arguments",
        Calls(_step),
        Calls(_needed_and_bare_launch),
        AtMost(1.4),
    ),
    Line(
        _STEP,
        f"{NEEDED}, and bwrap twice, as the trial launch is one",
        Calls(_step),
        Calls(_needed_and_two_bare_launches),
        NoAim(),
    ),
    Line(
        "a step, in a process that has imported all, less bwrap and the trial launch",
        "2 ms",
        Figure(_own_share),
        Figure(lambda _: SHARE),
        AtMost(1),
    ),
    Line(
        "sandbox-pin run --mode required -- true, the whole command",
        f"{NEEDED}, and bwrap with the same arguments",
        Calls(_new_run),
        Calls(_needed_and_bare_launch),
        AtMost(1.4),
    ),
    *(
        Line(
            _STEP,
            name,
            Calls(_step),
            Calls(partial(_other_sandbox, name)),
            sandbox.aim,
            missing=missing_programs(*sandbox.needs),
        )
        for name, sandbox in SANDBOXES.items()
    ),
]
