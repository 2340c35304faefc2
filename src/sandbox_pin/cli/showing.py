"""``status``, ``explain`` and ``list``: they only tell."""

import sys
from collections.abc import Mapping
from typing import Final

import click

from sandbox_pin.cli.exit_status import ExitStatus, status_of
from sandbox_pin.cli.log_lines import event_words
from sandbox_pin.cli.messages import how_to_go_on, refusal_lines
from sandbox_pin.cli.options import EXIT_STATUSES, asked_for, no_words, shared_options
from sandbox_pin.cli.screen import Screen, times_of, told_time_and_age
from sandbox_pin.cli.terminal import say, screen_of, show, show_json
from sandbox_pin.core.decision import Refuse
from sandbox_pin.core.describe import (
    describe_decision,
    describe_gate,
    describe_held,
    describe_host,
    describe_request,
    find_difference,
)
from sandbox_pin.core.event import LaunchEnded, LaunchStarted
from sandbox_pin.core.modes import SandboxMode
from sandbox_pin.core.run_state import RunStatus
from sandbox_pin.errors import SandboxPinError
from sandbox_pin.shell.look import Explanation, explain
from sandbox_pin.shell.runs import check_run_id, list_runs, runs_root
from sandbox_pin.shell.summary import RunSummary, summarize

Words = tuple[str, ...] | None

_LABEL: Final = 11
"""The columns of a label, such as ``pinned to``."""


@click.command("status", epilog=EXIT_STATUSES)
@click.argument("run")
@shared_options("runs", "json")
@click.pass_obj
def _status(words: Words, *, run: str, runs: str | None, as_json: bool) -> int:
    """Show a run: its pin, what it waits for, its last launch."""
    no_words(words)
    root = runs_root(runs)
    summary = summarize(root, check_run_id(run))
    if as_json:
        show_json(summary)
    else:
        _show_summary(root, summary, screen_of(sys.stdout))
    return _told_log_failure(summary)


@click.command("explain", epilog=EXIT_STATUSES)
@click.argument("run")
@shared_options("runs", "config", "mode", "writable", "json")
@click.pass_obj
def _explain(
    words: Words,
    *,
    run: str,
    runs: str | None,
    config: str | None,
    mode: SandboxMode | None,
    writable: tuple[str, ...],
    as_json: bool,
) -> int:
    """Say what the next command on a run would do with these options, and why; change nothing."""
    no_words(words)
    asked = asked_for(config, mode, writable=writable)
    root = runs_root(runs)
    explanation = explain(root, check_run_id(run), asked=asked)
    if as_json:
        show_json(explanation)
    else:
        _show_explanation(root, explanation, screen_of(sys.stdout))
    return ExitStatus.OK


@click.command("list", epilog=EXIT_STATUSES)
@shared_options("runs", "json")
@click.pass_obj
def _list(words: Words, *, runs: str | None, as_json: bool) -> int:
    """List the runs, a line each; a damaged one is told, and the others shown all the same."""
    no_words(words)
    root = runs_root(runs)
    screen = screen_of(sys.stdout)
    status = ExitStatus.OK
    for run in list_runs(root):
        try:
            summary = summarize(root, run)
        except SandboxPinError as error:
            say(str(error))
            status = status_of(error)
            continue
        status = _told_log_failure(summary) or status
        if as_json:
            show_json(summary)
        else:
            held = _held(summary, screen)
            show(f"{run}  {summary.kind}  {summary.status}  {held}", screen)
    return status


def _told_log_failure(summary: RunSummary) -> ExitStatus:
    """Tells a log that could not be read on standard error; gives the status to end with."""
    if summary.log_failure is None:
        return ExitStatus.OK
    say(summary.log_failure)
    return ExitStatus.STORAGE


def _held(summary: RunSummary, screen: Screen | None) -> str:
    """What the run is held to; the log, where it can't be read, may hold it to more."""
    held = describe_held(summary.in_force, tell_time=times_of(screen))
    return held if summary.log_failure is None else f"{held} by the state alone: the log can't be read"


def _show_summary(root: str, summary: RunSummary, screen: Screen | None) -> None:
    def tell(label: str, text: str) -> None:
        _tell(label, text, screen)

    created = told_time_and_age(summary.created_at, screen)
    tell("run", f"{summary.run} ({summary.kind}, {summary.status})")
    tell("pinned to", _held(summary, screen))
    if find_difference(summary.state_pin, summary.witness) is not None:
        tell("", f"the state says {describe_held(summary.state_pin, tell_time=times_of(screen))}")
        tell("", f"the run log says {describe_held(summary.witness, tell_time=times_of(screen))}")
    tell("workspace", summary.workspace or "lost")
    tell("created", created + (f", from {summary.parent}" if summary.parent else ""))
    if summary.last_launch is not None:
        tell("launched", _timed(summary.last_launch, screen))
    if summary.lost:
        tell("ended", "lost with its controller: nobody saw its end")
    elif summary.last_end is not None:
        tell("ended", _timed(summary.last_end, screen))
    if summary.passed_over:
        tell("log", f"{summary.passed_over} torn line(s) at its end, passed over")
    if summary.status is RunStatus.BLOCKED:
        again, ready = how_to_go_on(root, summary.run, [])
        show(f"{'next':{_LABEL}}{again}")  # both whole, to be copied from
        show(f"{'':{_LABEL}}{ready}")


def _show_explanation(root: str, explanation: Explanation, screen: Screen | None) -> None:
    def tell(label: str, text: str) -> None:
        _tell(label, text, screen)

    _show_summary(root, explanation.summary, screen)
    request, decision, gate = explanation.request, explanation.decision, explanation.gate
    witness = describe_held(explanation.summary.witness, tell_time=times_of(screen))
    tell("witness", explanation.summary.log_failure or witness)
    tell("request", describe_request(request) if request is not None else "can not be read")
    for tree in explanation.trees:
        tell("may write", tree)
    for violation in explanation.violations:
        tell("placement", violation)
    if explanation.trees and not explanation.violations:
        tell("placement", "nothing that decides lies where a launch can write")
    tell("host", describe_host(explanation.host))
    if decision is not None:
        tell("rule", describe_decision(decision, tell_time=times_of(screen)))
    if gate is not None:
        tell("gate", describe_gate(gate))
    for problem in explanation.problems:
        tell("problem", problem)
    tell("next", explanation.next_command)
    if isinstance(decision, Refuse):
        for line in refusal_lines(decision, accepts=None, pinned_by=explanation.pinned_by, screen=screen):
            show(f"{'':{_LABEL}}{line}")  # to be copied from: whole, as the refusal itself tells it


def _tell(label: str, text: str, screen: Screen | None) -> None:
    show(f"{label:{_LABEL}}{text}", screen, indent=_LABEL)


def _timed(entry: LaunchStarted | LaunchEnded, screen: Screen | None) -> str:
    return f"{told_time_and_age(entry.at, screen)}  {event_words(entry)}"


COMMANDS: Final[Mapping[str, click.Command]] = {
    "status": _status,
    "explain": _explain,
    "list": _list,
}
