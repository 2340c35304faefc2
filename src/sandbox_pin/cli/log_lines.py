"""One line of a run log, in words."""

from typing import assert_never

from sandbox_pin.cli.screen import Screen, told_time
from sandbox_pin.core.describe import describe_request
from sandbox_pin.core.event import (
    Entry,
    LaunchEnded,
    LaunchStarted,
    PinAccepted,
    PinStrengthened,
    PinUpgraded,
    RunCreated,
    RunRecovered,
)
from sandbox_pin.core.log_line import Damaged, Garbage, LogLine
from sandbox_pin.core.record import SandboxPin, pinned_backend


def log_line(line: LogLine, screen: Screen | None = None) -> str:
    """What a line of the log says, or why it says nothing."""
    match line:
        case Garbage(why=why):
            return f"(torn or garbage, passed over: {why})"
        case Damaged(why=why):
            return f"(DAMAGED: {why})"
        case _:
            return f"{told_time(line.at, screen)}  {event_words(line)}"


def event_words(entry: Entry) -> str:
    """What an entry says, its time left out."""
    match entry:
        case RunCreated(parent=parent):
            made_from = (
                "" if parent is None else f", made from {parent.run}, which is {mode_words(parent.pin)}"
            )
            return (
                f"created by {entry.operator}, pinned to {mode_words(entry.pin)}{made_from}; {_asked(entry)}"
            )
        case PinUpgraded():
            return f"pin UPGRADED by {entry.operator}: {_change(entry)}; {_asked(entry)}"
        case PinStrengthened():
            return f"pin STRENGTHENED by {entry.operator}: {_change(entry)}; {_asked(entry)}"
        case PinAccepted():
            return f"weaker pin ACCEPTED by {entry.operator}: {_change(entry)}; {_asked(entry)}"
        case RunRecovered():
            kept = ", ".join(entry.kept) or "nothing"
            return f"RECOVERED by {entry.operator}: pinned to {mode_words(entry.pin)}; kept aside: {kept}"
        case LaunchStarted(enforced=True):
            return f"launched {entry.program}, sandboxed by {entry.backend} ({entry.asked} asked)"
        case LaunchStarted():
            return f"launched {entry.program}, NOT sandboxed: {entry.why_not} ({entry.asked} asked)"
        case LaunchEnded(ran=False):
            return "ended: the command did not run"
        case LaunchEnded(signal=str(name)):
            return f"ended by {name}"
        case LaunchEnded(exit_code=code):
            return f"ended with exit status {code}"
        case _:
            assert_never(entry)


def _asked(entry: RunCreated | PinUpgraded | PinStrengthened | PinAccepted) -> str:
    return f"asked for {describe_request(entry.request)}"


def _change(entry: PinUpgraded | PinStrengthened | PinAccepted) -> str:
    before = "no pin" if entry.before is None else mode_words(entry.before)
    if entry.disputed is not None:
        before += f" or {mode_words(entry.disputed)}"
    return f"{before} -> {mode_words(entry.pin)}"


def mode_words(pin: SandboxPin) -> str:
    """The mode of a pin, and its backend where it has one."""
    backend = pinned_backend(pin)
    return pin.mode if backend is None else f"{pin.mode} on {backend}"
