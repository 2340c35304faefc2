"""What ``doctor`` finds, as values: what stands in the way of a run on this host, and what to do about it.

The shell gathers the facts (``shell/doctor.py``). Judged here are placement, file system and leftovers; the
host in ``doctor_host.py``, the folder of all runs in ``doctor_run_root.py``.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import assert_never

from msgspec import Struct

from sandbox_pin.core.doctor_finding import Finding, Severity, Subject, make_finding
from sandbox_pin.core.placement import Violation, describe_violations


def judge_violations(violations: Sequence[Violation], trees: Sequence[str]) -> list[Finding]:
    """What a launch could rewrite of what decides about it.

    Args:
        violations: the placement rule's, for a launch that may write ``trees``.
        trees: the folders.
    """
    if not violations:
        return [make_finding(Subject.PLACEMENT, f"nothing that decides lies in {', '.join(trees)}")]
    return [
        make_finding(Subject.PLACEMENT, line, severity=Severity.ERROR)
        for line in describe_violations(violations)
    ]


class Trial(Struct, frozen=True, kw_only=True):
    """What was tried of the file system of the runs.

    Attributes:
        what: what must work, as in ``flock(2) on a folder``.
        failure: why it did not; ``None`` where it did.
    """

    what: str
    failure: str | None = None


def judge_trials(root: str, trials: Sequence[Trial]) -> list[Finding]:
    """Whether the file system can keep runs."""
    failed = [trial for trial in trials if trial.failure is not None]
    if not failed:
        return [make_finding(Subject.FILE_SYSTEM, f"{', '.join(trial.what for trial in trials)}: all work")]
    return [
        make_finding(
            Subject.FILE_SYSTEM,
            f"{trial.what} does not work in {root}: {trial.failure}",
            "Keep the runs on a local file system that you may write (--runs, SANDBOX_PIN_RUNS).",
            severity=Severity.ERROR,
        )
        for trial in failed
    ]


class Fate(StrEnum):
    """What became of a leftover."""

    LEFT = "left"
    """Nobody asked to clear it."""

    CLEARED = "cleared"
    KEPT = "kept"
    """It can't be cleared, or holds what none of our commands makes."""


class Leftover(Struct, frozen=True, kw_only=True):
    """What a killed command left behind, and nobody holds.

    Attributes:
        path: where it lies.
        fate: what became of it.
        why: why it is kept; ``None`` otherwise.
    """

    path: str
    fate: Fate
    why: str | None = None


def judge_leftovers(leftovers: Sequence[Leftover]) -> list[Finding]:
    """What killed commands left behind; it weakens nothing, and takes up room."""
    if not leftovers:
        return [make_finding(Subject.LEFTOVER, "nothing is left behind by killed commands")]
    return [_judge_leftover(leftover) for leftover in leftovers]


def _judge_leftover(leftover: Leftover) -> Finding:
    match leftover.fate:
        case Fate.CLEARED:
            return make_finding(
                Subject.LEFTOVER, f"{leftover.path} was left by a killed command, and is cleared"
            )
        case Fate.LEFT:
            found = f"{leftover.path} is left of a killed command"
            remedy = "The same command with --fix clears it."
        case Fate.KEPT:
            found = f"{leftover.path} looks like what a killed command leaves, and is kept: {leftover.why}"
            remedy = "Look at it, and remove it by hand."
        case _:
            assert_never(leftover.fate)
    return make_finding(Subject.LEFTOVER, found, remedy, severity=Severity.WARNING)
