"""Which runs a filter finds, and how counts add up, beside a model of a few lines."""

from itertools import product
from typing import Final

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from msgspec.structs import replace

from core.strategies import AT, ENTRY_STRATEGIES, held_pins, kinds
from sandbox_pin import (
    Disputed,
    PinSource,
    RunKind,
    SandboxMode,
    SandboxPin,
    Unpinned,
    mode_strength,
    pin_in_force,
)
from sandbox_pin.core.audit import (
    AuditRow,
    Filters,
    Finding,
    finding_of,
    finds,
    last_launch_of,
    strength_of,
)
from sandbox_pin.core.audit_summary import add_summaries, describe_summary, summarize_rows
from sandbox_pin.core.event import Entry, LaunchStarted
from sandbox_pin.core.record import make_pin


def row(state: SandboxPin | Unpinned, witness: SandboxPin | None, kind: RunKind | None) -> AuditRow:
    """A run that could be read; one of unknown kind has a state alone."""
    held = state if kind is None else pin_in_force(state, witness, kind=kind)
    return AuditRow(
        path="runs/r",
        run="r",
        kind=kind,
        finding=finding_of(held),
        in_force=held,
        strength=strength_of(held, kind),
        state_pin=state,
        witness=witness,
        differs=witness is not None and witness != state,
    )


PINS: Final = [
    make_pin(mode=mode, source=PinSource.CREATED, recorded_at=AT, backend=backend)
    for mode, backend in product(SandboxMode, [None, "one", "other"])
]
ROWS: Final = [
    *(
        row(state, witness, kind)
        for state, witness, kind in product([Unpinned(), *PINS], [None, *PINS], RunKind)
    ),
    *(row(state, None, None) for state in [Unpinned(), *PINS]),
    *(
        AuditRow(path="runs/r", run="r", finding=finding, problem="missing")
        for finding in (Finding.DAMAGED, Finding.UNREADABLE)
    ),
    *(
        replace(row(pin, None, kind), finding=Finding.UNREADABLE, problem="the log could not be read")
        for pin, kind in product(PINS, RunKind)
    ),
    AuditRow(path="runs/r", run="r", finding=Finding.VANISHED),
]
"""A run of each sort that there is."""

FILTERS: Final = [
    Filters(at_least=at_least, unpinned=unpinned, damaged=damaged, disagree=disagree)
    for at_least, unpinned, damaged, disagree in product([None, *SandboxMode], *[[False, True]] * 3)
]
"""Every filter that there is, the first one empty."""

rows: Final[SearchStrategy[AuditRow]] = st.sampled_from(ROWS)
filters: Final[SearchStrategy[Filters]] = st.sampled_from(FILTERS)
STRENGTHS: Final = {
    ("local", "disabled"): 0,
    ("local", "preferred"): 1,
    ("local", "required"): 2,
    ("remote", "disabled"): 0,
    ("remote", "preferred"): 2,
    ("remote", "required"): 2,
}


def found_by_the_model(wanted: Filters, one: AuditRow) -> bool:
    if one.finding == "vanished":
        return False
    broken = one.finding in {"damaged", "unreadable"}
    held = one.in_force
    if broken or one.kind is None or held is None or isinstance(held, Unpinned | Disputed):
        shown_to_hold = False
    else:
        floor = STRENGTHS[one.kind, wanted.at_least or "disabled"]
        shown_to_hold = STRENGTHS[one.kind, held.mode] >= floor
    return (
        (wanted.at_least is not None and not shown_to_hold)
        or (wanted.unpinned and isinstance(held, Unpinned))
        or (wanted.damaged and broken)
        or (wanted.disagree and one.witness is not None and one.witness != one.state_pin)
    )


def test_each_filter_finds_exactly_what_it_should() -> None:
    """Every filter, beside every sort of run."""
    for wanted, one in product(FILTERS, ROWS):
        assert finds(wanted, one) == found_by_the_model(wanted, one), (wanted, one)


