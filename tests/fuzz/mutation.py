"""Random changes of inputs, by the standard library alone: for where atheris is missing."""

from collections.abc import Sequence
from random import Random
from typing import Final

LONGEST: Final = 4096
"""The longest input that is tried, in bytes."""

_MOST_CHANGES: Final = 6


class Mutator:
    """Makes inputs out of seeds; the same seed of the draws makes the same inputs."""

    def __init__(self, draw: Random, seeds: Sequence[bytes], tokens: Sequence[bytes]) -> None:
        self._draw = draw
        self._seeds = seeds
        self._tokens = tokens

    def next_input(self) -> bytes:
        """A seed, changed in a few places; at times nothing but noise."""
        draw = self._draw
        if draw.random() < 0.02:
            return draw.randbytes(draw.randrange(64))
        data = draw.choice(self._seeds)
        for _ in range(draw.randint(1, _MOST_CHANGES)):
            data = self._change(data)
        return data[:LONGEST]

    def _change(self, data: bytes) -> bytes:
        draw = self._draw
        start = draw.randrange(len(data) + 1)
        end = min(len(data), start + int(draw.expovariate(0.15)))
        match draw.randrange(8):
            case 0 | 1:
                return data[:start] + draw.choice(self._tokens) + data[start:]
            case 2:
                return data[:start] + draw.choice(self._tokens) + data[end:]
            case 3:
                return data[:start] + data[end:]
            case 4:
                return data[:end] + data[start:]
            case 5:
                return data[:start] + draw.randbytes(1) + data[start + 1 :]
            case 6:
                return data[:start] + draw.choice(self._tokens) * draw.choice([2, 9, 64, 600]) + data[start:]
            case _:
                other = draw.choice(self._seeds)
                return data[:start] + other[draw.randrange(len(other) + 1) :]
