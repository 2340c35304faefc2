"""``doctor``: gathers what ``core/doctor*.py`` judge. It changes nothing that stays, unless told to clear."""

import os
import stat
from typing import Final

from msgspec.structs import replace

from sandbox_pin.core.doctor import Trial, judge_leftovers, judge_trials, judge_violations
from sandbox_pin.core.doctor_finding import Finding
from sandbox_pin.core.doctor_host import HostSettings, judge_host
from sandbox_pin.core.doctor_run_root import FolderFacts, Trusted, judge_run_root
from sandbox_pin.core.gate import HostCapability
from sandbox_pin.core.placement import ItemRole, LaunchTree
from sandbox_pin.errors import StorageError
from sandbox_pin.shell.file_system_trial import try_file_system
from sandbox_pin.shell.guard import Guarded, judge
from sandbox_pin.shell.host import find_bubblewrap, probe_host
from sandbox_pin.shell.leftovers import find_leftovers
from sandbox_pin.shell.path_walk import PathReader
from sandbox_pin.shell.preparation import launch_profile
from sandbox_pin.shell.run_creation import root_made

_SETTINGS: Final = "/proc/sys"
_FILTERED: Final = "2"
"""``SECCOMP_MODE_FILTER`` (proc_pid_status(5))."""


def examine(root: str, *, workspace: str, writable: tuple[str, ...], clear: bool) -> list[Finding]:
    """Everything that is looked at, in the order in which it is told.

    Args:
        root: the folder of all runs.
        workspace: the folder that launches would work in.
        writable: the further folders that they would write.
        clear: whether to clear what killed commands left behind.

    Raises:
        UsageError: the workspace, or a further folder, is none.
        PlacementError: a path changes while it is looked at.
        StorageError: a path, or the folder of all runs, can't be read.
    """
    program = find_bubblewrap()
    # A run's state and log lie in one folder: told once.
    guarded = Guarded(
        configuration=None, state=root, log=root, sandbox_program=program, trees=(workspace, *writable)
    )
    trees, violations = judge(guarded)
    violations = tuple(found for found in violations if found.role is not ItemRole.RUN_LOG)
    run_root = _judge_root(root)
    leftovers = find_leftovers(root, clear=clear) if os.path.isdir(root) else []
    trials, host = _try(root, trees, program)
    return [
        *judge_host(host, read_settings(), program=program),
        *judge_violations(violations, [tree.root.path for tree in trees]),
        *run_root,
        *judge_trials(root, trials),
        *judge_leftovers(leftovers),
    ]


def _try(root: str, trees: list[LaunchTree], program: str | None) -> tuple[list[Trial], HostCapability]:
    profile = launch_profile(trees, root)
    try:
        with root_made(root):
            return try_file_system(root), probe_host(program, profile)
    except StorageError as error:
        failed = Trial(what="making the folder of all runs", failure=error.problem)
        # What is not there can't be hidden from a launch.
        return [failed], probe_host(program, replace(profile, hidden=()))


def _judge_root(root: str) -> list[Finding]:
    way = PathReader().follow(root)
    end = _facts(way.end.path) if way.exists and way.end is not None else None
    # By their real paths, links on the way included, each once.
    paths = dict.fromkeys(folder.path for folder in way.folders)
    folders = [_facts(path) for path in paths]
    top = _facts("/")
    trusted = Trusted(user=os.getuid(), group=os.getgid(), system=top.owner, system_group=top.group)
    return judge_run_root(root, end, folders, trusted=trusted)


def _facts(path: str) -> FolderFacts:
    try:
        found = os.stat(path, follow_symlinks=False)
    except OSError as error:
        raise StorageError(error.strerror or str(error), file=path) from None
    return FolderFacts(
        path=path,
        is_folder=stat.S_ISDIR(found.st_mode),
        owner=found.st_uid,
        group=found.st_gid,
        mode=stat.S_IMODE(found.st_mode),
    )


def read_settings(folder: str = _SETTINGS) -> HostSettings:
    """What the kernel says about user namespaces.

    Args:
        folder: where its settings are.
    """
    return HostSettings(
        max_user_namespaces=_number(f"{folder}/user/max_user_namespaces"),
        unprivileged_userns_clone=_number(f"{folder}/kernel/unprivileged_userns_clone"),
        apparmor_restrict=_number(f"{folder}/kernel/apparmor_restrict_unprivileged_userns"),
        filtered=_seccomp() == _FILTERED,
        is_root=os.geteuid() == 0,
    )


def _number(path: str) -> int | None:
    try:
        with open(path, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None


def _seccomp() -> str | None:
    try:
        with open("/proc/self/status", encoding="utf-8", errors="replace") as file:
            told = dict(line.split(":", 1) for line in file if ":" in line)
    except OSError:
        return None
    return told.get("Seccomp", "").strip()