def test_no_filter_finds_nothing() -> None:
    assert [wanted.given for wanted in FILTERS] == [False, *[True] * (len(FILTERS) - 1)]
    assert not any(finds(FILTERS[0], one) for one in ROWS)


def test_a_filter_never_finds_less_beside_another() -> None:
    for wanted, one in product(FILTERS, ROWS):
        alone = [
            Filters(at_least=wanted.at_least),
            Filters(unpinned=wanted.unpinned),
            Filters(damaged=wanted.damaged),
            Filters(disagree=wanted.disagree),
        ]
        assert finds(wanted, one) == any(finds(single, one) for single in alone), (wanted, one)


def test_what_a_run_is_follows_from_its_pin_in_force() -> None:
    assert finding_of(Unpinned()) is Finding.UNPINNED
    assert finding_of(Disputed(state=PINS[1], witness=PINS[2])) is Finding.DISPUTED
    assert {finding_of(pin) for pin in PINS} == {Finding.PINNED}


def test_a_run_is_counted_under_its_mode_or_what_keeps_it_from_having_one() -> None:
    """A disputed pin's mode is none to run under, and a log that can't be read may say more than a state."""
    for one in ROWS:
        held = one.in_force
        pinned = one.finding is Finding.PINNED and isinstance(held, SandboxPin)
        label = held.mode if pinned and isinstance(held, SandboxPin) else one.finding
        assert summarize_rows([one], Filters()).counts == {one.kind or "": {label: 1}}
    assert {one.finding for one in ROWS} == {*Finding}


@given(st.lists(rows, max_size=12), st.integers(0, 12), filters)
def test_summaries_add_up(some: list[AuditRow], cut: int, wanted: Filters) -> None:
    whole = summarize_rows(some, wanted)
    assert add_summaries(summarize_rows(some[:cut], wanted), summarize_rows(some[cut:], wanted)) == whole
    assert whole.total == len(some)
    assert whole.found == sum(finds(wanted, one) for one in some)
    for finding in (
        Finding.DAMAGED,
        Finding.UNREADABLE,
        Finding.VANISHED,
        Finding.UNPINNED,
        Finding.DISPUTED,
    ):
        assert whole.count(finding) == sum(one.finding is finding for one in some)
    numbers = [
        int(word) for line in describe_summary(whole, wanted)[1:] for word in line.split() if word.isdigit()
    ]
    assert sum(numbers) == len(some)


@given(held_pins, kinds)
def test_the_strength_is_that_of_the_mode_in_its_kind(pin: SandboxPin, kind: RunKind) -> None:
    assert strength_of(pin, kind) is mode_strength(pin.mode, kind)
    assert strength_of(Unpinned(), kind) is None
    assert strength_of(Disputed(state=pin, witness=pin), kind) is mode_strength(pin.mode, kind)
    assert strength_of(pin, None) is None


@given(ENTRY_STRATEGIES["launch_started"])
def test_the_last_launch_is_told_as_its_entry_says(entry: Entry) -> None:
    """Each value of the entry that the row has a name for, and no value of its own."""
    assert last_launch_of(None) is None
    assert isinstance(entry, LaunchStarted)
    told = last_launch_of(entry)
    assert told is not None
    names = told.__struct_fields__
    assert [getattr(told, name) for name in names] == [getattr(entry, name) for name in names]


def test_a_summary_in_words_names_kinds_modes_and_what_was_found() -> None:
    some = [
        AuditRow(path="a", run="a", finding=Finding.DAMAGED, problem="missing"),
        AuditRow(path="b", run="b", finding=Finding.UNPINNED, kind=RunKind.LOCAL, in_force=Unpinned()),
    ]
    wanted = Filters(at_least=SandboxMode.REQUIRED)
    assert describe_summary(summarize_rows(some, wanted), wanted) == [
        "2 runs, 2 found",
        "local: 1 unpinned",
        "of unknown kind: 1 damaged",
    ]
    assert describe_summary(summarize_rows([], Filters()), Filters()) == ["0 runs"]
    assert describe_summary(summarize_rows(some[:1], wanted), wanted)[0] == "1 run, 1 found"
