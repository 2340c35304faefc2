"""Who else may read or replace the folder of all runs."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from sandbox_pin.core.doctor_finding import Finding, Severity, Subject, make_finding

_OTHERS: Final = 0o077
_GROUP_WRITES: Final = 0o020
_OTHERS_WRITE: Final = 0o002
_STICKY: Final = 0o1000


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
        return [make_finding(Subject.RUN_ROOT, f"{root} is no folder", remedy, severity=Severity.ERROR)]
    found: list[Finding] = []
    if end is not None and end.owner != trusted.user:
        found.append(
            make_finding(
                Subject.RUN_ROOT,
                f"{end.path} belongs to the user {end.owner}, and you are {trusted.user}",
                "Name a folder of your own with --runs or SANDBOX_PIN_RUNS.",
                severity=Severity.ERROR,
            )
        )
    if end is not None and end.mode & _OTHERS:
        writes = end.mode & (_GROUP_WRITES | _OTHERS_WRITE)
        found.append(
            make_finding(
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
    return [make_finding(Subject.RUN_ROOT, f"{root} {whose}")]


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
        make_finding(
            Subject.RUN_ROOT,
            f"{folder.path}, on the way to the runs, {why}: others could put another folder in their place",
            f"chmod go-w {folder.path}, or keep the runs elsewhere (--runs, SANDBOX_PIN_RUNS).",
            severity=Severity.ERROR if everyone else Severity.WARNING,
        )
    ]
