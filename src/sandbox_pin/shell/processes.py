"""Which process is which: a number is used again, a number with its start time is not (proc_pid_stat(5))."""

from typing import Final

from sandbox_pin.core.run_state import LaunchProcess

_STARTED: Final = 22 - 3
"""Where the start time stands behind the name, which may hold any character; field 3, the state, is first."""


def identify(pid: int) -> LaunchProcess | None:
    """The process of this number; ``None`` where there is none, or it has ended and waits to be reaped."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            behind_name = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    if behind_name[0] in {b"Z", b"X"}:
        return None
    return LaunchProcess(pid=pid, started=int(behind_name[_STARTED]), boot=_boot())


def is_alive(process: LaunchProcess) -> bool:
    """Whether this very process still lives."""
    return identify(process.pid) == process


def _boot() -> str:
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def children_of(pid: int) -> list[int]:
    """The processes that this one's first thread has started and not waited for; empty where it has ended."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", "rb") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []
