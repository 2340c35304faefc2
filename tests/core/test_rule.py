"""The rule as laws: never weaker unseen, never less than told."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from core.strategies import AT, LATER, backends, held_pins, kinds, modes, requests, sources
from sandbox_pin import (
    Accept,
    Decision,
    Disputed,
    Fact,
    PinSource,
    PinV2,
    Refuse,
    RunKind,
    SandboxMode,
    SandboxPin,
    SandboxRequest,
    Strength,
    Strengthen,
    Unchanged,
    Unpinned,
    Upgrade,
    create_pin,
    decide,
    mode_strength,
    pin_in_force,
)
from sandbox_pin.core.facts import Comparison, compare_backend, compare_mode
from sandbox_pin.core.modes import weakest_mode
from sandbox_pin.core.record import pinned_backend


def held_v2(backend: str) -> SearchStrategy[SandboxPin]:
    """Pins that hold a run to this backend."""
    return st.builds(PinV2, mode=modes, source=sources, recorded_at=st.just(AT), backend=st.just(backend))


InForce = SandboxPin | Disputed | Unpinned
Case = tuple[RunKind, InForce, SandboxRequest]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A kind, what is in force, and a request."""
    kind = draw(kinds)
    state = draw(held_pins | st.just(Unpinned()))
    return kind, pin_in_force(state, draw(st.none() | held_pins), kind=kind), draw(requests)


def decided(case: Case, *, accept: bool, at: str = LATER) -> Decision:
    """What is decided of the case."""
    kind, pin, request = case
    return decide(pin, request, kind=kind, accept_config_change=accept, at=at)


def strength(pin: InForce, kind: RunKind) -> Strength:
    """The strength that a run is held to; of no pin, none."""
    if isinstance(pin, Unpinned):
        return Strength.LOGICAL
    return mode_strength((pin.witness if isinstance(pin, Disputed) else pin).mode, kind)


def names(pin: InForce) -> set[str]:
    """Every backend that a run is held to."""
    if isinstance(pin, Unpinned):
        return set()
    records = (pin.state, pin.witness) if isinstance(pin, Disputed) else (pin,)
    return {name for record in records if (name := pinned_backend(record)) is not None}


def opinion(case: Case) -> str | None:
    """The backend that the request asks for, where it can: of a local run it is no fact."""
    return case[2].backend if case[0] is RunKind.REMOTE else None


def is_weaker(case: Case) -> bool:
    """The design's first row, said again without the code: weaker in mode, or another backend that holds."""
    kind, pin, request = case
    if isinstance(pin, Unpinned):
        return False
    wanted = mode_strength(request.mode, kind)
    another = opinion(case) is not None and bool(names(pin) - {opinion(case)})
    return (
        isinstance(pin, Disputed)
        or wanted < strength(pin, kind)
        or (another and max(wanted, strength(pin, kind)) > 0)
    )


@settings(max_examples=100)
@given(cases(), st.booleans())
def test_the_kind_of_decision_is_the_table_of_the_design(case: Case, accept: bool) -> None:
    """Weaker, else stronger, else a new fact, else unchanged: in this order."""
    kind, pin, request = case
    decision = decided(case, accept=accept)
    if isinstance(pin, Unpinned):
        expected: type = Upgrade
    elif is_weaker(case):
        expected = Accept if accept else Refuse
    elif mode_strength(request.mode, kind) > strength(pin, kind):
        expected = Strengthen
    elif opinion(case) is not None and not names(pin):
        expected = Upgrade
    else:
        expected = Unchanged
    assert type(decision) is expected


@given(cases())
def test_without_the_flag_nothing_becomes_weaker(case: Case) -> None:
    """Whatever is asked: the strength does not fall, and no backend that holds anything is exchanged."""
    kind, before, _ = case
    decision = decided(case, accept=False)
    assert not isinstance(decision, Accept)
    assert strength(decision.pin, kind) >= strength(before, kind)
    if names(before):
        assert names(decision.pin) == names(before)


@given(cases(), st.booleans())
def test_only_an_accept_lowers_a_strength(case: Case, accept: bool) -> None:
    """And an accept does so only to what was asked."""
    kind, before, request = case
    decision = decided(case, accept=accept)
    if strength(decision.pin, kind) < strength(before, kind):
        assert isinstance(decision, Accept)
        assert decision.pin.mode is request.mode


