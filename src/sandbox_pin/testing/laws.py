"""The laws of the pin, each as a check of somebody's own orchestrator (design: "The rules").

Each check makes a fresh run, does to it what would break its law, and raises ``LawBroken`` with what broke.
They ask for ``required`` and ``disabled`` alone, whose order is the same for both kinds of run.

A crash between two writes is looked at through its likeness: a log that takes no entry, and a state put back
from an old copy.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

from sandbox_pin.core.describe import describe_held
from sandbox_pin.core.event import PinAccepted, PinStrengthened
from sandbox_pin.core.modes import SandboxMode
from sandbox_pin.core.record import SandboxPin, Unpinned, describe_pin
from sandbox_pin.core.request import SandboxRequest
from sandbox_pin.testing.adapter import LawBroken, MakeOrchestrator, OrchestratorUnderTest
from sandbox_pin.testing.builders import build_pin, build_request
from sandbox_pin.testing.environment import SAYS_YES, names_that_are_read, variable
from sandbox_pin.testing.whole_log import read_entries

STRONG: Final = build_request(mode=SandboxMode.REQUIRED)
WEAK: Final = build_request(mode=SandboxMode.DISABLED)


def check_refused_changes_nothing(make: MakeOrchestrator) -> None:
    """A weaker request without the flag is refused; state and log are as they were.

    Raises:
        LawBroken: it was launched, or pin or log changed.
    """
    run = _started(make, STRONG)
    before = (run.read_pin(), list(run.read_log()))
    _must_refuse(run, "a run pinned to required was asked for disabled, without the flag")
    pin, log = run.read_pin(), list(run.read_log())
    if pin != before[0]:
        raise LawBroken(
            f"a refusal changed the state's pin: from {describe_held(before[0])} to {describe_held(pin)}"
        )
    if log != before[1]:
        raise LawBroken(
            f"a refusal changed the run log: from {len(before[1])} entries to {len(log)}, or in one"
        )


def check_as_strong_changes_nothing(make: MakeOrchestrator) -> None:
    """A request as strong as the pin is launched, and leaves the pin's mode, source and time.

    Raises:
        LawBroken: it was refused, or the pin changed.
    """
    run = _started(make, STRONG)
    before = run.read_pin()
    _must_launch(run, STRONG, "the run is pinned to required, and required was asked for")
    if run.read_pin() != before:
        raise LawBroken(
            f"a request as strong as the pin changed it: from {describe_held(before)} to "
            f"{describe_held(run.read_pin())}"
        )


def check_stronger_raises_the_pin(make: MakeOrchestrator) -> None:
    """A stronger request raises the pin, in state and log; in the state even where it can't be logged.

    Raises:
        LawBroken: it was refused, the pin stayed below, or the log does not tell.
    """
    run = _started(make, WEAK)
    _must_launch(run, STRONG, "the run is pinned to disabled, and required was asked for")
    _must_hold(run.read_pin(), SandboxMode.REQUIRED, "a stronger request did not raise the state's pin")
    if not any(isinstance(entry, PinStrengthened) for entry in read_entries(run.read_log())):
        raise LawBroken("a stronger request raised the pin, and the run log has no entry pin_strengthened")

    run = _started(make, WEAK)
    run.break_log()
    with suppress(Exception):
        _ = run.command(STRONG, accept_config_change=False)
    told = "a stronger request that could not be logged did not raise the state's pin"
    _must_hold(run.read_pin(), SandboxMode.REQUIRED, told)


def check_accept_is_logged_first(make: MakeOrchestrator) -> None:
    """An accepted weaker request is in the log before it is in the state; unlogged, it does not happen.

    Raises:
        LawBroken: it was refused, the log or the state does not tell it, or it happened without its entry.
    """
    run = _started(make, STRONG)
    told = "the run is pinned to required, and disabled was asked for with the flag"
    _must_launch(run, WEAK, told, accept_config_change=True)
    _must_hold(run.read_pin(), SandboxMode.DISABLED, "an accept is not in the state")
    accepted = [entry for entry in read_entries(run.read_log()) if isinstance(entry, PinAccepted)]
    if not accepted:
        raise LawBroken("an accept is in the state, and the run log has no entry pin_accepted")
    if accepted[-1].pin != run.read_pin():
        raise LawBroken(
            f"the log's accept carries {describe_pin(accepted[-1].pin)}, the state holds "
            f"{describe_held(run.read_pin())}"
        )

    run = _started(make, STRONG)
    run.break_log()
    launched = False
    with suppress(Exception):
        launched = run.command(WEAK, accept_config_change=True)
    if launched:
        raise LawBroken("an accept that could not be logged was launched")
    told = "an accept that could not be logged is in the state: it was saved first"
    _must_hold(run.read_pin(), SandboxMode.REQUIRED, told)


def check_consent_is_for_one_command(make: MakeOrchestrator) -> None:
    """The flag covers its own command; once the pin is up again, a weaker request is refused again.

    Raises:
        LawBroken: an earlier flag accepted a later request.
    """
    run = _started(make, STRONG)
    before = run.read_pin()
    _ = run.command(WEAK, accept_config_change=True)
    run.put_pin(before)
    _must_refuse(run, "the flag was given to an earlier command, not to this one")


def check_witness_holds(make: MakeOrchestrator) -> None:
    """What the log's last entry says holds, even where the state was put back to less, or lost its pin.

    Raises:
        LawBroken: the state's word alone was asked.
    """
    run = _started(make, STRONG)
    for pin in (build_pin(mode=SandboxMode.DISABLED), Unpinned()):
        run.put_pin(pin)
        _must_refuse(
            run,
            f"the run log says required, and the state was put back to {describe_held(pin)}",
            or_fail=isinstance(pin, Unpinned),
        )


def check_environment_accepts_nothing(make: MakeOrchestrator, *, variables: Iterable[str] = ()) -> None:
    """No environment variable stands for the flag, or for the mode.

    Every variable that a refused command looks up in this process (``os.environ``, ``os.getenv``) is set to
    words that say yes, one at a time, and the command is given again.

    Args:
        make: makes the orchestrator.
        variables: further names, such as those that a process of its own would look up.

    Raises:
        LawBroken: with one of them set, the weaker request was launched.
    """
    run = _started(make, STRONG)
    with names_that_are_read() as names:
        _ = run.command(WEAK, accept_config_change=False)
    for name in sorted({*names, *variables}):
        for word in SAYS_YES:
            run = _started(make, STRONG)
            launched = False
            with variable(name, word), suppress(Exception):
                launched = run.command(WEAK, accept_config_change=False)
            if launched:
                raise LawBroken(f"the variable {name}={word} accepted a weaker request")


LAWS: Final[tuple[Callable[[MakeOrchestrator], None], ...]] = (
    check_refused_changes_nothing,
    check_as_strong_changes_nothing,
    check_stronger_raises_the_pin,
    check_accept_is_logged_first,
    check_consent_is_for_one_command,
    check_witness_holds,
    check_environment_accepts_nothing,
)
"""Every law that needs nothing but an orchestrator; ``check_pin_never_weaker`` is for a log that is there."""


def _started(make: MakeOrchestrator, request: SandboxRequest) -> OrchestratorUnderTest:
    run = make()
    run.start(request)
    _must_hold(run.read_pin(), request.mode, "a new run is not pinned to its request")
    return run


def _must_hold(pin: SandboxPin | Unpinned, mode: SandboxMode, told: str) -> None:
    if isinstance(pin, Unpinned) or pin.mode is not mode:
        raise LawBroken(f"{told}: expected {mode}, found {describe_held(pin)}")


def _must_launch(
    run: OrchestratorUnderTest, request: SandboxRequest, told: str, *, accept_config_change: bool = False
) -> None:
    if not run.command(request, accept_config_change=accept_config_change):
        raise LawBroken(f"refused, though it must be launched: {told}")


def _must_refuse(run: OrchestratorUnderTest, told: str, *, or_fail: bool = False) -> None:
    try:
        launched = run.command(WEAK, accept_config_change=False)
    except Exception:
        if or_fail:
            return
        raise
    if launched:
        raise LawBroken(f"launched, though it must be refused: {told}")
