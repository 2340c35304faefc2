"""Carrying a decision out: what is logged and saved, in which order, and what every failure leaves.

The log is one in memory, as an orchestrator may keep it: the protocol's own use.
"""

from collections.abc import Callable
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.strategies import LATER, held_pins, kinds, requests
from sandbox_pin import (
    Accept,
    Decision,
    Disputed,
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
    mode_strength,
    pin_in_force,
)
from sandbox_pin.core.event import Entry, PinAccepted, PinStrengthened, PinUpgraded, change_entry
from sandbox_pin.errors import StorageError
from sandbox_pin.shell import apply
from sandbox_pin.shell.apply import Applied, RunLog, apply_decision, decide_beside_log
from sandbox_pin.testing import MemoryLog, build_pin, build_request

LOG: Final = "log"
SAVE: Final = "save"


class World:
    """A state and a run log in memory, which fail at the calls that they are told to."""

    def __init__(self, pin: SandboxPin | Unpinned, *, fails: frozenset[int] = frozenset()) -> None:
        self.state = pin
        self.log = MemoryLog()
        self.calls: list[str] = []
        self._fails = fails

    def append(self, entry: Entry, /) -> None:
        """Adds an entry."""
        self._call(LOG)
        self.log.append(entry)

    def last_entry(self) -> Entry | None:
        """The last one."""
        return self.log.last_entry()

    @property
    def entries(self) -> list[Entry]:
        """What is logged."""
        return list(self.log.entries)

    def save(self, pin: SandboxPin) -> None:
        """Puts a pin into the state."""
        self._call(SAVE)
        self.state = pin

    def _call(self, name: str) -> None:
        self.calls.append(name)
        if len(self.calls) in self._fails:
            raise StorageError(f"{name} failed")

    def apply(self, decision: Decision) -> Applied | None:
        """Carries a decision out here."""
        log: RunLog = self
        return apply_decision(
            decision, state=self.state, log=log, save=self.save, run="r", operator="somebody"
        )


def pin(mode: str, backend: str | None = None) -> SandboxPin:
    """A pin with this mode."""
    return build_pin(mode=SandboxMode(mode), backend=backend)


def asked(mode: str, backend: str | None = None) -> SandboxRequest:
    """A request for this mode."""
    return build_request(mode=SandboxMode(mode), backend=backend)


def decided(
    held: SandboxPin | Disputed | Unpinned, request: SandboxRequest, *, kind: RunKind = RunKind.REMOTE
) -> Decision:
    """The decision over this pin in force, with the flag."""
    return decide(held, request, kind=kind, accept_config_change=True, at=LATER)