@given(cases())
def test_the_flag_changes_nothing_where_nothing_is_weaker(case: Case) -> None:
    """The flag accepts what is weaker; elsewhere it has no effect at all."""
    without, with_flag = decided(case, accept=False), decided(case, accept=True)
    if isinstance(without, Refuse):
        assert isinstance(with_flag, Accept)
        assert with_flag.weaker == without.weaker
    else:
        assert without == with_flag


@given(cases())
def test_a_refusal_keeps_everything_and_names_every_weaker_fact(case: Case) -> None:
    """The pin is the one that was in force, and each weaker fact is data."""
    kind, before, request = case
    decision = decided(case, accept=False)
    if not isinstance(decision, Refuse):
        return
    assert decision.pin == before
    assert (decision.request, decision.kind) == (request, kind)
    facts = [weaker.fact for weaker in decision.weaker]
    assert (Fact.MODE in facts) == (mode_strength(request.mode, kind) < strength(before, kind))
    assert len(facts) == len(set(facts)) > 0
    for weaker in decision.weaker:
        if weaker.fact is Fact.MODE:
            assert (weaker.requested, weaker.requested_from) == (request.mode, request.mode_from)
        else:
            assert (weaker.requested, weaker.requested_from) == (request.backend, request.backend_from)
            assert set(weaker.pinned) == names(before)
            assert isinstance(before, Disputed) == (len(weaker.pinned) == 2)


@given(cases())
def test_deciding_again_on_the_result_is_unchanged(case: Case) -> None:
    """One decision settles a request: the same one again leaves the pin, with and without the flag.

    The result holds the request's mode by strength, and its backend too, but for a backend that was left
    alone because neither mode enforces anything.
    """
    kind, before, request = case
    decision = decided(case, accept=True)
    assert not isinstance(decision, Refuse)
    after = decision.pin
    for accept in (False, True):
        again = decide(after, request, kind=kind, accept_config_change=accept, at="later still")
        assert again == Unchanged(pin=after)
    assert mode_strength(after.mode, kind) == mode_strength(request.mode, kind)
    if pinned_backend(after) != opinion(case) is not None:
        assert isinstance(decision, Unchanged)
        assert strength(before, kind) == mode_strength(request.mode, kind) == Strength.LOGICAL


@given(cases())
def test_a_refused_request_stays_refused(case: Case) -> None:
    """Asking again without the flag gives the same refusal."""
    first = decided(case, accept=False)
    if isinstance(first, Refuse):
        assert decide(first.pin, case[2], kind=case[0], accept_config_change=False, at=AT) == first


@given(cases(), st.booleans())
def test_a_request_without_an_opinion_never_loses_a_backend(case: Case, accept: bool) -> None:
    """A fact that the request leaves out is kept, by an accept too."""
    kind, before, request = case
    silent = (kind, before, msgspec.structs.replace(request, backend=None))
    decision = decided(silent, accept=accept)
    if isinstance(before, Disputed) and isinstance(decision, Accept):
        assert pinned_backend(decision.pin) == pinned_backend(before.witness)
    else:
        assert names(decision.pin) == names(before)


@given(cases(), st.booleans())
def test_a_decision_is_determined_by_its_arguments(case: Case, accept: bool) -> None:
    """The same again gives an equal value, with an equal hash."""
    first, second = decided(case, accept=accept), decided(case, accept=accept)
    assert first == second
    assert hash(first) == hash(second)


@given(cases(), st.booleans())
def test_the_time_decides_nothing(case: Case, accept: bool) -> None:
    """Another time changes the time in the result, and nothing else."""
    first, second = decided(case, accept=accept, at="t1"), decided(case, accept=accept, at="t2")
    assert type(first) is type(second)
    if isinstance(first, Refuse | Unchanged):
        assert first == second
        return
    assert not isinstance(second, Refuse | Unchanged)
    assert first.pin.recorded_at == first.entry.at == "t1"
    assert msgspec.structs.replace(first.pin, recorded_at="t2") == second.pin
    assert msgspec.json.encode(first).replace(b'"t1"', b'"t2"') == msgspec.json.encode(second)


@given(cases(), st.booleans())
def test_a_change_tells_the_log_everything(case: Case, accept: bool) -> None:
    """The pin before and after, the request, the kind and the time are in the entry, and the source fits."""
    kind, before, request = case
    decision = decided(case, accept=accept)
    match decision:
        case Refuse() | Unchanged():
            assert decision.pin == before
            return
        case Accept():
            source = PinSource.ACCEPTED
        case Strengthen():
            source = PinSource.STRENGTHENED
        case Upgrade():
            source = PinSource.UPGRADED
    assert decision.pin.source is source
    assert decision.before == before
    entry = decision.entry
    assert (entry.before, entry.pin, entry.request, entry.kind) == (before, decision.pin, request, kind)


