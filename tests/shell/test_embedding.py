"""The rule in one call: as its steps, and what becomes of a log that is another's or can't be read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.strategies import LATER, held_pins, kinds, requests
from sandbox_pin import (
    Accept,
    Refuse,
    RunKind,
    SandboxMode,
    SandboxPin,
    SandboxRequest,
    StateError,
    StorageError,
    Strengthen,
    Unpinned,
    decide,
    pin_in_force,
)
from sandbox_pin.core.event import Entry, RunCreated
from sandbox_pin.shell import apply_request, create_logged_pin, operator_name
from sandbox_pin.testing import MemoryLog, build_entry, build_pin, build_request

LOCAL = RunKind.LOCAL
WEAK = build_pin(mode=SandboxMode.DISABLED)


class Unreadable(MemoryLog):
    """A log that takes entries, and tells none."""

    def last_entry(self) -> Entry | None:
        """Fails as a broken disk would."""
        raise StorageError("could not be read")


def applied(
    state: SandboxPin | Unpinned, log: MemoryLog, mode: SandboxMode, *, accepts: bool = False
) -> tuple[list[SandboxPin], type]:
    """What was saved, and which decision or error it was."""
    saved: list[SandboxPin] = []
    try:
        decision = apply_request(
            build_request(mode=mode),
            state=state,
            log=log,
            save=saved.append,
            kind=LOCAL,
            run="r",
            accept_config_change=accepts,
        )
    except (StateError, StorageError) as error:
        return saved, type(error)
    return saved, type(decision)


@given(held_pins | st.just(Unpinned()), st.none() | held_pins, requests, kinds, st.booleans())
def test_the_one_call_decides_as_its_steps_do(
    state: SandboxPin | Unpinned,
    witness: SandboxPin | None,
    request_: SandboxRequest,
    kind: RunKind,
    accepts: bool,
) -> None:
    """Over any state, log and request; the time apart, which is the system's."""
    log = MemoryLog()
    if witness is not None:
        log.append(build_entry(pin=witness, kind=kind))
    saved: list[SandboxPin] = []
    decision = apply_request(
        request_, state=state, log=log, save=saved.append, kind=kind, run="r", accept_config_change=accepts
    )
    at = LATER if isinstance(decision, Refuse) else decision.pin.recorded_at
    held = pin_in_force(state, witness, kind=kind)
    assert decision == decide(held, request_, kind=kind, accept_config_change=accepts, at=at)
    if isinstance(decision, Refuse):
        assert saved == []
    else:
        assert (saved[-1] if saved else state) == decision.pin


def test_a_first_pin_is_in_the_log_under_the_operator_s_name() -> None:
    log = MemoryLog()
    pin = create_logged_pin(build_request(), log=log, kind=LOCAL, run="r", workspace="/work")
    (entry,) = log.entries
    assert isinstance(entry, RunCreated)
    assert (entry.pin, entry.run, entry.workspace, entry.operator) == (pin, "r", "/work", operator_name())


def test_a_first_pin_that_can_t_be_logged_is_none() -> None:
    log = MemoryLog()
    log.broken = True
    with pytest.raises(StorageError):
        create_logged_pin(build_request(), log=log, kind=LOCAL, run="r", workspace="/work")


@pytest.mark.parametrize(
    "entry", [build_entry(run="other"), build_entry(kind=RunKind.REMOTE)], ids=["run", "kind"]
)
def test_a_log_of_another_run_or_kind_is_damage(entry: Entry) -> None:
    """A flipped kind would weaken ``preferred``; the flag does not pass it over."""
    log = MemoryLog()
    log.append(entry)
    assert applied(build_pin(), log, SandboxMode.REQUIRED, accepts=True) == ([], StateError)


def test_where_the_log_can_t_be_read_a_refusal_stands_and_a_strengthening_is_saved() -> None:
    """Anything else stops, so that an accept is never decided by the state alone."""
    assert applied(build_pin(), Unreadable(), SandboxMode.DISABLED) == ([], Refuse)
    saved, of = applied(WEAK, Unreadable(), SandboxMode.REQUIRED)
    assert ([pin.mode for pin in saved], of) == ([SandboxMode.REQUIRED], Strengthen)
    assert applied(build_pin(), Unreadable(), SandboxMode.DISABLED, accepts=True) == ([], StorageError)
    assert applied(build_pin(), Unreadable(), SandboxMode.REQUIRED) == ([], StorageError)
    assert applied(Unpinned(), Unreadable(), SandboxMode.REQUIRED) == ([], StorageError)


def test_a_strengthening_that_can_t_be_logged_is_saved_and_told() -> None:
    log = MemoryLog()
    log.broken = True
    saved, of = applied(WEAK, log, SandboxMode.REQUIRED)
    assert ([pin.mode for pin in saved], of) == ([SandboxMode.REQUIRED], StorageError)


def test_an_accept_that_can_t_be_logged_does_not_happen() -> None:
    log = MemoryLog()
    assert applied(build_pin(), log, SandboxMode.DISABLED, accepts=True)[1] is Accept
    log = MemoryLog()
    log.broken = True
    assert applied(build_pin(), log, SandboxMode.DISABLED, accepts=True) == ([], StorageError)
