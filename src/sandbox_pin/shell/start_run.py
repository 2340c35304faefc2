"""``run``: makes a run and launches its first command. Refused by anything, it leaves nothing behind."""

from sandbox_pin.core.decision import Accept
from sandbox_pin.core.describe import describe_request
from sandbox_pin.core.event import Parent, RunCreated
from sandbox_pin.core.gate import RefuseLaunch
from sandbox_pin.core.modes import RunKind
from sandbox_pin.core.record import Disputed, SandboxPin, Unpinned
from sandbox_pin.core.request import SandboxRequest
from sandbox_pin.core.rule import create_pin, decide
from sandbox_pin.core.run_state import PROTOCOL, RunState, RunStatus
from sandbox_pin.errors import UsageError
from sandbox_pin.shell.apply import apply_decision
from sandbox_pin.shell.asking import Asked, read_request
from sandbox_pin.shell.guard import Tell
from sandbox_pin.shell.logged_launch import launch
from sandbox_pin.shell.outcome import CommandMissing, Created, GateClosed, Launched, Outcome
from sandbox_pin.shell.preparation import prepare, tell_unenforced
from sandbox_pin.shell.programs import NotFound, find_command
from sandbox_pin.shell.reading import read_run_unlocked
from sandbox_pin.shell.run_creation import create_run, refuse_existing, root_made
from sandbox_pin.shell.runs import log_path, open_run, state_path
from sandbox_pin.shell.surroundings import now, operator_name, search_path


def start_run(
    root: str,
    run: str,
    words: tuple[str, ...],
    *,
    asked: Asked,
    workspace: str,
    kind: RunKind,
    parent: str | None,
    tell: Tell,
) -> Outcome:
    """Makes a run, pinned to the request, and launches its first command.

    Args:
        root: the folder of all runs.
        run: the new run's id.
        words: the command.
        asked: the operator's options.
        workspace: the folder that the run works in.
        kind: who owns the work.
        parent: the id of the run that it is made from; it has at least that run's strength.
        tell: told what the operator must know before the launch.

    Raises:
        UsageError: the id, a folder or the parent is wrong, or there is such a run already.
        StateError: the parent is damaged.
        ConfigurationError: the configuration, or the placement of what decides.
        StorageError: the run could not be made, or its launch not be told.
    """
    refuse_existing(root, run)
    requested = read_request(asked)
    request = requested.request
    origin = None if parent is None else _read_parent(root, parent)
    at = now()
    floor = create_pin(
        request, kind=kind, at=at, parent=None if origin is None else (origin.pin, origin.kind)
    )
    decision = decide(floor, request, kind=kind, accept_config_change=asked.consent.covers(request), at=at)
    # Held up by its parent: not a refusal, as there is nothing yet that could be weakened.
    pin = decision.pin if isinstance(decision, Accept) else floor
    prepared = prepare(
        requested,
        asked,
        root=root,
        state=state_path(root, run),
        log=log_path(root, run),
        workspace=workspace,
        held=floor,
        kind=kind,
        tell=tell,
    )
    command = find_command(words, folder=prepared.profile.workspace, path=search_path())
    if isinstance(command, NotFound):
        return CommandMissing(run=run, missing=command)
    created = Created(pin=pin, parent=origin)
    with root_made(root):
        gate = prepared.pass_gate(pin, kind)
        if isinstance(gate, RefuseLaunch):
            return GateClosed(run=run, decision=created, gate=gate)
        state = RunState(
            protocol=PROTOCOL,
            run=run,
            kind=kind,
            status=RunStatus.READY,
            workspace=prepared.profile.workspace,
            created_at=at,
            parent=parent,
        )
        entry = RunCreated(
            at=at,
            run=run,
            kind=kind,
            pin=floor,
            workspace=prepared.profile.workspace,
            parent=origin,
            request=request,
            operator=operator_name(),
        )
        with create_run(root, state, floor, [entry]) as folder:
            loaded = folder.load()
            if isinstance(decision, Accept):
                new = loaded
                _ = apply_decision(
                    decision,
                    state=floor,
                    log=folder.log,
                    save=lambda pin: folder.save(new, new.state, pin),
                    run=run,
                    operator=operator_name(),
                )
                loaded = folder.load()
            tell(_made(run, pin, request, parent))
            tell_unenforced(gate, tell)
            end = launch(folder, loaded, pin, gate=gate, command=command, profile=prepared.profile)
    return Launched(run=run, decision=created, gate=gate, end=end)


def _made(run: str, pin: SandboxPin, request: SandboxRequest, parent: str | None) -> str:
    if pin.mode is request.mode:
        return f"the run {run} is pinned to {describe_request(request)}"
    asked = describe_request(request)
    return f"the run {run} is pinned to {pin.mode}, held up by its parent {parent}; asked for was {asked}"


def _read_parent(root: str, parent: str) -> Parent:
    with open_run(root, parent) as folder:
        reading = read_run_unlocked(folder)
        settle = folder.command("unblock"), folder.command("step")
    pin = reading.in_force
    if isinstance(pin, Unpinned | Disputed):
        found = "it has no pin yet" if isinstance(pin, Unpinned) else "its backend is disputed"
        raise UsageError(
            f"{found}, so that no child can be held to it",
            file=folder.path,
            field="--parent",
            remedy=f"Settle it first, with its configuration: {' or '.join(settle)}",
        )
    return Parent(run=parent, kind=reading.loaded.state.kind, pin=pin)