@given(cases())
def test_an_upgrade_keeps_a_pinned_mode_word(case: Case) -> None:
    """A new fact beside an old mode: ``preferred`` stays ``preferred``."""
    before = case[1]
    decision = decided(case, accept=False)
    if isinstance(decision, Upgrade) and not isinstance(before, Unpinned | Disputed):
        assert decision.pin.mode is before.mode
        assert pinned_backend(decision.pin) == opinion(case) is not None


@given(held_v2("bubblewrap"), held_v2("other"), requests)
def test_a_dispute_is_refused_without_the_flag_and_settled_with_it(
    state: SandboxPin, witness: SandboxPin, request: SandboxRequest
) -> None:
    """Whatever is asked, even what is stronger: only the operator knows which backend is right."""
    pin = pin_in_force(state, witness, kind=RunKind.REMOTE)
    assert isinstance(pin, Disputed)
    case = (RunKind.REMOTE, pin, request)
    refused, accepted = decided(case, accept=False), decided(case, accept=True)
    assert isinstance(refused, Refuse)
    assert Fact.BACKEND in [weaker.fact for weaker in refused.weaker]
    assert isinstance(accepted, Accept)
    assert accepted.pin.mode is request.mode
    assert isinstance(accepted.pin, PinV2)
    assert accepted.pin.backend == (request.backend or pinned_backend(witness))


@given(held_pins, kinds)
def test_joining_a_pin_with_itself_is_that_pin(pin: SandboxPin, kind: RunKind) -> None:
    """The join is idempotent, and has a neutral element on each side."""
    assert pin_in_force(pin, pin, kind=kind) == pin
    assert pin_in_force(pin, None, kind=kind) == pin
    assert pin_in_force(Unpinned(), pin, kind=kind) == pin
    assert pin_in_force(Unpinned(), None, kind=kind) == Unpinned()


@given(held_pins, held_pins, kinds)
def test_a_join_is_never_weaker_than_either(state: SandboxPin, witness: SandboxPin, kind: RunKind) -> None:
    """It is exactly as strong as the stronger, commutative in strength, and loses no backend."""
    joined, other = pin_in_force(state, witness, kind=kind), pin_in_force(witness, state, kind=kind)
    assert strength(joined, kind) == max(strength(state, kind), strength(witness, kind))
    assert strength(joined, kind) == strength(other, kind)
    if kind is RunKind.REMOTE:
        assert names(joined) == names(other) == names(state) | names(witness)
    assert bool(names(joined)) == bool(names(state) | names(witness))


@given(held_pins, held_pins, kinds)
def test_a_join_speaks_with_the_witness_on_a_tie(
    state: SandboxPin, witness: SandboxPin, kind: RunKind
) -> None:
    """Mode word, source and time are of the stronger record, on a tie of the witness's."""
    joined = pin_in_force(state, witness, kind=kind)
    told = state if strength(state, kind) > strength(witness, kind) else witness
    records = (joined.state, joined.witness) if isinstance(joined, Disputed) else (joined,)
    for record in records:
        assert not isinstance(record, Unpinned)
        assert (record.mode, record.source, record.recorded_at) == (told.mode, told.source, told.recorded_at)


@given(held_pins, held_pins, modes, modes, kinds)
def test_a_join_is_monotone(
    state: SandboxPin, witness: SandboxPin, one: SandboxMode, two: SandboxMode, kind: RunKind
) -> None:
    """A stronger mode on either side never gives a weaker pin in force."""
    weaker, stronger = sorted((one, two), key=lambda mode: mode_strength(mode, kind))
    for low, high in (
        ((with_mode(state, weaker), witness), (with_mode(state, stronger), witness)),
        ((state, with_mode(witness, weaker)), (state, with_mode(witness, stronger))),
    ):
        below, above = pin_in_force(*low, kind=kind), pin_in_force(*high, kind=kind)
        assert strength(below, kind) <= strength(above, kind)


def with_mode(pin: SandboxPin, mode: SandboxMode) -> SandboxPin:
    """The same record with this mode."""
    return msgspec.structs.replace(pin, mode=mode)


