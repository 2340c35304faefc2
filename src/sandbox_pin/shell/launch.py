"""The only place that starts an agent's process. It takes a gate decision, never a mode (design: "The gate").

The launch is held until the run's state knows its process; ``held_launch.py`` lets it run.
"""

import os
from signal import Signals
from typing import Final, assert_never

from sandbox_pin.core.gate import Enforce, RunUnenforced
from sandbox_pin.errors import InsideLaunchError, StorageError
from sandbox_pin.shell.bubblewrap import Profile, open_memory, sandbox_arguments
from sandbox_pin.shell.guardian import guard
from sandbox_pin.shell.held_launch import HeldLaunch
from sandbox_pin.shell.processes import identify
from sandbox_pin.shell.programs import Command
from sandbox_pin.shell.spawn import Child, spawn

MARKER: Final = "SANDBOX_PIN_LAUNCH"
"""The variable that tells a launch that it is one; its value is the run's id. It is no boundary."""

_OURS: Final = "SANDBOX_PIN_"


def refuse_inside_a_launch(what: str) -> None:
    """Refuses what only the operator may do, where the marker says that a launch asks.

    An agent with a shell can take the marker away: this stops an honest mistake, and is no boundary.

    Raises:
        InsideLaunchError: the marker is set.
    """
    if MARKER in os.environ:
        raise InsideLaunchError(
            f"{what} is refused from inside a launch (of the run {os.environ[MARKER]})",
            remedy="It is the operator's to use, outside of any run.",
        )


def wants_new_session() -> bool:
    """Whether a launch must be kept from the terminal's input queue (TIOCSTI, ioctl_tty(2)).

    A terminal is needed for an agent that a person talks to; it is safe to hand on where the kernel refuses
    that request to all.
    """
    if not os.isatty(0):
        return True
    try:
        with open("/proc/sys/dev/tty/legacy_tiocsti", "rb") as file:
            return file.read().strip() != b"0"
    except OSError:
        return True


def launch_arguments(
    gate: Enforce | RunUnenforced, command: list[str], profile: Profile, *, status: int | None = None
) -> list[str]:
    """The arguments of one launch, for a program that starts its processes itself.

    Args:
        gate: what the gate said; a refused launch has no arguments.
        command: the command, its program's absolute path first.
        profile: where it works, and what it may write.
        status: the descriptor that the sandbox reports on (``read_report``); ``None``: it does not.
    """
    match gate:
        case Enforce(program=program):
            return [*sandbox_arguments(program, profile, status=status), *command]
        case RunUnenforced():
            return command
        case _:
            assert_never(gate)


def hold_launch(
    gate: Enforce | RunUnenforced, command: Command, profile: Profile, *, run: str, mask: set[Signals]
) -> HeldLaunch:
    """Starts the process of a launch, and holds it.

    Args:
        gate: what the gate said.
        command: what is launched.
        profile: where it works, and what it may write.
        run: the run's id, for the marker.
        mask: the signals that it starts with blocked, from ``signals_for_launch``.

    Raises:
        StorageError: the system can't make another process.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    environment[MARKER] = run
    status = open_memory("status") if isinstance(gate, Enforce) else None
    arguments = launch_arguments(
        gate, command.arguments, profile, status=None if status is None else status.fileno()
    )
    # Without a sandbox the command stays in this session; in one, only where it gets none of its own.
    shares = status is None or not profile.new_session
    would_steal = _steals_input(shares_terminal=shares)
    kept = None if status is None else status.fileno()

    def start() -> Child:  # pragma: no cover - called in the guardian, another process
        return spawn(
            arguments,
            environment=environment,
            folder=profile.workspace,
            standard=(_nothing() if would_steal else 0, 1, 2),
            kept=kept,
            dies_with_parent=status is None,
            mask=mask,
        )

    try:
        guardian = guard(start, new_session=not shares)
    except OSError as error:
        if status is not None:
            status.close()
        raise StorageError(f"no process could be started: {error.strerror}") from None
    process = identify(guardian.pid)
    if process is None:
        guardian.abandon()
        if status is not None:
            status.close()
        raise StorageError("the new process can't be seen in /proc", expected="a /proc that is mounted")
    return HeldLaunch(guardian, process, status=status, shares_terminal=shares)


def _steals_input(*, shares_terminal: bool) -> bool:
    """Whether the command would read what the operator types to something else.

    Job control does not stop a reader of another session: a launch in the background gets no terminal.
    """
    return not shares_terminal and os.isatty(0) and os.tcgetpgrp(0) != os.getpgrp()


def _nothing() -> int:
    return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
