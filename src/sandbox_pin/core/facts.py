"""The facts that a run is pinned to, and how a request's value compares (design: "Facts").

A fact has a name, an order or none, and is declared here alone: ``Fact`` names it, and one ``compare_``
function says what a request does to it. A new fact needs a new schema of the record (``core/record.py``).

| fact | of runs | order |
|---|---|---|
| ``mode`` | of both kinds | by strength |
| ``backend`` | remote | none: another one counts as weaker, so that the operator decides |
"""

from enum import Enum, StrEnum, auto

from sandbox_pin.core.modes import Strength


class Fact(StrEnum):
    """The name of a fact, as messages and logs write it."""

    MODE = "mode"
    BACKEND = "backend"


class Comparison(Enum):
    """What a request would do to one pinned fact."""

    WEAKER = auto()
    SAME = auto()
    STRONGER = auto()
    NEW = auto()
    """The pin lacks the fact, and the request has it."""


def compare_mode(pinned: Strength, requested: Strength) -> Comparison:
    """Compares by strength, not by word: a remote run's ``preferred`` and ``required`` are the same."""
    if requested == pinned:
        return Comparison.SAME
    return Comparison.STRONGER if requested > pinned else Comparison.WEAKER


def compare_backend(pinned: str | None, requested: str | None, *, strength: Strength) -> Comparison:
    """Compares the backends of a remote run by name. A request without one has no opinion.

    Args:
        pinned: the pin's backend, ``None`` where it has none.
        requested: the request's, ``None`` where it has no opinion, and always so for a local run.
        strength: the greater of the pinned and the requested mode's; at ``LOGICAL`` no backend holds
            anything, so that another one weakens nothing.
    """
    if requested is None or requested == pinned:
        return Comparison.SAME
    if pinned is None:
        return Comparison.NEW
    return Comparison.SAME if strength is Strength.LOGICAL else Comparison.WEAKER
