"""One launch of a run, told in its log and its state from start to end (design: "The gate")."""

import contextlib

from msgspec.structs import replace

from sandbox_pin.core.event import LaunchEnded, LaunchStarted
from sandbox_pin.core.gate import Enforce, RunUnenforced
from sandbox_pin.core.record import SandboxPin
from sandbox_pin.core.run_state import RunStatus
from sandbox_pin.errors import StorageError
from sandbox_pin.shell.bubblewrap import Profile
from sandbox_pin.shell.held_launch import LaunchEnd, signals_for_launch
from sandbox_pin.shell.launch import hold_launch
from sandbox_pin.shell.programs import Command
from sandbox_pin.shell.runs import LoadedRun, RunFolder
from sandbox_pin.shell.surroundings import now


def launch(
    folder: RunFolder,
    loaded: LoadedRun,
    pin: SandboxPin,
    *,
    gate: Enforce | RunUnenforced,
    command: Command,
    profile: Profile,
) -> LaunchEnd:
    """Launches a command of a run that this command holds, and waits for its end.

    A launch whose start can't be logged, or whose process can't be saved in the state, does not happen.

    Args:
        folder: the run's folder, held.
        loaded: its state as it stands.
        pin: the pin that the state holds.
        gate: what the gate said.
        command: what is launched.
        profile: where it works, and what it may write.

    Raises:
        StorageError: it did not happen; or it has ended, and that could not be logged or saved.
    """
    state = loaded.state
    started = LaunchStarted(
        at=now(),
        run=folder.run,
        kind=state.kind,
        pin=pin,
        asked=gate.asked,
        enforced=isinstance(gate, Enforce),
        backend=gate.backend if isinstance(gate, Enforce) else None,
        why_not=None if isinstance(gate, Enforce) else gate.why,
        program=command.program,
        workspace=profile.workspace,
        writable=profile.writable,
    )
    with signals_for_launch(own_session=isinstance(gate, Enforce) and profile.new_session) as mask:
        folder.log.append(started)
        try:
            held = hold_launch(gate, command, profile, run=folder.run, mask=mask)
        except StorageError:
            _log_that_it_did_not_run(folder, loaded, pin)
            raise
        running = replace(state, status=RunStatus.RUNNING, command=command.words, launch=held.process)
        try:
            loaded = folder.save(loaded, running, pin)
        except StorageError:
            held.abandon()
            _log_that_it_did_not_run(folder, loaded, pin)
            raise
        end = held.run()
        status = RunStatus.READY if end.succeeded else RunStatus.BLOCKED
        try:
            folder.log.append(_ended(folder, loaded, pin, end))
        finally:
            _ = folder.save(loaded, replace(running, status=status, launch=None), pin)
    return end


def _log_that_it_did_not_run(folder: RunFolder, loaded: LoadedRun, pin: SandboxPin) -> None:
    """As far as it can be logged: the failure to come is what the operator is told."""
    with contextlib.suppress(StorageError):
        folder.log.append(_ended(folder, loaded, pin, LaunchEnd(ran=False)))


def _ended(folder: RunFolder, loaded: LoadedRun, pin: SandboxPin, end: LaunchEnd) -> LaunchEnded:
    return LaunchEnded(
        at=now(),
        run=folder.run,
        kind=loaded.state.kind,
        pin=pin,
        ran=end.ran,
        exit_code=end.exit_code,
        signal=None if end.signal is None else end.signal.name,
    )
