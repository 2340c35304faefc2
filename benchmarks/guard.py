"""Counts instructions, and fails where the import, ``decode_pin`` or ``decide`` needs more than is committed.

Time depends on the machine and its load; how many instructions a program runs hardly does. What is compared
is not a count itself but how it stands to a yardstick that is counted in the same run, so that a patch
version of Python or of a library that both need matters little:

| figure | what is counted | its yardstick |
|---|---|---|
| ``import sandbox_pin`` | beyond ``import msgspec`` | ``import msgspec``, beyond the bare interpreter |
| ``decode_pin`` | one call, on a record of schema 1 | one ``json.loads`` of the same text |
| ``decide`` | one call that leaves the pin as it is | the same ``json.loads`` |

Usage: python benchmarks/guard.py [--update]
Exit status: 0: no figure is over, or, as is told, nothing here can count; 1: a figure is over.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

Figures = Mapping[str, float]
"""How often its yardstick fits into each thing that is counted."""

COMMITTED: Final = Path(__file__).with_name("instructions.json")
"""The figures of each processor and Python minor version."""

MARGIN: Final = 0.10
"""How far a figure may rise above the committed one, as a share of it."""

MARGIN_ELSEWHERE: Final = 0.30
"""The same where this processor and Python have none, and are held to the highest that are committed."""

_SETTING: Final = """\
import json
import sandbox_pin as s

text = '{"schema":1,"mode":"required","source":"created","recorded_at":"2026-01-01T00:00:00Z"}'
raw = text.encode()
pin = s.decode_pin(raw)
request = s.SandboxRequest(mode=s.SandboxMode.REQUIRED)
kind = s.RunKind.LOCAL


def loads():
    json.loads(text)


def decode_pin():
    s.decode_pin(raw)


def decide():
    s.decide(pin, request, kind=kind, accept_config_change=False, at="2026-01-01T00:00:00Z")


# What a first call alone costs, and a first few while Python learns, is of no figure.
for call in (loads, decode_pin, decide) * 100:
    call()
"""
_MANY: Final = 2000

_VALGRIND: Final = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--")
_PERF: Final = ("perf", "stat", "-x,", "-e", "instructions:u", "--")
_TOLD: Final = re.compile(r"Collected : (\d+)|^(\d+),.*instructions", re.MULTILINE)
_NO_COUNTER: Final = (
    "instructions: SKIPPED, nothing here can count them. Install your system's package valgrind, "
    "or go where `perf stat -e instructions:u true` counts."
)

# Python's -I would also ignore PYTHONHASHSEED, on which the counts depend; and the bytecode must be there.
_PYTHON: Final = (sys.executable, "-P", "-s", "-c")
_ENVIRONMENT: Final = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0"}


def main() -> int:
    """Counts, and compares or, with ``--update``, writes anew."""
    counter = _find_counter()
    if counter is None:
        print(_NO_COUNTER)
        return 0
    counted = _measure(counter)
    committed: dict[str, Figures] = json.loads(COMMITTED.read_text()) if COMMITTED.exists() else {}
    here = f"{platform.machine()}, Python {sys.version_info.major}.{sys.version_info.minor}"
    if sys.argv[1:] == ["--update"]:
        committed[here] = {name: round(figure, 3) for name, figure in counted.items()}
        _ = COMMITTED.write_text(f"{json.dumps(committed, indent=2, sort_keys=True)}\n")
        print(f"instructions: {here}: {committed[here]} written to {COMMITTED.name}")
        return 0
    limits = limits_for(here, committed, names=list(counted))
    print(f"instructions, by {counter[0]}, of {here}:")
    if here not in committed:
        print("  it has no figures of its own, and is held to the highest there are: make guard-update")
    for name, figure in counted.items():
        print(f"  {name}: {figure:.3f} times its yardstick, at most {limits[name]:.3f}")
    over = figures_over(counted, limits)
    if over:
        print(f"  OVER: {', '.join(over)}. Where that is meant, make guard-update writes the figures anew.")
    return 1 if over else 0


def limits_for(here: str, committed: Mapping[str, Figures], *, names: list[str]) -> Figures:
    """How high each figure may be.

    Args:
        here: this processor and Python.
        committed: the figures of each.
        names: the figures that there must be; one that is nowhere committed may not be above 0.
    """
    own = committed.get(here)
    if own is not None:
        return {name: own.get(name, 0.0) * (1 + MARGIN) for name in names}
    others = committed.values()
    return {
        name: max((figures.get(name, 0.0) for figures in others), default=0.0) * (1 + MARGIN_ELSEWHERE)
        for name in names
    }


def figures_over(counted: Figures, limits: Figures) -> list[str]:
    """The names of the figures that are above their limit."""
    return [name for name, figure in counted.items() if figure > limits[name]]


def _measure(counter: tuple[str, ...]) -> Figures:
    codes = {
        "nothing": "pass",
        "msgspec": "import msgspec",
        "ours": "import sandbox_pin",
        "setting": _SETTING,
        **{
            name: f"{_SETTING}for _ in range({_MANY}):\n    {name}()\n"
            for name in ("loads", "decode_pin", "decide")
        },
    }
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = dict(zip(codes, pool.map(lambda code: _count(counter, code), codes.values()), strict=True))
    loads = counts["loads"] - counts["setting"]
    return {
        "import sandbox_pin": (counts["ours"] - counts["msgspec"]) / (counts["msgspec"] - counts["nothing"]),
        "decode_pin": (counts["decode_pin"] - counts["setting"]) / loads,
        "decide": (counts["decide"] - counts["setting"]) / loads,
    }


def _count(counter: tuple[str, ...], code: str) -> int:
    """The instructions of an interpreter that runs this, once without counting, so that bytecode is there."""
    _ = subprocess.run([*_PYTHON, code], check=True, env=_ENVIRONMENT)
    told = subprocess.run(
        [*counter, *_PYTHON, code], check=True, env=_ENVIRONMENT, capture_output=True, text=True
    ).stderr
    found = _TOLD.search(told)
    if found is None:
        raise SystemExit(f"instructions: {counter[0]} told none: {told}")
    return int(found[1] or found[2])


def _find_counter() -> tuple[str, ...] | None:
    if shutil.which("valgrind"):
        return _VALGRIND
    if shutil.which("perf"):
        tried = subprocess.run([*_PERF, "true"], check=False, capture_output=True, text=True)
        if _TOLD.search(tried.stderr):
            return _PERF
    return None


if __name__ == "__main__":
    sys.exit(main())