@given(held_pins, held_pins, kinds)
def test_a_dispute_is_two_backends_of_a_remote_run(
    state: SandboxPin, witness: SandboxPin, kind: RunKind
) -> None:
    """Disputed if and only if remote, and both name a backend, and not the same one."""
    joined = pin_in_force(state, witness, kind=kind)
    differ = len(names(state) | names(witness)) == 2
    assert isinstance(joined, Disputed) == (kind is RunKind.REMOTE and differ)
    if isinstance(joined, Disputed):
        assert pinned_backend(joined.state) == pinned_backend(state)
        assert pinned_backend(joined.witness) == pinned_backend(witness)


@given(requests, kinds, st.none() | st.tuples(held_pins, kinds))
def test_a_created_pin_is_at_least_the_request_and_the_parent(
    request: SandboxRequest, kind: RunKind, parent: tuple[SandboxPin, RunKind] | None
) -> None:
    """As strong as the stronger of the two, each in its own kind, or the next that the kind has."""
    pin = create_pin(request, kind=kind, at=AT, parent=parent)
    floor = Strength.LOGICAL if parent is None else strength(*parent)
    wanted = mode_strength(request.mode, kind)
    assert strength(pin, kind) >= max(wanted, floor)
    if wanted >= floor:
        assert pin.mode is request.mode
    else:
        assert pin.mode is weakest_mode(floor, kind)
    assert (pin.source, pin.recorded_at) == (PinSource.CREATED, AT)
    assert pinned_backend(pin) == (request.backend if kind is RunKind.REMOTE else None)
    again = decide(pin, request, kind=kind, accept_config_change=False, at=LATER)
    assert isinstance(again, Unchanged) == (strength(pin, kind) == wanted)


@pytest.mark.parametrize(
    ("floor", "kind", "mode"),
    [
        (0, RunKind.LOCAL, "disabled"),
        (1, RunKind.LOCAL, "preferred"),
        (2, RunKind.LOCAL, "required"),
        (0, RunKind.REMOTE, "disabled"),
        (1, RunKind.REMOTE, "preferred"),
        (2, RunKind.REMOTE, "preferred"),
    ],
)
def test_the_weakest_mode_of_at_least_a_strength(floor: int, kind: RunKind, mode: str) -> None:
    """A child gets no more than it must: the whole table."""
    assert weakest_mode(Strength(floor), kind) == mode


@given(modes, modes, kinds)
def test_modes_compare_by_strength(pinned: SandboxMode, requested: SandboxMode, kind: RunKind) -> None:
    """A comparison and its opposite agree."""
    order = [Comparison.WEAKER, Comparison.SAME, Comparison.STRONGER]
    before, after = mode_strength(pinned, kind), mode_strength(requested, kind)
    there, back = compare_mode(before, after), compare_mode(after, before)
    assert order.index(there) + order.index(back) == 2


@given(st.none() | backends, st.none() | backends, st.sampled_from(Strength))
def test_backends_compare_by_name(pinned: str | None, requested: str | None, at: Strength) -> None:
    """No opinion is the same; another name is weaker where anything is enforced."""
    found = compare_backend(pinned, requested, strength=at)
    if requested in {None, pinned}:
        assert found is Comparison.SAME
    elif pinned is None:
        assert found is Comparison.NEW
    else:
        assert found is (Comparison.SAME if at == 0 else Comparison.WEAKER)


@given(cases(), st.booleans())
def test_a_decision_shows_its_tag_in_json(case: Case, accept: bool) -> None:
    """JSON shows the very value, and which decision it is."""
    decision = decided(case, accept=accept)
    shown = msgspec.json.decode(msgspec.json.encode(decision))
    assert shown["decision"] == type(decision).__name__.lower()
    assert set(shown) == {"decision", *decision.__struct_fields__}


@pytest.mark.parametrize("kind", [Refuse, Accept, Strengthen, Upgrade, Unchanged])
def test_a_decision_has_no_truth_value(kind: type) -> None:
    """``if decide(...)`` must be a type error, so that nothing may define what it would mean."""
    assert not hasattr(kind, "__bool__")
    assert not hasattr(kind, "__len__")


@given(cases(), st.booleans())
def test_a_decision_can_not_be_changed(case: Case, accept: bool) -> None:
    """Frozen all the way down."""
    decision = decided(case, accept=accept)
    for value in (decision, decision.pin, case[2]):
        for name in value.__struct_fields__:
            with pytest.raises(AttributeError):
                setattr(value, name, None)
