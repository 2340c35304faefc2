"""A run's log grows without an end: a command on it must cost the same however long that log is."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.commands import COMMAND, RUN, called, made_run
from benchmarks.line import AtMost, Calls, Line

FEW: Final = 10
MANY: Final = 1_000_000
_AT_ONCE: Final = 10_000


def grown_run(folder: Path, entries: int) -> list[str]:
    """The options that name a run whose log has so many entries; made once, as that takes a while."""
    grown = folder / f"grown-{entries}"
    told = grown / "runs-folder"
    if not told.exists():
        grown.mkdir(exist_ok=True)
        made = made_run(grown)
        log = Path(made.root) / RUN / "run.jsonl"
        # The creation, and the start and end of a launch: those two are repeated.
        created, *launch = log.read_bytes().splitlines(keepends=True)
        whole, rest = divmod((entries - 1) // len(launch), _AT_ONCE)
        with log.open("wb") as file:
            _ = file.write(created)
            for _ in range(whole):
                _ = file.write(b"".join(launch) * _AT_ONCE)
            _ = file.write(b"".join(launch) * rest)
        _ = told.write_text(made.root)
    return ["--runs", told.read_text()]


def _status(entries: int, folder: Path) -> Callable[[], object]:
    return called([COMMAND, "status", RUN, *grown_run(folder, entries)])


def _step(entries: int, folder: Path) -> Callable[[], object]:
    return called([COMMAND, "step", RUN, *grown_run(folder, entries), "--mode", "required", "--", "true"])


_PEER: Final = f"the same with {FEW} entries"

LINES: Final = [
    Line(
        f"sandbox-pin {name} on a log of {MANY:,} entries",
        _PEER,
        Calls(partial(work, MANY)),
        Calls(partial(work, FEW)),
        AtMost(1.1),
    )
    for name, work in (("status", _status), ("step", _step))
]
