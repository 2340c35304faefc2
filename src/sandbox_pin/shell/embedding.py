"""A run's first pin, and the whole rule, each in one call, over an orchestrator's own state and log.

``apply_request`` reads the log, joins it with the state's pin, decides, and carries the decision out: what
``pin_in_force``, ``decide`` and ``apply_decision`` do one after the other, and what becomes of a log that is
another run's or can't be read (design: "The rules").
"""

from sandbox_pin.core.decision import Decision
from sandbox_pin.core.event import RunCreated
from sandbox_pin.core.modes import RunKind
from sandbox_pin.core.record import SandboxPin, Unpinned
from sandbox_pin.core.request import SandboxRequest
from sandbox_pin.core.rule import create_pin, pin_in_force
from sandbox_pin.errors import StorageError
from sandbox_pin.shell.apply import RunLog, SavePin, apply_decision, decide_beside_log
from sandbox_pin.shell.run_log import refuse_another
from sandbox_pin.shell.surroundings import now, operator_name


def create_logged_pin(
    request: SandboxRequest, *, log: RunLog, kind: RunKind, run: str, workspace: str
) -> SandboxPin:
    """The first pin of a new run, in the log before this returns; the caller saves it with the new state.

    Without its entry in the log, a state that loses its pin looks like one from before pins.

    Args:
        request: what the run is to run under.
        log: the new run's log.
        kind: the run's kind.
        run: the run's id.
        workspace: the folder that its launches work in.

    Raises:
        StorageError: it could not be logged: make no run.
    """
    at = now()
    pin = create_pin(request, kind=kind, at=at)
    log.append(
        RunCreated(
            at=at,
            run=run,
            kind=kind,
            pin=pin,
            workspace=workspace,
            parent=None,
            request=request,
            operator=operator_name(),
        )
    )
    return pin


def apply_request(
    request: SandboxRequest,
    *,
    state: SandboxPin | Unpinned,
    log: RunLog,
    save: SavePin,
    kind: RunKind,
    run: str,
    accept_config_change: bool,
) -> Decision:
    """Decides on a request and carries the decision out. Launch only where it is no ``Refuse``.

    Time and operator's name are the system's. The caller holds its lock on the run from before it read
    ``state`` until this returns.

    Args:
        request: what this command would run under.
        state: the pin that the state holds, from ``read_pin``.
        log: where a change is told first; its last entry is the witness.
        save: puts a pin into the state, durably.
        kind: the run's kind.
        run: the run's id.
        accept_config_change: whether the operator accepts, for this command alone, a weaker request.

    Returns:
        What was decided; a refusal wrote nothing.

    Raises:
        StateError: the log's last entry is damaged, or of another run or kind.
        StorageError: the log could not be read and the request is neither refused nor stronger, or an accept
            or upgrade could not be logged: nothing happened. Or the save failed. Or a strengthening was
            saved and could not be logged.
    """
    failure: StorageError | None = None
    witness: SandboxPin | None = None
    try:
        entry = log.last_entry()
    except StorageError as error:
        failure = error
    else:
        if entry is not None:
            refuse_another(entry, kind=kind, run=run)
            witness = entry.pin
    decision = decide_beside_log(
        pin_in_force(state, witness, kind=kind),
        request,
        log_failure=failure,
        kind=kind,
        accept_config_change=accept_config_change,
    )
    applied = apply_decision(decision, state=state, log=log, save=save, run=run, operator=operator_name())
    if applied is not None and applied.not_logged is not None:
        raise applied.not_logged
    return decision
