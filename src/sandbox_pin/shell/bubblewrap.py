"""The arguments of one launch under bubblewrap: the one profile that there is (bwrap(1); design: "The gate").

| what | how |
|---|---|
| the file system | read-only; the workspace and each ``--writable`` folder writable; /tmp private |
| /run and the folder of all runs | hidden: sockets of the host, and states that hold other runs' commands |
| the network | the host's: an agent must reach its model |
| namespaces | its own of users, processes, IPC and host names; no further user namespaces inside |
| rights | no capabilities; /proc/sys read-only, which root could write otherwise |
| life | dies with its controller |
"""

import contextlib
import os
import select
import signal
from io import FileIO
from typing import Final

import msgspec
from msgspec import Struct

NAME: Final = "bubblewrap"
_RESOLVER: Final = "/etc/resolv.conf"


class Profile(Struct, frozen=True, kw_only=True):
    """What differs from launch to launch.

    Attributes:
        workspace: the absolute path, links resolved, of the folder that the command works in and may write.
        writable: the same of each further folder that it may write.
        hidden: the same of each folder that it must not see.
        new_session: whether it gets a session of its own, so that it can't type into the operator's terminal.
    """

    workspace: str
    writable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    new_session: bool = True


def sandbox_arguments(program: str, profile: Profile, *, status: int | None = None) -> list[str]:
    """The command line of bwrap, up to where the command follows.

    Args:
        program: bwrap's path.
        profile: what differs from launch to launch.
        status: the descriptor that bwrap reports on: a line with ``exit-code`` is there only if the command
            was really run and waited for, as bwrap's own failure has the same exit status as a command's.
            ``None``: it does not report.
    """
    # The order matters: what is mounted later covers what is below it.
    arguments = [program, "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
    arguments += ["--disable-userns", "--die-with-parent", "--cap-drop", "ALL"]
    if profile.new_session:
        arguments += ["--new-session"]
    arguments += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    arguments += ["--ro-bind", "/proc/sys", "/proc/sys", "--tmpfs", "/tmp"]  # noqa: S108 - the sandbox's own
    closed = ["/run", *(folder for folder in profile.hidden if not _is_below(folder, ("/tmp", "/run")))]  # noqa: S108
    for folder in closed:
        arguments += ["--tmpfs", folder]
    resolver = os.path.realpath(_RESOLVER)
    if _is_below(resolver, ("/run",)):
        arguments += ["--ro-bind-try", resolver, resolver]
    for folder in sorted({profile.workspace, *profile.writable}):
        arguments += ["--bind", folder, folder]
    for folder in closed:
        arguments += ["--remount-ro", folder]
    if status is not None:
        arguments += ["--json-status-fd", str(status)]
    return [*arguments, "--chdir", profile.workspace, "--"]


class Report(Struct, frozen=True):
    """What bwrap told of a launch.

    Attributes:
        child_pid: the number, out here, of the first process inside; ``None``: no sandbox was made.
        exit_code: the command's; ``None``: the command was not run, or not waited for.
    """

    child_pid: int | None = None
    exit_code: int | None = None


class _Line(Struct, rename="kebab"):
    child_pid: int | None = None
    exit_code: int | None = None


def open_memory(name: str) -> FileIO:
    """A file in memory: bwrap writes to it without anyone having to read at the same time."""
    return FileIO(os.memfd_create(name, os.MFD_CLOEXEC), "r+")


def read_report(status: FileIO) -> Report:
    """What bwrap has told so far on the descriptor that it was given for ``--json-status-fd``."""
    report = Report()
    for line in os.pread(status.fileno(), 1 << 16, 0).splitlines():
        try:
            told = msgspec.json.decode(line, type=_Line)
        except msgspec.MsgspecError:
            continue
        report = Report(
            child_pid=report.child_pid if told.child_pid is None else told.child_pid,
            exit_code=report.exit_code if told.exit_code is None else told.exit_code,
        )
    return report


def end_sandbox(report: Report) -> None:
    """Ends the first process inside, and with it all the others, and waits until they are gone.

    It should be dying by itself once bwrap has ended. But what runs inside can trace it, and make it forget
    to die with its parent, and report an end of the command that is none.
    """
    if report.child_pid is None:
        return
    try:
        first = os.pidfd_open(report.child_pid)
    except OSError:
        return  # all gone
    try:
        # Another process may have its number by now; the descriptor is of whichever is looked at here.
        if _is_first_of_a_namespace(report.child_pid):
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(first, signal.SIGKILL)
            # It has ended only when no other process is left in its namespace.
            _ = select.select([first], [], [])
    finally:
        os.close(first)


def _is_first_of_a_namespace(pid: int) -> bool:
    """Whether it is a process namespace's first; in what can be read of a process that hides the rest too."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            told = next((line for line in file if line.startswith(b"NSpid:")), b"")
    except OSError:
        return False
    _, *numbers = told.split() or [b""]
    return len(numbers) > 1 and numbers[-1] == b"1"


def _is_below(path: str, folders: tuple[str, ...]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)
