"""Decisions and findings in words: what an operator reads on a terminal and a program puts into its log.

Design: "Decision", "The gate", "The pin in force".
"""

from typing import assert_never

from msgspec import Struct

from sandbox_pin.core.decision import Accept, Decision, Refuse, Strengthen, Unchanged, Upgrade, WeakerFact
from sandbox_pin.core.facts import Fact
from sandbox_pin.core.gate import (
    Capable,
    Enforce,
    GateDecision,
    HostCapability,
    Incapable,
    RefuseLaunch,
    RunUnenforced,
)
from sandbox_pin.core.record import Disputed, SandboxPin, TellTime, Unpinned, describe_pin
from sandbox_pin.core.request import SandboxRequest, describe_provenance


def describe_held(pin: SandboxPin | Disputed | Unpinned | None, *, tell_time: TellTime = str) -> str:
    """A pin, or what stands in its place, in a few words.

    Args:
        pin: the pin, or what stands in its place.
        tell_time: how its time is told.
    """
    match pin:
        case None:
            return "none"
        case Unpinned():
            return "none yet: the state is from before pins"
        case Disputed(state=state, witness=witness):
            by_state, by_log = (describe_pin(record, tell_time=tell_time) for record in (state, witness))
            return f"disputed: {by_state} by the state, {by_log} by the run log"
        case _:
            return describe_pin(pin, tell_time=tell_time)


class Difference(Struct, frozen=True, kw_only=True):
    """State and run log do not say the same of the pin.

    A log was cut, a state was put back, or a change was not finished: unseen, the other one's undoing would
    end the pin.

    Attributes:
        state: the pin that the state holds.
        witness: the pin that the log's last whole entry carries.
    """

    state: SandboxPin | Unpinned
    witness: SandboxPin


def find_difference(state: SandboxPin | Unpinned, witness: SandboxPin | None) -> Difference | None:
    """What differs in state and run log; ``None`` where nothing does, or the log says nothing."""
    if witness is None or witness == state:
        return None
    return Difference(state=state, witness=witness)


def describe_difference(difference: Difference, *, tell_time: TellTime = str) -> str:
    """The difference, and what the run is held to, in a sentence."""
    in_log = describe_pin(difference.witness, tell_time=tell_time)
    if isinstance(difference.state, Unpinned):
        return f"the state has no pin, the run log {in_log}; the run is held to that"
    in_state = describe_pin(difference.state, tell_time=tell_time)
    return f"the state says {in_state}, the run log {in_log}; the run is held to the stronger"


def describe_request(request: SandboxRequest) -> str:
    """What is asked for, and where it came from."""
    line = f"{request.mode} (from {describe_provenance(request.mode_from)})"
    if request.backend is not None:
        line += f" on {request.backend} (from {describe_provenance(request.backend_from)})"
    return line


def describe_decision(decision: Decision, *, tell_time: TellTime = str) -> str:
    """What the rule decided, in a sentence.

    Args:
        decision: the decision.
        tell_time: how the time of a pin in it is told.
    """
    match decision:
        case Refuse():
            weaker = "; ".join(describe_weaker(fact) for fact in decision.weaker)
            return f"refused as weaker than the pin; {weaker}"
        case Unchanged(pin=pin):
            return f"the pin stays {describe_pin(pin, tell_time=tell_time)}"
        case Accept():
            happened = "the weaker request is accepted: pinned"
        case Strengthen():
            happened = "the pin rises"
        case Upgrade(before=Unpinned(), pin=pin):
            return f"the run had no pin, and is pinned to {describe_pin(pin, tell_time=tell_time)}"
        case Upgrade():
            happened = "the pin is upgraded"
        case _:
            assert_never(decision)
    before = describe_held(decision.before, tell_time=tell_time)
    return f"{happened} from {before} to {describe_pin(decision.pin, tell_time=tell_time)}"


def describe_weaker(fact: WeakerFact) -> str:
    """What a request is weaker in: what the run is pinned to, and what was asked for, from where."""
    origin = describe_provenance(fact.requested_from)
    match fact.fact:
        case Fact.BACKEND if len(fact.pinned) > 1:
            asked = "no opinion" if fact.requested is None else f"{fact.requested} (from {origin})"
            by_state, by_log = fact.pinned
            return f"backend: the state says {by_state}, the run log {by_log}; requested {asked}"
        case Fact.MODE | Fact.BACKEND:
            pinned = " or ".join(fact.pinned)
            return f"{fact.fact}: pinned {pinned}, requested {fact.requested} (from {origin})"
        case _:
            assert_never(fact.fact)


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
