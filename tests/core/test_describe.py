"""What an operator reads: each value says what it is, and none of them alike."""

import re
from typing import Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from core.strategies import AT, LATER, held_pins, kinds, requests
from sandbox_pin import (
    Accept,
    Decision,
    Disputed,
    FromFile,
    FromFlag,
    FromProgram,
    PinSource,
    PinV1,
    PinV2,
    Refuse,
    RunKind,
    SandboxMode,
    SandboxPin,
    SandboxRequest,
    Strengthen,
    Unchanged,
    Unpinned,
    Upgrade,
    decide,
    describe_pin,
    pin_in_force,
)
from sandbox_pin.core.decision import WeakerFact
from sandbox_pin.core.describe import (
    describe_decision,
    describe_difference,
    describe_gate,
    describe_held,
    describe_host,
    describe_request,
    describe_weaker,
    find_difference,
)
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

NOW: Final = "2026-03-03T00:00:00Z"
PREFERRED: Final = PinV1(mode=SandboxMode.PREFERRED, source=PinSource.CREATED, recorded_at=AT)
ONE: Final = PinV2(mode=SandboxMode.REQUIRED, source=PinSource.CREATED, recorded_at=AT, backend="one")
OTHER: Final = PinV2(mode=SandboxMode.REQUIRED, source=PinSource.CREATED, recorded_at=AT, backend="other")


def test_what_stands_in_a_pin_s_place_has_words_of_its_own() -> None:
    assert describe_held(None) == "none"
    assert describe_held(Unpinned()) == "none yet: the state is from before pins"
    assert describe_held(PREFERRED) == describe_pin(PREFERRED) == f"preferred (created {AT})"
    disputed = describe_held(Disputed(state=ONE, witness=OTHER))
    assert disputed == (
        f"disputed: required on one (created {AT}) by the state, "
        f"required on other (created {AT}) by the run log"
    )


def test_a_request_tells_each_value_and_where_it_came_from() -> None:
    flag = SandboxRequest(mode=SandboxMode.REQUIRED, mode_from=FromFlag(flag="--mode"))
    assert describe_request(flag) == "required (from --mode)"
    both = SandboxRequest(
        mode=SandboxMode.DISABLED,
        mode_from=FromFlag(flag="--mode"),
        backend="one",
        backend_from=FromFile(path="/etc/sandbox.toml"),
    )
    assert describe_request(both) == "disabled (from --mode) on one (from /etc/sandbox.toml)"


WEAKER: Final = "refused as weaker than the pin"
CALLER: Final = "from the calling program"
ACCEPTED: Final = "the weaker request is accepted"
DECISIONS: Final[list[tuple[type, SandboxPin | Disputed | Unpinned, SandboxRequest, bool, str]]] = [
    (
        Refuse,
        PREFERRED,
        SandboxRequest(mode=SandboxMode.DISABLED),
        False,
        f"{WEAKER}; mode: pinned preferred, requested disabled ({CALLER})",
    ),
    (
        Refuse,
        ONE,
        SandboxRequest(mode=SandboxMode.DISABLED, backend="other"),
        False,
        (
            f"{WEAKER}; mode: pinned required, requested disabled ({CALLER}); "
            f"backend: pinned one, requested other ({CALLER})"
        ),
    ),
    (
        Accept,
        PREFERRED,
        SandboxRequest(mode=SandboxMode.DISABLED),
        True,
        f"{ACCEPTED}: pinned from preferred (created {AT}) to disabled (accepted {LATER})",
    ),
    (
        Strengthen,
        PinV1(mode=SandboxMode.DISABLED, source=PinSource.CREATED, recorded_at=AT),
        SandboxRequest(mode=SandboxMode.REQUIRED),
        False,
        f"the pin rises from disabled (created {AT}) to required (strengthened {LATER})",
    ),
    (
        Upgrade,
        Unpinned(),
        SandboxRequest(mode=SandboxMode.REQUIRED),
        False,
        f"the run had no pin, and is pinned to required (upgraded {LATER})",
    ),
    (
        Unchanged,
        PREFERRED,
        SandboxRequest(mode=SandboxMode.PREFERRED),
        False,
        f"the pin stays preferred (created {AT})",
    ),
]


@pytest.mark.parametrize(("of", "pin", "request_", "accepted", "words"), DECISIONS)
def test_a_decision_is_one_sentence(
    of: type, pin: SandboxPin | Disputed | Unpinned, request_: SandboxRequest, words: str, *, accepted: bool
) -> None:
    decision = decide(pin, request_, kind=RunKind.REMOTE, accept_config_change=accepted, at=LATER)
    assert type(decision) is of
    assert describe_decision(decision) == words


