"""What the next command on a run would do, and why, without touching anything."""

from msgspec import Struct

from sandbox_pin.core.decision import Decision, Refuse, Strengthen
from sandbox_pin.core.describe import describe_gate
from sandbox_pin.core.gate import GateDecision, HostCapability, RefuseLaunch, pass_gate
from sandbox_pin.core.placement import Violation, describe_violations
from sandbox_pin.core.record import pinned_backend
from sandbox_pin.core.request import SandboxRequest
from sandbox_pin.core.rule import decide
from sandbox_pin.core.run_state import RunStatus
from sandbox_pin.errors import ConfigurationError, SandboxPinError, StorageError
from sandbox_pin.shell.asking import Asked, Requested, read_request
from sandbox_pin.shell.bubblewrap import Profile
from sandbox_pin.shell.guard import Guarded, grave_violations, judge
from sandbox_pin.shell.host import find_bubblewrap, probe_host
from sandbox_pin.shell.preparation import launch_profile
from sandbox_pin.shell.reading import read_run_unlocked
from sandbox_pin.shell.runs import open_run
from sandbox_pin.shell.summary import RunSummary, summary_of
from sandbox_pin.shell.surroundings import now


class Explanation(Struct, frozen=True, kw_only=True):
    """What the next command on a run would do, and why.

    Attributes:
        summary: the run.
        request: what the command would run under, each value with its provenance; ``None``: it can't be read.
        trees: the folders that its launch could write, links resolved.
        violations: what of the placement stands against it.
        host: what this host can enforce.
        decision: what the rule says.
        gate: what the gate says; ``None`` where the rule refuses.
        pinned_by: the request that the run was last pinned by, where its log tells.
        problems: what keeps the command from a launch, or from getting that far, in words.
        next_command: what it would do, in a sentence.
    """

    summary: RunSummary
    request: SandboxRequest | None
    trees: tuple[str, ...]
    violations: tuple[str, ...]
    host: HostCapability | None
    decision: Decision | None
    gate: GateDecision | None
    pinned_by: SandboxRequest | None
    problems: tuple[str, ...]
    next_command: str


def explain(root: str, run: str, *, asked: Asked) -> Explanation:
    """Says what the next command with these options would do.

    What keeps it from getting that far is told in ``problems``, and all else all the same.

    Raises:
        UsageError: no such run.
        StateError: state or log is damaged.
        StorageError: the state could not be read.
    """
    with open_run(root, run) as folder:
        reading = read_run_unlocked(folder)
        summary = summary_of(reading)
        state_path, log_path = folder.state_path, folder.log.shown_as
        pinned_by = folder.log.last_request()
    problems: list[str] = []
    if summary.busy:
        problems.append("a launch of the run lives, so that the command would find it busy")
    requested: Requested | None = None
    try:
        requested = read_request(asked)
    except ConfigurationError as error:
        problems.append(str(error))
    program = find_bubblewrap()
    profile: Profile | None = None
    violations: tuple[Violation, ...] = ()
    if summary.workspace is None:
        problems.append("the run has lost its workspace")
    else:
        guarded = Guarded(
            configuration=None if requested is None else requested.configuration,
            state=state_path,
            log=log_path,
            sandbox_program=program,
            trees=(summary.workspace, *asked.writable),
        )
        try:
            trees, found = judge(guarded)
        except SandboxPinError as error:
            problems.append(str(error))
        else:
            violations = found
            profile = launch_profile(trees, root)
    host = None if profile is None else probe_host(program, profile)
    decision: Decision | None = None
    gate: GateDecision | None = None
    if requested is not None:
        request = requested.request
        decision = decide(
            reading.in_force,
            request,
            kind=summary.kind,
            accept_config_change=asked.consent.covers(request),
            at=now(),
        )
        if not isinstance(decision, Refuse):
            pin = decision.pin
            gate = pass_gate(pin.mode, host, kind=summary.kind, backend=pinned_backend(pin))
        if grave_violations(violations, held=reading.in_force, request=request, kind=summary.kind):
            problems.append("the placement: see the violations")
    next_command = _next(tuple(problems), reading.log_failure, decision, gate, summary.status)
    # A refusal stands beside a log that can't be read; nothing is launched whose start can't be logged.
    if reading.log_failure is not None and not isinstance(decision, Refuse):
        problems.append(str(reading.log_failure))
    return Explanation(
        summary=summary,
        request=None if requested is None else requested.request,
        trees=() if profile is None else (profile.workspace, *profile.writable),
        violations=tuple(describe_violations(violations)),
        host=host,
        decision=decision,
        gate=gate,
        pinned_by=pinned_by,
        problems=tuple(problems),
        next_command=next_command,
    )


def _next(
    problems: tuple[str, ...],
    log_failure: StorageError | None,
    decision: Decision | None,
    gate: GateDecision | None,
    status: RunStatus,
) -> str:
    if problems or decision is None:
        return f"stops before it decides: {problems[0]}"
    if isinstance(decision, Refuse) or gate is None:
        return "refused; nothing is written or launched"
    if log_failure is not None:
        raised = (
            "raises the pin in the state, and launches" if isinstance(decision, Strengthen) else "changes"
        )
        return f"{raised} nothing: {log_failure}"
    if isinstance(gate, RefuseLaunch):
        return f"the pin is settled as the rule says, but {describe_gate(gate)}"
    by = "resume" if status is RunStatus.BLOCKED else "step"
    return f"{by} launches: {describe_gate(gate)}"
