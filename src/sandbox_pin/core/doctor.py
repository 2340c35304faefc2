"""What ``doctor`` finds, as values: what stands in the way of a run on this host, and what to do about it.

The shell gathers the facts (``shell/doctor.py``), this module judges them.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, assert_never

from msgspec import Struct

from sandbox_pin.core.describe import describe_host
from sandbox_pin.core.gate import Capable, HostCapability, Incapable
from sandbox_pin.core.placement import Violation, describe_violations

INSTALL: Final = (
    "Install the system's package: apt install bubblewrap (Debian, Ubuntu), dnf install bubblewrap (Fedora), "
    "pacman -S bubblewrap (Arch); or pip install 'sandbox-pin[bubblewrap]'."
)

_OTHERS: Final = 0o077
_GROUP_WRITES: Final = 0o020
_OTHERS_WRITE: Final = 0o002
_STICKY: Final = 0o1000


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


class HostSettings(Struct, frozen=True, kw_only=True):
    """What the kernel says about user namespaces; ``None``: it has no such setting.

    Attributes:
        max_user_namespaces: how many there may be (sysctl ``user.max_user_namespaces``, namespaces(7)).
        unprivileged_userns_clone: whether ordinary users may make them (``kernel.unprivileged_userns_clone``,
            a patch of Debian's kernels).
        apparmor_restrict: whether ordinary users' may do nothing, unless an AppArmor profile lets them
            (``kernel.apparmor_restrict_unprivileged_userns``, AppArmor 4).
        filtered: whether system calls are filtered, as containers do (``Seccomp`` in proc_pid_status(5)).
        is_root: whether this process is the superuser's; the settings for ordinary users do not bind it.
    """

    max_user_namespaces: int | None = None
    unprivileged_userns_clone: int | None = None
    apparmor_restrict: int | None = None
    filtered: bool = False
    is_root: bool = False


def judge_host(host: HostCapability, settings: HostSettings, *, program: str | None) -> list[Finding]:
    """What the host can enforce; where it can't, the causes that are known, each with its remedy.

    Args:
        host: what the trial launch found.
        settings: the kernel's.
        program: the path of bwrap, where there is one.
    """
    match host:
        case Capable():
            return [_finding(Subject.HOST, describe_host(host))]
        case Incapable(missing=missing, remedy=remedy):
            remedies = [INSTALL] if program is None else [*_causes(missing, settings)] or [remedy]
            found = f"can't enforce: {missing}"
            return [_finding(Subject.HOST, found, " ".join(remedies), severity=Severity.ERROR)]
        case _:
            assert_never(host)


def _causes(missing: str, settings: HostSettings) -> list[str]:
    """What to do about each setting that alone is enough to make the trial end as it did."""
    # A /proc that can't be mounted, say, has nothing to do with these settings, whatever they are.
    if "user namespaces" not in missing:
        return []
    found: list[str] = []
    if settings.max_user_namespaces == 0:
        found.append(
            "user.max_user_namespaces is 0: as root, sysctl -w user.max_user_namespaces=15000, "
            "and the same line in /etc/sysctl.d/ for the next boot."
        )
    if settings.unprivileged_userns_clone == 0 and not settings.is_root:
        found.append(
            "kernel.unprivileged_userns_clone is 0: as root, sysctl -w kernel.unprivileged_userns_clone=1, "
            "and the same line in /etc/sysctl.d/ for the next boot."
        )
    if settings.apparmor_restrict == 1 and not settings.is_root:
        found.append(
            "kernel.apparmor_restrict_unprivileged_userns is 1: give bwrap an AppArmor profile that allows "
            "userns (better), or as root, sysctl -w kernel.apparmor_restrict_unprivileged_userns=0."
        )
    if settings.filtered and not found:
        found.append(
            "The system calls of this process are filtered, as in a container: let the container's security "
            "profile allow user namespaces (docker, podman: --security-opt seccomp=unconfined, or a profile)."
        )
    return found


def judge_violations(violations: Sequence[Violation], trees: Sequence[str]) -> list[Finding]:
    """What a launch could rewrite of what decides about it.

    Args:
        violations: the placement rule's, for a launch that may write ``trees``.
        trees: the folders.
    """
    if not violations:
        return [_finding(Subject.PLACEMENT, f"nothing that decides lies in {', '.join(trees)}")]
    return [
        _finding(Subject.PLACEMENT, line, severity=Severity.ERROR) for line in describe_violations(violations)
    ]


class FolderFacts(Struct, frozen=True, kw_only=True):
    """One folder on the way to the folder of all runs, or what stands in that one's place.

    Attributes:
        path: its real path.
        is_folder: whether it is one.
        owner: the number of the user that it belongs to.
        group: the number of its group.
        mode: its permission bits, the sticky bit among them.
    """

    path: str
    is_folder: bool
    owner: int
    group: int
    mode: int


class Trusted(Struct, frozen=True, kw_only=True):
    """Whose rights on the way to the folder of all runs are no danger to it.

    Attributes:
        user: the number of the user who asks.
        group: the number of that user's own group, taken to hold nobody else.
        system: the number of whoever owns ``/``: the superuser, though in a user namespace not as 0.
        system_group: the number of its group.
    """

    user: int
    group: int
    system: int = 0
    system_group: int = 0


def judge_run_root(
    root: str, end: FolderFacts | None, way: Sequence[FolderFacts], *, trusted: Trusted
) -> list[Finding]:
    """Who else may read or replace the folder of all runs.

    Args:
        root: its path, as it was named.
        end: the folder itself; ``None`` where it is not made yet.
        way: every folder in which a name of the path is looked up.
        trusted: whose rights are no danger.
    """
    if end is not None and not end.is_folder:
        remedy = "Name another folder with --runs or SANDBOX_PIN_RUNS."
        return [_finding(Subject.RUN_ROOT, f"{root} is no folder", remedy, severity=Severity.ERROR)]
    found: list[Finding] = []
    if end is not None and end.owner != trusted.user:
        found.append(
            _finding(
                Subject.RUN_ROOT,
                f"{end.path} belongs to the user {end.owner}, and you are {trusted.user}",
                "Name a folder of your own with --runs or SANDBOX_PIN_RUNS.",
                severity=Severity.ERROR,
            )
        )
    if end is not None and end.mode & _OTHERS:
        writes = end.mode & (_GROUP_WRITES | _OTHERS_WRITE)
        found.append(
            _finding(
                Subject.RUN_ROOT,
                f"{end.path} may be {'written' if writes else 'read'} by others (its mode is {end.mode:04o})",
                f"chmod 700 {end.path}",
                severity=Severity.ERROR if writes else Severity.WARNING,
            )
        )
    found += [finding for folder in way for finding in _judge_on_the_way(folder, trusted)]
    if found:
        return found
    whose = "is not made yet; the first run makes it" if end is None else "is yours alone"
    return [_finding(Subject.RUN_ROOT, f"{root} {whose}")]


def _judge_on_the_way(folder: FolderFacts, trusted: Trusted) -> list[Finding]:
    """A folder in which others may put another folder under a name that leads to the runs."""
    why: str | None = None
    if folder.owner not in {trusted.user, trusted.system}:
        why = f"belongs to the user {folder.owner}"
    elif folder.mode & _STICKY:
        pass  # only a name's owner may change it there
    elif folder.mode & _OTHERS_WRITE:
        why = f"may be written by everyone, and has no sticky bit (its mode is {folder.mode:04o})"
    elif folder.mode & _GROUP_WRITES and folder.group not in {trusted.group, trusted.system_group}:
        why = f"may be written by the group {folder.group} (its mode is {folder.mode:04o})"
    if why is None:
        return []
    everyone = bool(folder.mode & _OTHERS_WRITE)
    return [
        _finding(
            Subject.RUN_ROOT,
            f"{folder.path}, on the way to the runs, {why}: others could put another folder in their place",
            f"chmod go-w {folder.path}, or keep the runs elsewhere (--runs, SANDBOX_PIN_RUNS).",
            severity=Severity.ERROR if everyone else Severity.WARNING,
        )
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
        return [_finding(Subject.FILE_SYSTEM, f"{', '.join(trial.what for trial in trials)}: all work")]
    return [
        _finding(
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
        return [_finding(Subject.LEFTOVER, "nothing is left behind by killed commands")]
    return [_judge_leftover(leftover) for leftover in leftovers]


def _judge_leftover(leftover: Leftover) -> Finding:
    match leftover.fate:
        case Fate.CLEARED:
            return _finding(Subject.LEFTOVER, f"{leftover.path} was left by a killed command, and is cleared")
        case Fate.LEFT:
            found = f"{leftover.path} is left of a killed command"
            remedy = "sandbox-pin doctor --fix clears it."
        case Fate.KEPT:
            found = f"{leftover.path} looks like what a killed command leaves, and is kept: {leftover.why}"
            remedy = "Look at it, and remove it by hand."
        case _:
            assert_never(leftover.fate)
    return _finding(Subject.LEFTOVER, found, remedy, severity=Severity.WARNING)


def _finding(
    subject: Subject, found: str, remedy: str | None = None, *, severity: Severity = Severity.OK
) -> Finding:
    return Finding(subject=subject, severity=severity, found=found, remedy=remedy)
