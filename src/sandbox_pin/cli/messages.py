"""What the operator is told while a command goes on, and what a refusal says.

No full stop follows what is meant to be copied: it would become part of an option's value.
"""

import shlex
import sys

from sandbox_pin.cli.screen import Screen, times_of
from sandbox_pin.cli.terminal import say, screen_of
from sandbox_pin.core.decision import Refuse
from sandbox_pin.core.describe import (
    Difference,
    describe_decision,
    describe_difference,
    describe_held,
    describe_weaker,
)
from sandbox_pin.core.request import FromFile, FromFlag, SandboxRequest
from sandbox_pin.shell.guard import Notice
from sandbox_pin.shell.runs import spell_command


def refusal_lines(
    decision: Refuse,
    *,
    accepts: str | None,
    pinned_by: SandboxRequest | None,
    screen: Screen | None,
) -> list[str]:
    """Why a request is refused, and what to do.

    Args:
        decision: the refusal.
        accepts: the one mode that the flag accepted, where it was given for another than the request's.
        pinned_by: the request that the run was last pinned by, where that is known.
        screen: the terminal that shows them.
    """
    held = describe_held(decision.pin, tell_time=times_of(screen))
    lines = [f"refused: the run is pinned to {held}, and this command asks for less:"]
    lines += [describe_weaker(fact) for fact in decision.weaker]
    lines.append("Nothing was written or launched.")
    mode = decision.request.mode
    if accepts is not None:
        lines.append(f"--accept-config-change={accepts} accepts {accepts} alone, and the request is {mode}.")
    lines.append(_how_to_ask_for_as_much(pinned_by))
    lines.append(f"To go on weaker, in the open and logged: --accept-config-change={mode}")
    return lines


def how_to_go_on(root: str, run: str, given: list[str]) -> list[str]:
    """What takes a blocked run further.

    Args:
        root: the folder of all runs.
        run: the run's id.
        given: the options that the next command needs again, as far as they are known.
    """
    again, ready = (spell_command(verb, root, run, *given) for verb in ("resume", "unblock"))
    return [f"to launch it again:     {again}", f"to make the run ready:  {ready}"]


def tell_notice(notice: Notice) -> None:
    """Tells the operator what matters while a command goes on, on standard error."""
    tell_time = times_of(screen_of(sys.stderr))
    if isinstance(notice, str):
        say(notice)
    elif isinstance(notice, Difference):
        say(f"warning: {describe_difference(notice, tell_time=tell_time)}")
    else:
        say(describe_decision(notice, tell_time=tell_time))


def _how_to_ask_for_as_much(pinned_by: SandboxRequest | None) -> str:
    match None if pinned_by is None else pinned_by.mode_from:
        case FromFile(path=path):
            return f"The run was pinned by a file; to ask for as much: --config {shlex.quote(path)}"
        case FromFlag() if pinned_by is not None:
            return f"The run was pinned by a flag; to ask for as much: --mode {pinned_by.mode}"
        case _:
            return "To ask for as much, name the run's configuration: --config FILE"