@pytest.mark.parametrize("accepts", [False, True])
@pytest.mark.parametrize("kind", RunKind)
@pytest.mark.parametrize("mode", SandboxMode)
@pytest.mark.parametrize("held", [Unpinned(), *(build_pin(mode=mode) for mode in SandboxMode)])
def test_beside_a_log_that_could_not_be_read_a_refusal_stands_a_stronger_request_goes_on_and_all_else_stops(
    held: SandboxPin | Unpinned,
    mode: SandboxMode,
    kind: RunKind,
    accepts: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Beside one that could, the rule's own word stands, whatever it is."""
    monkeypatch.setattr(apply, "now", lambda: LATER)
    request = build_request(mode=mode)
    decision = decide(held, request, kind=kind, accept_config_change=accepts, at=LATER)
    failure = StorageError("could not be read")

    def settled(log_failure: StorageError | None) -> Decision:
        return decide_beside_log(
            held, request, log_failure=log_failure, kind=kind, accept_config_change=accepts
        )

    assert settled(None) == decision
    if isinstance(decision, Refuse | Strengthen):
        assert settled(failure) == decision
    else:
        with pytest.raises(StorageError) as raised:
            _ = settled(failure)
        assert raised.value is failure


DISPUTED: Final = Disputed(state=pin("required", "one"), witness=pin("required", "other"))
# The state's pin, the pin in force, the request, the decision, and the calls that carry it out.
ORDERS: Final[
    list[
        tuple[SandboxPin | Unpinned, SandboxPin | Disputed | Unpinned, SandboxRequest, type, list[str], bool]
    ]
] = [
    (pin("required"), pin("required"), asked("required"), Unchanged, [], False),
    (pin("disabled"), pin("required"), asked("required"), Unchanged, [SAVE], True),
    (Unpinned(), pin("required"), asked("required"), Unchanged, [SAVE], True),
    (pin("required"), pin("required"), asked("disabled"), Accept, [LOG, SAVE], False),
    (pin("disabled"), pin("required"), asked("disabled"), Accept, [SAVE, LOG, SAVE], True),
    (Unpinned(), pin("required"), asked("disabled"), Accept, [SAVE, LOG, SAVE], True),
    (pin("required", "one"), DISPUTED, asked("required", "one"), Accept, [LOG, SAVE], False),
    (pin("disabled", "one"), DISPUTED, asked("disabled", "one"), Accept, [SAVE, LOG, SAVE], True),
    (pin("disabled"), pin("disabled"), asked("required"), Strengthen, [LOG, SAVE], False),
    (Unpinned(), pin("disabled"), asked("required"), Strengthen, [LOG, SAVE], True),
    (Unpinned(), Unpinned(), asked("disabled"), Upgrade, [LOG, SAVE], False),
    (pin("required"), pin("required"), asked("required", "one"), Upgrade, [LOG, SAVE], False),
    (Unpinned(), pin("required"), asked("required", "one"), Upgrade, [LOG, SAVE], True),
]


@pytest.mark.parametrize(("state", "held", "request_", "of", "calls", "mended"), ORDERS)
def test_the_order_of_the_calls(
    state: SandboxPin | Unpinned,
    held: SandboxPin | Disputed | Unpinned,
    request_: SandboxRequest,
    of: type,
    calls: list[str],
    *,
    mended: bool,
) -> None:
    decision = decided(held, request_)
    assert type(decision) is of
    assert not isinstance(decision, Refuse)
    world = World(state)
    assert world.apply(decision) == Applied(pin=decision.pin, mended=mended, not_logged=None)
    assert world.calls == calls
    assert world.state == decision.pin
    if isinstance(decision, Accept | Strengthen | Upgrade):
        assert world.entries == [change_entry(decision, run="r", operator="somebody")]


@given(held_pins, st.none() | held_pins, requests, kinds)
def test_a_refusal_calls_nothing(
    state: SandboxPin, witness: SandboxPin | None, request_: SandboxRequest, kind: RunKind
) -> None:
    decision = decide(
        pin_in_force(state, witness, kind=kind), request_, kind=kind, accept_config_change=False, at=LATER
    )
    world = World(state)
    applied = world.apply(decision)
    assert (applied is None) == isinstance(decision, Refuse)
    assert applied is not None or (world.calls, world.state) == ([], state)


OF: Final[dict[type, type]] = {Accept: PinAccepted, Strengthen: PinStrengthened, Upgrade: PinUpgraded}


@given(held_pins | st.just(Unpinned()), st.none() | held_pins, requests, kinds)
def test_what_is_carried_out_is_in_the_state_and_every_change_in_the_log(
    state: SandboxPin | Unpinned, witness: SandboxPin | None, request_: SandboxRequest, kind: RunKind
) -> None:
    decision = decided(pin_in_force(state, witness, kind=kind), request_, kind=kind)
    world = World(state)
    applied = world.apply(decision)
    assert applied is not None
    assert not isinstance(decision, Refuse)
    assert world.state == applied.pin == decision.pin
    assert [type(entry) for entry in world.entries] == [OF[of] for of in [type(decision)] if of in OF]
    assert all(entry.pin == decision.pin and entry.kind is kind for entry in world.entries)


@given(held_pins | st.just(Unpinned()), st.none() | held_pins, requests, kinds, st.integers(1, 3))
def test_no_failure_weakens_what_a_run_is_held_to(
    state: SandboxPin | Unpinned,
    witness: SandboxPin | None,
    request_: SandboxRequest,
    kind: RunKind,
    place: int,
) -> None:
    """Whatever call fails, the join of what is left is as strong as before, unless an accept was logged."""
    before = pin_in_force(state, witness, kind=kind)
    decision = decided(before, request_, kind=kind)
    world = World(state, fails=frozenset({place}))
    failed = apply_fails(lambda: world.apply(decision))
    logged = world.entries[-1].pin if world.entries else witness
    after = pin_in_force(world.state, logged, kind=kind)
    assert failed == (place <= len(world.calls) and not survives(decision, world, place))
    if isinstance(after, Unpinned):
        assert isinstance(before, Unpinned)
    elif not isinstance(before, Unpinned) and not any(
        isinstance(entry, PinAccepted) for entry in world.entries
    ):
        assert strength(after, kind) >= strength(before, kind)


def apply_fails(act: Callable[[], object]) -> bool:
    """Whether it ends in a failure of storage."""
    try:
        act()
    except StorageError:
        return True
    return False


def survives(decision: Decision, world: World, place: int) -> bool:
    """Whether the call that failed is the one whose failure is only told."""
    return isinstance(decision, Strengthen) and world.calls[place - 1] == LOG


def strength(held: SandboxPin | Disputed, kind: RunKind) -> int:
    """The strength of what a run is held to."""
    return mode_strength(held.witness.mode if isinstance(held, Disputed) else held.mode, kind)


@pytest.mark.parametrize(("state", "held", "request_", "of", "calls", "mended"), ORDERS)
def test_what_comes_after_a_failure_is_not_done_unless_it_raises_the_pin(
    state: SandboxPin | Unpinned,
    held: SandboxPin | Disputed | Unpinned,
    request_: SandboxRequest,
    of: type,
    calls: list[str],
    *,
    mended: bool,
) -> None:
    """Each call of each decision fails once."""
    for place, name in enumerate(calls, 1):
        world = World(state, fails=frozenset({place}))
        decision = decided(held, request_)
        assert not isinstance(decision, Refuse)
        if of is Strengthen and name == LOG:
            applied = world.apply(decision)
            assert applied is not None
            assert str(applied.not_logged) == "log failed"
            assert (world.calls, world.state, world.entries) == (calls, decision.pin, [])
            continue
        with pytest.raises(StorageError, match=f"{name} failed"):
            world.apply(decision)
        assert world.calls == calls[:place]
        if of in {Accept, Upgrade} and name == LOG:
            assert world.entries == []
            assert world.state != decision.pin


def test_a_strengthening_that_can_be_neither_logged_nor_saved_is_a_failure() -> None:
    world = World(pin("disabled"), fails=frozenset({1, 2}))
    with pytest.raises(StorageError, match="save failed"):
        world.apply(decided(pin("disabled"), asked("required")))
    assert world.state == pin("disabled")


def test_a_crash_between_an_accept_s_log_and_save_leaves_the_stronger_pin() -> None:
    """An unfinished accept is not consent: the state still holds the pin in force, saved before it."""
    for state in (pin("required"), pin("disabled"), Unpinned()):
        world = World(state, fails=frozenset({2 if state == pin("required") else 3}))
        decision = decided(pin("required"), asked("disabled"))
        with pytest.raises(StorageError):
            world.apply(decision)
        (entry,) = world.entries
        again = pin_in_force(world.state, entry.pin, kind=RunKind.REMOTE)
        refused = decide(again, asked("disabled"), kind=RunKind.REMOTE, accept_config_change=False, at=LATER)
        assert isinstance(refused, Refuse)
