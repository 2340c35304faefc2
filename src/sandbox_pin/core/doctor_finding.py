"""One thing that ``doctor`` looked at: what was found, how much it matters, and what to do about it."""

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct


class Severity(StrEnum):
    """How much a finding matters."""

    OK = "ok"
    """All is well."""

    WARNING = "warning"
    """Runs work, but it should be mended."""

    ERROR = "error"
    """Commands are refused for it, or what they promise does not hold."""


class Subject(StrEnum):
    """What a finding is about."""

    HOST = "host"
    PLACEMENT = "placement"
    RUN_ROOT = "run_root"
    FILE_SYSTEM = "file_system"
    LEFTOVER = "leftover"


class Finding(Struct, frozen=True, kw_only=True):
    """One thing that was looked at.

    Attributes:
        subject: what it is about.
        severity: how much it matters.
        found: what was found, in words.
        remedy: what to do about it; ``None`` where there is nothing to do.
    """

    subject: Subject
    severity: Severity
    found: str
    remedy: str | None = None


def needs_attention(findings: Sequence[Finding]) -> bool:
    """Whether there is anything to do."""
    return any(finding.severity is not Severity.OK for finding in findings)


def make_finding(
    subject: Subject, found: str, remedy: str | None = None, *, severity: Severity = Severity.OK
) -> Finding:
    """A finding; that all is well, unless another severity is given."""
    return Finding(subject=subject, severity=severity, found=found, remedy=remedy)
