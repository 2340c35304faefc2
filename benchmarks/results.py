"""Raw results, kept as JSON so that the page can be made anew without measuring."""

from pathlib import Path

import msgspec
from msgspec import Struct


class Measured(Struct, frozen=True, kw_only=True):
    """One line's numbers, in seconds or, of a ``Figure``, in its own unit.

    Attributes:
        name: the line's.
        ours: one number for each process of our side: the median of its values.
        theirs: the same of the peer's; the two at one place took turns.
    """

    name: str
    ours: list[float]
    theirs: list[float]


class Machine(Struct, frozen=True, kw_only=True):
    """Where it was measured."""

    processor: str
    cores: int
    kernel: str
    python: str
    versions: dict[str, str]


class Results(Struct, frozen=True, kw_only=True):
    """One run of the benchmarks."""

    date: str
    machine: Machine
    quick: bool
    lines: list[Measured]


def read_results(path: Path) -> Results:
    """The results that ``write_results`` wrote."""
    return msgspec.json.decode(path.read_bytes(), type=Results)


def write_results(path: Path, results: Results) -> None:
    """Writes them, indented so that a difference can be read."""
    _ = path.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=1) + b"\n")
