"""Modes, kinds, and the strength that a mode gives a run of a kind (design: "Strength")."""

from enum import IntEnum, StrEnum
from typing import Final, assert_never


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
    # Looked up by value, so that a plain word, as JSON has it, is taken for the mode or kind that it names.
    found = _STRENGTHS.get((mode, kind))
    return _worked_out(mode, kind) if found is None else found


def _worked_out(mode: SandboxMode, kind: RunKind) -> Strength:
    match kind:
        case RunKind.LOCAL:
            preferred = Strength.WHERE_CAPABLE
        case RunKind.REMOTE:
            preferred = Strength.ALWAYS
        case _:
            assert_never(kind)
    match mode:
        case SandboxMode.DISABLED:
            return Strength.LOGICAL
        case SandboxMode.PREFERRED:
            return preferred
        case SandboxMode.REQUIRED:
            return Strength.ALWAYS
        case _:
            assert_never(mode)


_STRENGTHS: Final = {(mode, kind): _worked_out(mode, kind) for mode in SandboxMode for kind in RunKind}


def weakest_mode(strength: Strength, kind: RunKind) -> SandboxMode:
    """The weakest mode that gives a run of that kind at least that strength (design: "Children")."""
    return next(mode for mode in SandboxMode if mode_strength(mode, kind) >= strength)
