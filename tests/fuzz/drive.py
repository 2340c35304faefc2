"""Drives one target: with atheris, which looks for new paths through the code, or with plain random changes.

``python -m fuzz.drive TARGET``, from ``run.py`` and from the tests. Ends with another status than 0 on a
finding, whose input is then in the folder named by ``--findings``.
"""

import argparse
import contextlib
import faulthandler
import sys
import time
import tracemalloc
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from fuzz.mutation import LONGEST, Mutator

SLOWEST: Final = 2.0
"""In seconds of this process's own time: the longest that one input may take, laws and oracle included."""

MEMORY_EACH: Final = 64
"""At how many inputs the memory of one is looked at."""

_HANGS_AFTER: Final = 60
_MEMORY: Final = 8 << 20
_MEMORY_FOR_EACH_BYTE: Final = 2 << 10
_RE_ARM_EACH: Final = 100


class Bounded:
    """A check that fails too where an input takes much time, or memory out of proportion to it."""

    def __init__(self, check: Callable[[bytes], None]) -> None:
        self._check = check
        self.executions = 0
        self.slowest = 0.0

    def __call__(self, data: bytes) -> None:
        """Checks one input."""
        self.executions += 1
        look_at_memory = self.executions % MEMORY_EACH == 0
        if look_at_memory:
            tracemalloc.start()
        began = time.process_time()
        try:
            self._check(data)
            took = time.process_time() - began
            _, peak = tracemalloc.get_traced_memory()
        finally:
            if look_at_memory:
                tracemalloc.stop()
        self.slowest = max(self.slowest, took)
        assert took <= SLOWEST, f"took {took:.1f} s for {len(data)} bytes"
        assert peak <= _MEMORY + _MEMORY_FOR_EACH_BYTE * len(data), f"{peak} bytes for {len(data)}"


def main() -> int:
    """Drives the target that the arguments name."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("target")
    arguments.add_argument("--driver", choices=("atheris", "random"), default="random")
    arguments.add_argument("--seconds", type=float, default=1.0)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--findings", type=Path, default=Path())
    told = arguments.parse_args()
    drive = _drive_with_atheris if told.driver == "atheris" else _drive_at_random
    return drive(told.target, told.seconds, told.seed, told.findings)


def _drive_at_random(name: str, seconds: float, seed: int, findings: Path) -> int:
    from fuzz.targets import TARGETS, seeds_of  # noqa: PLC0415 - atheris must be there before them, if at all

    check = Bounded(TARGETS[name].check)
    seeds = seeds_of(name)
    draw = Random(seed)  # noqa: S311 - to be repeated, not secret
    mutator = Mutator(draw, seeds, TARGETS[name].tokens)
    waiting = list(seeds)
    end = time.monotonic() + seconds
    while waiting or time.monotonic() < end:
        if check.executions % _RE_ARM_EACH == 0:
            faulthandler.dump_traceback_later(_HANGS_AFTER, exit=True)
        data = waiting.pop() if waiting else mutator.next_input()
        try:
            check(data)
        except BaseException:
            place = findings / f"{name}-{sha256(data).hexdigest()[:16]}"
            _ = place.write_bytes(data)
            sys.stderr.write(f"{name}, seed {seed}: {place} has {data[:2000]!r}\n")
            raise
    faulthandler.cancel_dump_traceback_later()
    sys.stdout.write(f"executions: {check.executions}\nslowest: {check.slowest:.3f}\n")
    return 0


def _drive_with_atheris(name: str, seconds: float, seed: int, findings: Path) -> int:
    import atheris  # noqa: PLC0415 - has wheels for some Pythons only

    with atheris.instrument_imports(include=["sandbox_pin", "fuzz.strict_oracle", "tomllib", "yaml"]):
        from fuzz.targets import TARGETS, seeds_of  # noqa: PLC0415 - what is imported here is instrumented

    check = Bounded(TARGETS[name].check)
    with TemporaryDirectory() as folder, contextlib.chdir(folder):
        for place, data in enumerate(seeds_of(name)):
            path = Path("seeds", str(place))
            path.parent.mkdir(exist_ok=True)
            _ = path.write_bytes(data)
        Path("found").mkdir()
        tokens = [token for token in TARGETS[name].tokens if len(token) <= 60]
        dictionary = Path("tokens")
        _ = dictionary.write_text("".join(f'"{_escaped(token)}"\n' for token in tokens), encoding="ascii")
        options = [
            f"-max_total_time={max(1, round(seconds))}",
            f"-max_len={LONGEST}",
            f"-seed={seed or 1}",
            f"-dict={dictionary}",
            f"-artifact_prefix={findings.absolute()}/{name}-",
            f"-timeout={_HANGS_AFTER}",
            "-rss_limit_mb=2048",
            "-print_final_stats=1",
            "-verbosity=0",
        ]
        _ = atheris.Setup([sys.argv[0], "found", "seeds", *options], check)
        atheris.Fuzz()
    return 0


def _escaped(token: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in token)


if __name__ == "__main__":
    sys.exit(main())
