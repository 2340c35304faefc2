"""What one line of the benchmarks is: a piece of work, ours beside a peer's, and the ratio aimed at.

A module of lines exposes ``LINES``; ``lines.py`` names the modules. Each side is prepared in a process of its
own, which imports only what that side needs: so imports of peers belong into the ``prepare`` functions.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias


@dataclass(frozen=True)
class Calls:
    """Work that is one call, timed by pyperf.

    Attributes:
        prepare: makes the call, untimed; handed a folder that lasts as long as the benchmarks and is shared
            by every process of them.
    """

    prepare: Callable[[Path], Callable[[], object]]


@dataclass(frozen=True)
class Clocked:
    """Work that holds the clock itself, as something untimed happens between two rounds of it.

    Attributes:
        prepare: as of ``Calls``; what it makes does the work that many times and returns the seconds spent.
    """

    prepare: Callable[[Path], Callable[[int], float]]


@dataclass(frozen=True)
class Figure:
    """Not a time but a number, such as bytes: one for each process.

    Attributes:
        take: measures, given the shared folder.
    """

    take: Callable[[Path], float]


Side: TypeAlias = Calls | Clocked | Figure


@dataclass(frozen=True)
class AtLeast:
    """Ours is to be at least this many times as fast as the peer."""

    times: float


@dataclass(frozen=True)
class AtMost:
    """Ours is to take at most this many times what the peer takes."""

    times: float


@dataclass(frozen=True)
class NoAim:
    """Told for comparison: how many times as fast as the peer ours is."""


Aim: TypeAlias = AtLeast | AtMost | NoAim


@dataclass(frozen=True)
class Line:
    """One piece of work beside one peer.

    Attributes:
        work: what is done; the same words for the same work beside another peer.
        peer: beside what.
        ours: our side.
        theirs: the peer's.
        aim: the ratio aimed at.
        agree: whether what the two calls return is the same answer; the tests ask it of lines of ``Calls``.
        packages: the distributions whose versions the page tells.
        rounds: how many pairs of processes take turns, where the work is too long for the usual number; then
            each does it once, without trying it first.
        missing: what the peer needs and this machine lacks: the line can't be measured here then.
    """

    work: str
    peer: str
    ours: Side
    theirs: Side
    aim: Aim
    agree: Callable[[object, object], bool] | None = None
    packages: tuple[str, ...] = ()
    rounds: int | None = None
    missing: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The line's name, unlike any other's."""
        return f"{self.work} / {self.peer}"


def missing_programs(*names: str) -> tuple[str, ...]:
    """Those of the programs that are not on ``PATH``."""
    return tuple(name for name in names if shutil.which(name) is None)
