"""``step``, ``resume`` and ``unblock``: take a run further, past its pin (design: "Order of a command")."""

from msgspec import Struct
from msgspec.structs import replace

from sandbox_pin.core.decision import Decision, Refuse, Unchanged
from sandbox_pin.core.describe import find_difference
from sandbox_pin.core.gate import RefuseLaunch
from sandbox_pin.core.request import SandboxRequest
from sandbox_pin.core.run_state import PROTOCOL, RunStatus
from sandbox_pin.errors import BusyError, PlacementError, StateError, UsageError
from sandbox_pin.shell.apply import apply_decision, decide_beside_log
from sandbox_pin.shell.asking import Asked, read_request
from sandbox_pin.shell.guard import Tell
from sandbox_pin.shell.logged_launch import launch
from sandbox_pin.shell.outcome import CommandMissing, GateClosed, Launched, Outcome, Refused, Unblocked
from sandbox_pin.shell.preparation import Prepared, prepare, tell_unenforced
from sandbox_pin.shell.programs import NotFound, find_command
from sandbox_pin.shell.reading import RunReading, read_run
from sandbox_pin.shell.runs import LoadedRun, RunFolder, hold_run
from sandbox_pin.shell.surroundings import operator_name, search_path


def step(root: str, run: str, words: tuple[str, ...], *, asked: Asked, wait: float, tell: Tell) -> Outcome:
    """Launches a command of a ready run.

    Args:
        root: the folder of all runs.
        run: the run's id.
        words: the command.
        asked: the operator's options.
        wait: how long to wait for another command on the run, in seconds.
        tell: told what the operator must know before the launch.

    Raises:
        UsageError: no such run, or it is not ready; a folder is wrong.
        StateError: state or log is damaged.
        ConfigurationError: the configuration, or the placement of what decides.
        BusyError: another command, or a launch that outlived its command, holds the run.
        StorageError: a change could not be logged or saved.
    """
    with hold_run(root, run, wait=wait) as folder:
        taken = _take_up(root, folder, RunStatus.READY, asked=asked, tell=tell)
        return _launch_next(folder, taken, words, asked=asked, tell=tell)


def resume(root: str, run: str, *, asked: Asked, wait: float, tell: Tell) -> Outcome:
    """Launches a blocked run's last command again. Arguments and errors as ``step``."""
    with hold_run(root, run, wait=wait) as folder:
        taken = _take_up(root, folder, RunStatus.BLOCKED, asked=asked, tell=tell)
        words = taken.reading.loaded.state.command
        if not words:
            raise UsageError(
                "it has no last command to launch again",
                file=folder.state_path,
                field="command",
                remedy=f"Make it ready with {folder.command('unblock')}, then step it with a command.",
            )
        return _launch_next(folder, taken, words, asked=asked, tell=tell)


def unblock(root: str, run: str, *, asked: Asked, wait: float, tell: Tell) -> Outcome:
    """Makes a blocked run ready, past its pin, and launches nothing. Arguments and errors as ``step``."""
    with hold_run(root, run, wait=wait) as folder:
        taken = _take_up(root, folder, RunStatus.BLOCKED, asked=asked, tell=tell)
        decision = _decide(taken, asked)
        if isinstance(decision, Refuse):
            return _refused(folder, decision, asked)
        loaded = _apply(folder, taken.reading, decision, tell)
        ready = replace(loaded.state, status=RunStatus.READY, launch=None)
        _ = folder.save(loaded, ready, decision.pin)
    return Unblocked(run=run, decision=decision)


class _Taken(Struct, frozen=True, kw_only=True):
    """A run that this command has taken up: read, and its surroundings judged."""

    reading: RunReading
    request: SandboxRequest
    prepared: Prepared