@given(held_pins, st.none() | held_pins, requests, kinds, st.booleans())
def test_every_decision_tells_the_pin_after_it(
    state: SandboxPin, witness: SandboxPin | None, request_: SandboxRequest, kind: RunKind, accepted: bool
) -> None:
    decision: Decision = decide(
        pin_in_force(state, witness, kind=kind),
        request_,
        kind=kind,
        accept_config_change=accepted,
        at=LATER,
    )
    words = describe_decision(decision)
    if isinstance(decision, Refuse):
        assert all(weaker.fact in words for weaker in decision.weaker)
    else:
        assert words.endswith(describe_pin(decision.pin))


@given(held_pins, st.none() | held_pins, requests, kinds, st.booleans())
@example(ONE, OTHER, SandboxRequest(mode=SandboxMode.REQUIRED), RunKind.REMOTE, True)
def test_a_sentence_tells_each_time_in_it_as_it_is_asked_to(
    state: SandboxPin, witness: SandboxPin | None, request_: SandboxRequest, kind: RunKind, accepted: bool
) -> None:
    """And changes nothing else in it."""
    held = pin_in_force(state, witness, kind=kind)
    decision = decide(held, request_, kind=kind, accept_config_change=accepted, at=NOW)
    difference = find_difference(state, witness)
    sentences = [
        (describe_held(held, tell_time="<{}>".format), describe_held(held)),
        (describe_decision(decision, tell_time="<{}>".format), describe_decision(decision)),
    ]
    if difference is not None:
        told = describe_difference(difference, tell_time="<{}>".format)
        sentences.append((told, describe_difference(difference)))
    for told, stored in sentences:
        assert told == re.sub(f"{AT}|{LATER}|{NOW}", r"<\g<0>>", stored)


GATES: Final[list[tuple[GateDecision, str]]] = [
    (
        Enforce(asked=SandboxMode.REQUIRED, backend="bubblewrap", program="/usr/bin/bwrap"),
        "enforced by bubblewrap (/usr/bin/bwrap)",
    ),
    (
        RunUnenforced(asked=SandboxMode.PREFERRED, why="no bwrap"),
        "NOT sandboxed, logical isolation only: no bwrap",
    ),
    (
        RefuseLaunch(asked=SandboxMode.REQUIRED, missing="no bwrap", remedy="Install it."),
        "nothing is launched: required demands a sandbox, and no bwrap",
    ),
]
HOSTS: Final[list[tuple[HostCapability | None, str]]] = [
    (None, "not probed"),
    (Capable(backend="bubblewrap", program="/bwrap"), "can enforce, by bubblewrap (/bwrap)"),
    (Incapable(missing="no bwrap", remedy="Install it."), "can't enforce: no bwrap. Install it."),
]


@pytest.mark.parametrize(("gate", "words"), GATES)
def test_a_gate_decision_says_whether_anything_is_enforced(gate: GateDecision, words: str) -> None:
    assert describe_gate(gate) == words


@pytest.mark.parametrize(("host", "words"), HOSTS)
def test_a_host_says_what_it_can_and_what_to_do(host: HostCapability | None, words: str) -> None:
    assert describe_host(host) == words


def test_a_difference_is_there_where_the_log_says_what_the_state_does_not() -> None:
    """A log without an entry says nothing; a pin that the log alone holds still holds."""
    disabled = PinV1(mode=SandboxMode.DISABLED, source=PinSource.CREATED, recorded_at=AT)
    assert find_difference(PREFERRED, PREFERRED) is None
    assert find_difference(PREFERRED, None) is None
    assert find_difference(Unpinned(), None) is None
    alone = find_difference(Unpinned(), PREFERRED)
    assert alone is not None
    assert describe_difference(alone) == (
        f"the state has no pin, the run log {describe_pin(PREFERRED)}; the run is held to that"
    )
    difference = find_difference(PREFERRED, disabled)
    assert difference is not None
    assert describe_difference(difference) == (
        f"the state says preferred (created {AT}), the run log disabled (created {AT}); "
        "the run is held to the stronger"
    )


def test_a_disputed_backend_is_told_by_both_who_name_one() -> None:
    """With what was asked for and from where, or that nothing was."""
    disputed = WeakerFact(
        fact=Fact.BACKEND, pinned=("one", "other"), requested=None, requested_from=FromProgram()
    )
    told = "backend: the state says one, the run log other; requested"
    assert describe_weaker(disputed) == f"{told} no opinion"
    asked = replace(disputed, requested="third", requested_from=FromFlag(flag="--mode"))
    assert describe_weaker(asked) == f"{told} third (from --mode)"
