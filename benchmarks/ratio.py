"""The arithmetic of a line: the median of the ratios of the pairs that took turns, and their quartiles.

Of the pairs, as the two processes of a pair share their moment of the machine.
"""

from dataclasses import dataclass
from statistics import quantiles

from benchmarks.line import Aim, AtLeast, AtMost, NoAim
from benchmarks.results import Measured


@dataclass(frozen=True)
class Ratio:
    """How ours compares with the peer.

    Attributes:
        value: the median of the ratios of the pairs.
        low: the lower quartile of them.
        high: the upper one.
    """

    value: float
    low: float
    high: float


def ratio_of(measured: Measured, aim: Aim) -> Ratio:
    """How many times as fast ours is; under ``AtMost`` how many times the peer's cost it has."""
    above, below = measured.theirs, measured.ours
    if isinstance(aim, AtMost):
        above, below = below, above
    pairs = [over / under for over, under in zip(above, below, strict=True)]
    low, value, high = quantiles(pairs, n=4, method="inclusive") if len(pairs) > 1 else pairs * 3
    return Ratio(value, low, high)


def is_met(ratio: Ratio, aim: Aim) -> bool | None:
    """Whether the ratio meets the aim; ``None`` where there is none."""
    match aim:
        case AtLeast(times=times):
            return ratio.value >= times
        case AtMost(times=times):
            return ratio.value <= times
        case NoAim():
            return None
