"""``check`` and ``recover``: on files that another orchestrator keeps, or that are damaged."""

import sys
from collections.abc import Mapping
from typing import Final

import click
from msgspec import Struct

from sandbox_pin.cli.exit_status import ExitStatus
from sandbox_pin.cli.messages import refusal_lines, tell_notice
from sandbox_pin.cli.options import EXIT_STATUSES, asked_for, no_words, shared_options
from sandbox_pin.cli.screen import times_of
from sandbox_pin.cli.terminal import say_lines, screen_of, show, show_json
from sandbox_pin.core.consent import Consent
from sandbox_pin.core.decision import Decision, Refuse
from sandbox_pin.core.describe import describe_decision
from sandbox_pin.core.modes import RunKind, SandboxMode
from sandbox_pin.core.record import describe_pin
from sandbox_pin.errors import UsageError
from sandbox_pin.shell.check import check_run
from sandbox_pin.shell.foreign import ForeignRun
from sandbox_pin.shell.launch import refuse_inside_a_launch
from sandbox_pin.shell.locks import DEFAULT_WAIT
from sandbox_pin.shell.recover import recover_files, recover_run
from sandbox_pin.shell.runs import check_run_id, runs_root, spell_command

_LONGEST_NAME: Final = 255
"""In characters: what a log entry can hold (``core/event.py``)."""

_KINDS: Final = click.Choice([kind.value for kind in RunKind])


@click.command("check", epilog=EXIT_STATUSES)
@click.option("--state", metavar="FILE", required=True, help="The run's state, one JSON object.")
@click.option("--log", metavar="FILE", required=True, help="Its run log; made with the pin's first change.")
@click.option("--kind", type=_KINDS, required=True, help="Who owns the work.")
@click.option("--run", metavar="ID", help="Its id in the log [default: the state's file name].")
@shared_options("config", "mode", "accept")
@click.option("--tree", "trees", metavar="DIR", multiple=True, help="A folder that its launches may write.")
@click.option(
    "--pinned-since",
    metavar="N",
    type=click.IntRange(1),
    help="The state's first protocol that has a pin [default: it says nothing of its age].",
)
@click.option("--dry-run", is_flag=True, help="Decide, and change nothing.")
@shared_options("json")
@click.pass_obj
def _check(
    words: tuple[str, ...] | None,
    *,
    state: str,
    log: str,
    kind: str,
    run: str | None,
    config: str | None,
    mode: SandboxMode | None,
    consent: Consent,
    trees: tuple[str, ...],
    pinned_since: int | None,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Hold a run to its pin whose state and log another program keeps.

    Decides, and applies the decision to those files, keeping all else in them.
    """
    no_words(words)
    _check_name(run)
    if config is not None and mode is not None:
        raise UsageError("--config and --mode are both given", expected="one of them")
    if consent.given:
        refuse_inside_a_launch("--accept-config-change")
    foreign = ForeignRun(state=state, log=log, kind=RunKind(kind), run=run, pinned_since=pinned_since)
    checked = check_run(
        foreign, asked=asked_for(config, mode, consent), trees=trees, dry_run=dry_run, tell=tell_notice
    )
    decision = checked.decision
    if as_json:
        show_json(_CheckResult(run=checked.run, applied=checked.applied, decision=decision))
    if isinstance(decision, Refuse):
        accepts = consent.mode if consent.given else None
        screen = screen_of(sys.stderr)
        say_lines(refusal_lines(decision, accepts=accepts, pinned_by=checked.pinned_by, screen=screen))
        return ExitStatus.REFUSED
    if not as_json:
        told = describe_decision(decision, tell_time=times_of(screen_of(sys.stdout)))
        show(f"{'dry run: ' if dry_run else ''}{told}")
    return ExitStatus.OK


def _check_name(run: str | None) -> None:
    if run is not None and not 1 <= len(run) <= _LONGEST_NAME:
        raise UsageError(
            f"{len(run)} characters long", field="--run", expected=f"1 to {_LONGEST_NAME} characters"
        )


class _CheckResult(Struct, frozen=True, kw_only=True):
    run: str
    applied: bool
    decision: Decision


@click.command("recover", epilog=EXIT_STATUSES)
@click.argument("run", required=False)
@shared_options("runs")
@click.option("--state", metavar="FILE", help="Instead of RUN: another program's state ...")
@click.option("--log", metavar="FILE", help="... and its run log ...")
@click.option("--kind", type=_KINDS, help="... and who owns the work ...")
@click.option("--run", "named", metavar="ID", help="... and its id in the log, as check was given it.")
@click.pass_obj
def _recover(
    words: tuple[str, ...] | None,
    *,
    run: str | None,
    runs: str | None,
    state: str | None,
    log: str | None,
    kind: str | None,
    named: str | None,
) -> int:
    """Start a damaged state or log anew, pinned to required.

    What is damaged is kept beside. Only you may do this, never a launch.
    """
    no_words(words)
    _check_name(named)
    refuse_inside_a_launch("recover")
    if run is not None and state is None and log is None and kind is None and named is None:
        root = runs_root(runs)
        recovered = recover_run(root, check_run_id(run), wait=DEFAULT_WAIT)
        ready = spell_command("unblock", root, run)
        further = f"It is blocked: {ready} with the run's --config or --mode makes it ready."
    elif run is None and state is not None and log is not None and kind is not None:
        recovered = recover_files(ForeignRun(state=state, log=log, kind=RunKind(kind), run=named))
        further = None
    else:
        raise UsageError("not one clear run", expected="a RUN, or --state, --log and --kind together")
    show(f"damaged: {recovered.damage}")
    for name in recovered.kept:
        show(f"kept aside as {name}")
    held = describe_pin(recovered.pin, tell_time=times_of(screen_of(sys.stdout)))
    show(f"the run {recovered.run} is pinned to {held}, and logged so")
    if further is not None:
        show(further)
    show("To go on weaker than required, give the next command --accept-config-change.")
    return ExitStatus.OK


COMMANDS: Final[Mapping[str, click.Command]] = {"check": _check, "recover": _recover}
