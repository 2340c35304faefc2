"""The arithmetic of a line: the ratio of medians, and how far the pairs that took turns lie apart."""

from dataclasses import dataclass
from statistics import median, quantiles

from benchmarks.line import Aim, AtLeast, AtMost, NoAim
from benchmarks.results import Measured


@dataclass(frozen=True)
class Ratio:
    """How ours compares with the peer.

    Attributes:
        value: the ratio of the medians of all processes.
        low: the lower quartile of the ratios of the pairs.
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
    low, _, high = quantiles(pairs, n=4, method="inclusive") if len(pairs) > 1 else (pairs[0],) * 3
    return Ratio(median(above) / median(below), low, high)


def is_met(ratio: Ratio, aim: Aim) -> bool | None:
    """Whether the ratio meets the aim; ``None`` where there is none."""
    match aim:
        case AtLeast(times=times):
            return ratio.value >= times
        case AtMost(times=times):
            return ratio.value <= times
        case NoAim():
            return None
