"""A pin in a plain dataclass and json: ``agent.py STATE MODE [--accept-config-change]``, no msgspec of yours.

A run is one JSON file; its log is a second file beside it, one entry a line.
"""

import dataclasses
import fcntl
import json
import os
import sys
from pathlib import Path

from sandbox_pin import (
    Refuse,
    RunKind,
    SandboxMode,
    SandboxPin,
    SandboxPinError,
    SandboxRequest,
    encode_pin,
    read_pin,
)
from sandbox_pin.shell import (
    FileRunLog,
    apply_request,
    create_logged_pin,
    describe_decision,
    write_file,
)

LOCAL = RunKind.LOCAL


@dataclasses.dataclass(frozen=True)
class Run:
    """A run's state."""

    name: str
    turns: int
    sandbox_pin: dict[str, str]


# region pin
def save(path: Path, run: Run, pin: SandboxPin) -> None:
    """Replaces the state durably; the pin goes in as the plain value that its record is."""
    state = dataclasses.replace(run, sandbox_pin=json.loads(encode_pin(pin)))
    write_file(str(path), json.dumps(dataclasses.asdict(state)).encode())


def begin(path: Path, log: FileRunLog, mode: SandboxMode) -> int:
    """Makes a run."""
    asked = SandboxRequest(mode=mode)
    pin = create_logged_pin(asked, log=log, kind=LOCAL, run=path.stem, workspace=str(Path.cwd()))
    save(path, Run(name=path.stem, turns=0, sandbox_pin={}), pin)
    print(f"{path.stem} begins under {pin.mode}")
    return 0


def go_on(path: Path, log: FileRunLog, mode: SandboxMode, *, accept: bool) -> int:
    """Takes a run one turn further; 77 where that is refused."""
    raw = path.read_bytes()
    run = Run(**json.loads(raw))
    pin = read_pin(raw, pinned_since=None)
    decision = apply_request(
        SandboxRequest(mode=mode),
        state=pin,
        log=log,
        save=lambda pin: save(path, run, pin),
        kind=LOCAL,
        run=path.stem,
        accept_config_change=accept,
    )
    print(f"{path.stem}: {describe_decision(decision)}")
    if isinstance(decision, Refuse):
        return 77
    # Launch here, under decision.pin.mode.
    save(path, dataclasses.replace(run, turns=run.turns + 1), decision.pin)
    return 0


# endregion


def main() -> int:
    """Parses, locks, calls, tells."""
    path, mode = Path(sys.argv[1]).absolute(), SandboxMode(sys.argv[2])
    accept = sys.argv[3:] == ["--accept-config-change"]
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(folder, fcntl.LOCK_EX)  # until this process ends
    log = FileRunLog(folder, f"{path.stem}.log", shown_as=f"{path.stem}.log")
    try:
        return go_on(path, log, mode, accept=accept) if path.exists() else begin(path, log, mode)
    except SandboxPinError as error:
        print(error)
        return 1


if __name__ == "__main__":
    sys.exit(main())
