"""Decisions and findings in words: what an operator reads on a terminal and a program puts into its log.

Design: "Decision", "The gate", "The pin in force".
"""

from typing import assert_never

from sandbox_pin.core.decision import Accept, Decision, Refuse, Strengthen, Unchanged, Upgrade
from sandbox_pin.core.gate import (
    Capable,
    Enforce,
    GateDecision,
    HostCapability,
    Incapable,
    RefuseLaunch,
    RunUnenforced,
)
from sandbox_pin.core.record import Disputed, SandboxPin, Unpinned, describe_pin
from sandbox_pin.core.request import SandboxRequest, describe_provenance


def describe_held(pin: SandboxPin | Disputed | Unpinned | None) -> str:
    """A pin, or what stands in its place, in a few words."""
    match pin:
        case None:
            return "none"
        case Unpinned():
            return "none yet: the state is from before pins"
        case Disputed(state=state, witness=witness):
            return f"disputed: {describe_pin(state)} by the state, {describe_pin(witness)} by the run log"
        case _:
            return describe_pin(pin)


def describe_difference(state: SandboxPin | Unpinned, witness: SandboxPin | None) -> str | None:
    """That state and run log do not say the same; ``None`` where they do, or one says nothing.

    A log was cut, a state was put back, or a change was not finished: unseen, the other one's undoing would
    end the pin.
    """
    if isinstance(state, Unpinned) or witness is None or witness == state:
        return None
    said = f"the state says {describe_pin(state)}, the run log {describe_pin(witness)}"
    return f"{said}; the run is held to the stronger"


def describe_request(request: SandboxRequest) -> str:
    """What is asked for, and where it came from."""
    line = f"{request.mode} (from {describe_provenance(request.mode_from)})"
    if request.backend is not None:
        line += f" on {request.backend} (from {describe_provenance(request.backend_from)})"
    return line


def describe_decision(decision: Decision) -> str:
    """What the rule decided, in a sentence."""
    match decision:
        case Refuse():
            return f"refused: weaker than the pin in {' and '.join(fact.fact for fact in decision.weaker)}"
        case Accept(before=before, pin=pin):
            return (
                f"the weaker request is accepted: pinned from {describe_held(before)} to {describe_pin(pin)}"
            )
        case Strengthen(before=before, pin=pin):
            return f"the pin rises from {describe_held(before)} to {describe_pin(pin)}"
        case Upgrade(before=before, pin=pin):
            return f"the pin is upgraded from {describe_held(before)} to {describe_pin(pin)}"
        case Unchanged(pin=pin):
            return f"the pin stays {describe_pin(pin)}"
        case _:
            assert_never(decision)


def describe_gate(gate: GateDecision) -> str:
    """What the gate says, in a sentence."""
    match gate:
        case Enforce(backend=backend, program=program):
            return f"enforced by {backend} ({program})"
        case RunUnenforced(why=why):
            return f"NOT sandboxed, logical isolation only: {why}"
        case RefuseLaunch(asked=asked, missing=missing):
            return f"nothing is launched: {asked} demands a sandbox, and {missing}"
        case _:
            assert_never(gate)


def describe_host(host: HostCapability | None) -> str:
    """What the host can enforce, in a sentence."""
    match host:
        case None:
            return "not probed"
        case Capable(backend=backend, program=program):
            return f"can enforce, by {backend} ({program})"
        case Incapable(missing=missing, remedy=remedy):
            return f"can't enforce: {missing}. {remedy}"
        case _:
            assert_never(host)
