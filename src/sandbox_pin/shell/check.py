"""``check``: holds a run to its pin that another orchestrator keeps, and keeps all else in its files."""

from msgspec import Struct

from sandbox_pin.core.decision import Decision, Refuse
from sandbox_pin.core.describe import find_difference
from sandbox_pin.core.record import Unpinned
from sandbox_pin.core.request import SandboxRequest
from sandbox_pin.core.state import replace_pin
from sandbox_pin.shell.apply import decide_beside_log
from sandbox_pin.shell.asking import Asked, read_request
from sandbox_pin.shell.durable import replace_file
from sandbox_pin.shell.embedding import apply_request
from sandbox_pin.shell.foreign import ForeignRun, hold_files, read_foreign
from sandbox_pin.shell.guard import Guarded, Tell, enforce_placement
from sandbox_pin.shell.host import find_bubblewrap


class Checked(Struct, frozen=True, kw_only=True):
    """What became of the request.

    Attributes:
        run: the run's id in the log.
        decision: what was decided.
        applied: whether it was carried out; a dry run and a refusal are not.
        pinned_by: of a refused request: the one that the run was last pinned by, where its log tells.
    """

    run: str
    decision: Decision
    applied: bool
    pinned_by: SandboxRequest | None


def check_run(
    foreign: ForeignRun, *, asked: Asked, trees: tuple[str, ...], dry_run: bool, tell: Tell
) -> Checked:
    """Decides on a request, and carries it out on the run's own files.

    Args:
        foreign: the run's files.
        asked: the operator's options.
        trees: the folders that its launches may write.
        dry_run: whether to decide only.
        tell: told what the operator must know.

    Raises:
        UsageError: there is no such state, or a tree is no folder.
        StateError: state or log is damaged.
        ConfigurationError: the configuration, or the placement of what decides.
        BusyError: another command holds the state's folder.
        StorageError: a change could not be logged or saved.
    """
    with hold_files(foreign) as files:
        reading = read_foreign(foreign, files)
        difference = find_difference(reading.pin, reading.witness)
        if difference is not None:
            tell(difference)
        if reading.witness is None and not isinstance(reading.pin, Unpinned):
            tell(f"warning: the state alone holds the pin: {foreign.log} has no entry. Is --log right?")
        requested = read_request(asked)
        guarded = Guarded(
            configuration=requested.configuration,
            state=foreign.state,
            log=foreign.log,
            sandbox_program=find_bubblewrap(),
            trees=trees,
        )
        _ = enforce_placement(
            guarded, held=reading.in_force, request=requested.request, kind=foreign.kind, tell=tell
        )
        request = requested.request
        accept = asked.consent.covers(request)
        if dry_run:
            decision = decide_beside_log(
                reading.in_force,
                request,
                log_failure=reading.log_failure,
                kind=foreign.kind,
                accept_config_change=accept,
            )
        else:
            decision = apply_request(
                request,
                state=reading.pin,
                log=files.log,
                save=lambda pin: replace_file(
                    files.folder, files.name, replace_pin(reading.raw, pin), shown_as=foreign.state
                ),
                kind=foreign.kind,
                run=foreign.name,
                accept_config_change=accept,
            )
        refused = isinstance(decision, Refuse)
        return Checked(
            run=foreign.name,
            decision=decision,
            applied=not (dry_run or refused),
            pinned_by=files.log.last_request() if refused else None,
        )
