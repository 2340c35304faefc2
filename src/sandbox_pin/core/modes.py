"""Modes, kinds, and the strength that a mode gives a run of a kind (design: "Strength")."""

from enum import IntEnum, StrEnum
from functools import cache
from typing import assert_never


class SandboxMode(StrEnum):
    """What the configuration (``sandbox.mode``) asks of the sandbox."""

    DISABLED = "disabled"
    PREFERRED = "preferred"
    REQUIRED = "required"


class RunKind(StrEnum):
    """Who owns a run's work: this host, or a service that this host works for. Fixed at creation."""

    LOCAL = "local"
    REMOTE = "remote"


class Strength(IntEnum):
    """What a mode gives a launch, as an order: a greater strength lets less happen unenforced."""

    LOGICAL = 0
    """Logical isolation only."""

    WHERE_CAPABLE = 1
    """Enforced where the host can; elsewhere the launch runs unenforced, and says so."""

    ALWAYS = 2
    """Never run unenforced."""


def mode_strength(mode: SandboxMode, kind: RunKind) -> Strength:
    """The strength that a mode gives a launch of a run of that kind.

    A remote run's ``preferred`` never runs a launch unenforced: the service that owns the work can't see
    what this host was able to enforce.

    Args:
        mode: what the configuration asks for.
        kind: who owns the run's work.
    """
    return _strength(mode, kind)


@cache  # there are six answers, and each decision asks twice
def _strength(mode: SandboxMode, kind: RunKind) -> Strength:
    match mode:
        case SandboxMode.DISABLED:
            return Strength.LOGICAL
        case SandboxMode.PREFERRED:
            return Strength.WHERE_CAPABLE if kind is RunKind.LOCAL else Strength.ALWAYS
        case SandboxMode.REQUIRED:
            return Strength.ALWAYS
        case _:
            assert_never(mode)


def weakest_mode(strength: Strength, kind: RunKind) -> SandboxMode:
    """The weakest mode that gives a run of that kind at least that strength (design: "Children")."""
    return next(mode for mode in SandboxMode if mode_strength(mode, kind) >= strength)
