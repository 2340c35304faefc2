"""``run``, ``step``, ``resume`` and ``unblock``."""

from collections.abc import Callable, Mapping
from typing import Final, Protocol, TypedDict, Unpack

import click

from sandbox_pin.cli.messages import tell_notice
from sandbox_pin.cli.options import (
    EXIT_STATUSES,
    LaunchingCommand,
    asked_for,
    launched_words,
    no_words,
    shared_options,
)
from sandbox_pin.cli.results import ResultFile, finish
from sandbox_pin.core.consent import Consent
from sandbox_pin.core.modes import RunKind, SandboxMode
from sandbox_pin.errors import SandboxPinError
from sandbox_pin.shell.asking import Asked
from sandbox_pin.shell.continue_run import resume, step, unblock
from sandbox_pin.shell.guard import Tell
from sandbox_pin.shell.launch import refuse_inside_a_launch
from sandbox_pin.shell.outcome import Outcome
from sandbox_pin.shell.runs import check_run_id, make_run_id, runs_root
from sandbox_pin.shell.start_run import start_run
from sandbox_pin.shell.surroundings import now

Words = tuple[str, ...] | None


@click.command("run", cls=LaunchingCommand, epilog=EXIT_STATUSES)
@shared_options("runs", "config", "mode", "writable", "accept", "result")
@click.option("--id", "run", metavar="RUN", help="The new run's id [default: made up, and printed].")
@click.option("--workspace", metavar="DIR", default=".", show_default=True, help="The folder it works in.")
@click.option("--remote", is_flag=True, help="The work is a service's, for which this host works.")
@click.option("--parent", metavar="RUN", help="Make it from this run, with at least its strength.")
@click.pass_obj
def _run(
    words: Words,
    *,
    runs: str | None,
    config: str | None,
    mode: SandboxMode | None,
    writable: tuple[str, ...],
    consent: Consent,
    result: str | None,
    run: str | None,
    workspace: str,
    remote: bool,
    parent: str | None,
) -> int:
    """Make a run, pinned to the mode that it begins with, and launch its first command."""
    command = launched_words(words)
    name = make_run_id(now()) if run is None else check_run_id(run)
    if parent is not None:
        _ = check_run_id(parent)
    asked = asked_for(config, mode, consent, writable)
    root = runs_root(runs)

    def start() -> Outcome:
        return start_run(
            root,
            name,
            command,
            asked=asked,
            workspace=workspace,
            kind=RunKind.REMOTE if remote else RunKind.LOCAL,
            parent=parent,
            tell=tell_notice,
        )

    return _finished(start, asked, ResultFile(result, root=root, run=name), root=root)


class _Options(TypedDict):
    """What the commands that take a run further have in common."""

    run: str
    runs: str | None
    config: str | None
    mode: SandboxMode | None
    consent: Consent
    writable: tuple[str, ...]
    wait: float
    result: str | None


_further = shared_options("runs", "config", "mode", "accept", "writable", "wait", "result")


@click.command("step", cls=LaunchingCommand, epilog=EXIT_STATUSES)
@click.argument("run")
@_further
@click.pass_obj
def _step(words: Words, **options: Unpack[_Options]) -> int:
    """Launch the next command of a ready run."""
    command = launched_words(words)

    def act(root: str, run: str, /, *, asked: Asked, wait: float, tell: Tell) -> Outcome:
        return step(root, run, command, asked=asked, wait=wait, tell=tell)

    return _taken_further(options, act)


@click.command("resume", epilog=EXIT_STATUSES)
@click.argument("run")
@_further
@click.pass_obj
def _resume(words: Words, **options: Unpack[_Options]) -> int:
    """Launch a blocked run's last command again."""
    no_words(words)
    return _taken_further(options, resume)


@click.command("unblock", epilog=EXIT_STATUSES)
@click.argument("run")
@_further
@click.pass_obj
def _unblock(words: Words, **options: Unpack[_Options]) -> int:
    """Make a blocked run ready again; nothing is launched."""
    no_words(words)
    return _taken_further(options, unblock)


class _Further(Protocol):
    """``step``, its command given, ``resume`` or ``unblock``."""

    def __call__(self, root: str, run: str, /, *, asked: Asked, wait: float, tell: Tell) -> Outcome: ...


def _taken_further(options: _Options, act: _Further) -> int:
    run = check_run_id(options["run"])
    asked = asked_for(options["config"], options["mode"], options["consent"], options["writable"])
    root = runs_root(options["runs"])
    return _finished(
        lambda: act(root, run, asked=asked, wait=options["wait"], tell=tell_notice),
        asked,
        ResultFile(options["result"], root=root, run=run),
        root=root,
    )


def _given(asked: Asked) -> list[str]:
    """The options that the next command needs again: each command reads them afresh."""
    options = (("--config", asked.config), ("--mode", asked.mode))
    return [word for name, value in options if value is not None for word in (name, value)]


def _finished(command: Callable[[], Outcome], asked: Asked, result: ResultFile, *, root: str) -> int:
    try:
        if asked.consent.given:
            refuse_inside_a_launch("--accept-config-change")
        return finish(command(), result, root=root, given=_given(asked))
    except SandboxPinError as error:
        result.fail(error)
        raise


COMMANDS: Final[Mapping[str, click.Command]] = {
    "run": _run,
    "step": _step,
    "resume": _resume,
    "unblock": _unblock,
}