def _take_up(root: str, folder: RunFolder, wanted: RunStatus, *, asked: Asked, tell: Tell) -> _Taken:
    reading = read_run(folder)
    state = reading.loaded.state
    if reading.busy and state.launch is not None:
        raise BusyError(
            f"busy: its launch still lives as process {state.launch.pid}, though its command has ended",
            file=folder.path,
            remedy=f"Wait for that process to end, or end it: kill -KILL {state.launch.pid}.",
        )
    _tell_reading(folder, reading, tell)
    requested = read_request(asked)
    if state.workspace is None:
        raise StateError(
            "lost: the run was recovered without it",
            file=folder.state_path,
            field="workspace",
            remedy="Begin a new run in that folder with sandbox-pin run.",
        )
    prepared = prepare(
        requested,
        asked,
        root=root,
        state=folder.state_path,
        log=folder.log.shown_as,
        workspace=state.workspace,
        held=reading.in_force,
        kind=state.kind,
        tell=tell,
    )
    if state.protocol >= PROTOCOL and prepared.profile.workspace != state.workspace:
        # What was recorded is a real path: a link on it came later, from whoever may write there.
        raise PlacementError(
            f"the workspace leads elsewhere by now: to {prepared.profile.workspace}",
            file=state.workspace,
            expected="the folder that the run was made in, with no link on the way",
            remedy="Put the folder back, or begin a new run where it is now.",
        )
    if reading.status is not wanted:
        further = f"{folder.command('step')} takes it further."
        if reading.status is RunStatus.BLOCKED:
            again, ready = folder.command("resume"), folder.command("unblock")
            further = f"{again} launches its last command again, {ready} makes it ready."
        raise UsageError(
            f"the run is {reading.status}", file=folder.path, expected=f"one that is {wanted}", remedy=further
        )
    return _Taken(reading=reading, request=requested.request, prepared=prepared)


def _launch_next(
    folder: RunFolder, taken: _Taken, words: tuple[str, ...], *, asked: Asked, tell: Tell
) -> Outcome:
    profile = taken.prepared.profile
    command = find_command(words, folder=profile.workspace, path=search_path())
    if isinstance(command, NotFound):
        return CommandMissing(run=folder.run, missing=command)
    decision = _decide(taken, asked)
    if isinstance(decision, Refuse):
        return _refused(folder, decision, asked)
    gate = taken.prepared.pass_gate(decision.pin, taken.reading.loaded.state.kind)
    loaded = _apply(folder, taken.reading, decision, tell)
    if isinstance(gate, RefuseLaunch):
        # What could not be launched is what resume launches later.
        blocked = replace(loaded.state, status=RunStatus.BLOCKED, command=words, launch=None)
        _ = folder.save(loaded, blocked, decision.pin)
        return GateClosed(run=folder.run, decision=decision, gate=gate)
    tell_unenforced(gate, tell)
    end = launch(folder, loaded, decision.pin, gate=gate, command=command, profile=profile)
    return Launched(run=folder.run, decision=decision, gate=gate, end=end)


def _refused(folder: RunFolder, decision: Refuse, asked: Asked) -> Refused:
    return Refused(
        run=folder.run,
        decision=decision,
        consent=asked.consent,
        pinned_by=folder.log.last_request(),
    )


def _decide(taken: _Taken, asked: Asked) -> Decision:
    return decide_beside_log(
        taken.reading.in_force,
        taken.request,
        log_failure=taken.reading.log_failure,
        kind=taken.reading.loaded.state.kind,
        accept_config_change=asked.consent.covers(taken.request),
    )


def _apply(folder: RunFolder, reading: RunReading, decision: Decision, tell: Tell) -> LoadedRun:
    loaded = reading.loaded
    applied = apply_decision(
        decision,
        state=loaded.pin,
        log=folder.log,
        save=lambda pin: folder.save(loaded, replace(loaded.state, protocol=PROTOCOL), pin),
        run=folder.run,
        operator=operator_name(),
    )
    if not isinstance(decision, Unchanged):
        tell(decision)
    if applied is not None and applied.not_logged is not None:
        tell(f"warning: the pin was raised, but that could not be logged: {applied.not_logged}")
    return folder.load()


def _tell_reading(folder: RunFolder, reading: RunReading, tell: Tell) -> None:
    if reading.passed_over:
        tell(f"warning: {reading.passed_over} torn line(s) at the end of {folder.log.shown_as} passed over")
    difference = find_difference(reading.loaded.pin, reading.witness)
    if difference is not None:
        tell(difference)
