"""Law 1 over the whole state space: each sequence of commands, crashes and tampering, against the pure core.

Law 1: while the state or the log still holds the last change, the pin in force never gets weaker except by an
accept whose entry is whole in the log first. (``recover`` is outside this law, and pins ``required``.)

The model is a few lines: what one command writes, in which order (``course``), and what each crash between
two of these writes leaves (``ends``). ``pin_in_force``, ``decide`` and ``read_pin`` are the real ones, and
the real ``apply_decision`` is held against the model for every decision that can be reached.

A world is what a command finds, and what a tamperer has kept: the state's pin, the log's witness, each pin
that the state ever held, each that was ever the log's last, and, as the history variable, the pin that is
owed. No more of a history can matter: a command reads the log's last whole entry alone, and whoever may put
back any earlier copy of the log, or cut it at any line, chooses among the witnesses that there ever were. So
there are finitely many worlds, and they are searched to the end: sequences of any length, not of five alone.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias, assert_never

import pytest

from core.strategies import AT, LATER
from sandbox_pin import (
    Accept,
    Decision,
    Disputed,
    PinSource,
    Refuse,
    RunKind,
    SandboxMode,
    SandboxPin,
    SandboxRequest,
    StateError,
    Strengthen,
    Unchanged,
    Unpinned,
    Upgrade,
    decide,
    encode_pin,
    mode_strength,
    pin_in_force,
    read_pin,
)
from sandbox_pin.core.event import Entry
from sandbox_pin.core.record import make_pin, pinned_backend
from sandbox_pin.errors import StorageError
from sandbox_pin.shell.apply import apply_decision

SECONDS: Final = float(os.environ.get("SANDBOX_PIN_SPACE_SECONDS", "8"))
"""How long the search goes on beyond what is always searched."""

FIGURES: Final = os.environ.get("SANDBOX_PIN_FIGURES")
"""A file to which the figures are added, one JSON object a line."""

COMMANDS: Final = 5
"""Every sequence of this many commands is always searched."""

ONE, OTHER = "one", "other"
BACKENDS: Final = (None, ONE, OTHER)


class Damaged:
    """What a command finds where it stops at once, with exit status 65."""


class Nothing(NamedTuple):
    """What stands in a state in the pin's place, or in place of a log with a whole entry."""

    name: str
    text: bytes | None = None


# In the state: no key at all, and what no reader takes. In the log's place: no file, and no whole line.
DELETED, BLANKED = Nothing("deleted", b""), Nothing("blanked", b'"sandbox_pin":"",')
NO_PINS: Final = (DELETED, BLANKED)
GONE, EMPTY = Nothing("gone"), Nothing("empty")
NO_LOGS: Final = (GONE, EMPTY)

State: TypeAlias = SandboxPin | Nothing
Witness: TypeAlias = SandboxPin | Nothing
Held: TypeAlias = SandboxPin | Disputed | Unpinned | Damaged
Owner: TypeAlias = Literal["ours", "foreign"]
"""Who keeps the files: a run folder, or another orchestrator (``check``), which may lose the pin."""
OWNERS: Final[tuple[Owner, ...]] = ("ours", "foreign")


def pin(mode: SandboxMode, backend: str | None = None, source: PinSource = PinSource.CREATED) -> SandboxPin:
    """A pin of these facts."""
    return make_pin(mode=mode, source=source, recorded_at=AT, backend=backend)


def facts(held: SandboxPin) -> tuple[SandboxMode, str | None]:
    """All of a pin that a decision may depend on."""
    return held.mode, pinned_backend(held)


# ---------------------------------------------------------------- the model of the shell


@cache
def found(owner: Owner, state: State) -> SandboxPin | Unpinned | Damaged:
    """What the real reader makes of the state's bytes."""
    text = state.text or b"" if isinstance(state, Nothing) else b'"sandbox_pin":%s,' % encode_pin(state)
    try:
        return read_pin(b'{%s"protocol":12}' % text, pinned_since=12 if owner == "ours" else None)
    except StateError:
        return Damaged()


@cache
def in_force(owner: Owner, kind: RunKind, state: State, witness: Witness) -> Held:
    """What a command finds, as ``shell/reading.py`` and ``shell/foreign.py`` join it."""
    held = found(owner, state)
    if isinstance(held, Damaged):
        return held
    if isinstance(witness, Nothing):
        if owner == "ours" or (isinstance(held, Unpinned) and witness is EMPTY):
            return Damaged()
        return held
    return pin_in_force(held, witness, kind=kind)


class Write(NamedTuple):
    """One write of a command, whole before the next begins."""

    to: Literal["state", "log"]
    pin: SandboxPin


def course(decision: Decision, state: SandboxPin | Unpinned) -> list[Write]:
    """The order of ``shell/apply.py``."""
    match decision:
        case Refuse():
            return []
        case Unchanged():
            return [Write("state", decision.pin)] if decision.pin != state else []
        case Accept(before=before):
            held = before.state if isinstance(before, Disputed) else before
            mending = [Write("state", held)] if held != state else []
            return [*mending, Write("log", decision.pin), Write("state", decision.pin)]
        case Strengthen() | Upgrade():
            return [Write("log", decision.pin), Write("state", decision.pin)]
        case _:
            assert_never(decision)


class End(NamedTuple):
    """What a command leaves, whether it ended or crashed."""

    state: State
    witness: Witness
    writes: tuple[Write, ...]
    complete: bool
    accepted: bool
    """Whether an accept's entry is in the log, whole."""


def ends(
    decision: Decision, state: State, witness: Witness, held: SandboxPin | Unpinned, *, launches: bool
) -> Iterator[End]:
    """What is left by a crash before the first write, after each, and at the end.

    A launch's own entry carries the pin too. A strengthening is saved even where it can't be logged.
    """
    writes = course(decision, held)
    told = [Write("log", decision.pin)] if launches and not isinstance(decision, Refuse) else []
    courses = [[*writes, *told]]
    if isinstance(decision, Strengthen):
        courses.append([*writes[1:], *told])
    for planned in courses:
        for count in range(len(planned) + 1):
            done = tuple(planned[:count])
            yield End(
                state=next((write.pin for write in reversed(done) if write.to == "state"), state),
                witness=next((write.pin for write in reversed(done) if write.to == "log"), witness),
                writes=done,
                complete=count >= len(planned) - len(told),
                accepted=isinstance(decision, Accept) and Write("log", decision.pin) in done,
            )


def recoveries(owner: Owner, kind: RunKind, state: State, witness: Witness) -> Iterator[End]:
    """What ``recover`` leaves of a damaged run: the log is written first, and both say ``required``."""
    if not isinstance(in_force(owner, kind, state, witness), Damaged):
        return
    known = (told for told in (witness, state) if not isinstance(told, Nothing))
    backend = next((name for told in known if (name := pinned_backend(told)) is not None), None)
    fresh = pin(SandboxMode.REQUIRED, backend, PinSource.STRENGTHENED)
    for state_after, complete in ((state, False), (fresh, True)):
        yield End(
            state_after, fresh, (Write("log", fresh), Write("state", fresh))[: 1 + complete], complete, False
        )


def is_weaker(kind: RunKind, after: Held, before: Held) -> bool:
    """Whether ``after`` holds a run to less than ``before`` in any fact.

    Damage, and a dispute over the backend, hold a run to more: nothing goes on without the operator.
    """
    if isinstance(after, Damaged) or isinstance(before, Unpinned | Damaged):
        return False
    if isinstance(after, Unpinned):
        return True
    first, second = (held.witness if isinstance(held, Disputed) else held for held in (before, after))
    if mode_strength(second.mode, kind) < mode_strength(first.mode, kind):
        return True
    if isinstance(after, Disputed):
        return False
    return isinstance(before, Disputed) or pinned_backend(before) not in {None, pinned_backend(after)}


@pytest.mark.parametrize("owner", OWNERS)
@pytest.mark.parametrize(
    ("text", "like"),
    [
        (b'"sandbox_pin":{},', DELETED),
        (b'"sandbox_pin": {  } ,', DELETED),
        (b'"sandbox_pin":null,', BLANKED),
        (b'"sandbox_pin":0,', BLANKED),
        (b'"sandbox_pin":[],', BLANKED),
        (b'"sandbox_pin":{"mode":"disabled"},', BLANKED),
    ],
)
def test_whatever_is_put_in_the_pin_s_place_is_read_as_deleted_or_as_blanked(
    owner: Owner, text: bytes, like: Nothing
) -> None:
    """So that the two stand for all in what follows."""
    assert type(found(owner, Nothing("other", text))) is type(found(owner, like))


# ---------------------------------------------------------------- one command, from anywhere


class Alphabet(NamedTuple):
    """What runs of one kind and owner can hold, and be asked for."""

    owner: Owner
    kind: RunKind
    pins: tuple[SandboxPin, ...]

    @property
    def requests(self) -> list[SandboxRequest]:
        """A request for each."""
        return [SandboxRequest(mode=held.mode, backend=pinned_backend(held)) for held in self.pins]


def alphabet(owner: Owner, kind: RunKind, *modes: SandboxMode) -> Alphabet:
    """With these modes; all of them where none is given."""
    backends = BACKENDS if kind is RunKind.REMOTE else (None,)
    return Alphabet(
        owner, kind, tuple(pin(mode, name) for mode, name in product(modes or SandboxMode, backends))
    )


WHOLE: Final = [alphabet(owner, kind) for owner, kind in product(OWNERS, RunKind)]
# Of a remote run's two strong modes one is enough: see the law of the projection below.
SMALL: Final = [
    *(alphabet(owner, RunKind.LOCAL) for owner in OWNERS),
    *(alphabet(owner, RunKind.REMOTE, SandboxMode.DISABLED, SandboxMode.REQUIRED) for owner in OWNERS),
]
of_each_run: Final = pytest.mark.parametrize("of", WHOLE, ids=lambda of: f"{of.owner}-{of.kind}")


class Command(NamedTuple):
    """One command, and what it found."""

    state: State
    witness: Witness
    before: SandboxPin | Disputed | Unpinned
    request: SandboxRequest
    flag: bool
    decision: Decision


def commands(of: Alphabet, state: State, witness: Witness) -> Iterator[Command]:
    """Each command on such a run; none where it is damaged, as each would stop."""
    before = in_force(of.owner, of.kind, state, witness)
    if isinstance(before, Damaged):
        return
    for request, flag in product(of.requests, (False, True)):
        decision = decide(before, request, kind=of.kind, accept_config_change=flag, at=LATER)
        yield Command(state, witness, before, request, flag, decision)


def all_commands(of: Alphabet) -> Iterator[Command]:
    """Each command on each run, however it came to be so."""
    for state, witness in product((*of.pins, *NO_PINS), (*of.pins, *NO_LOGS)):
        yield from commands(of, state, witness)


def command_ends(of: Alphabet, command: Command) -> Iterator[End]:
    """All that a command can leave, by a crash at any step or none."""
    held = found(of.owner, command.state)
    assert not isinstance(held, Damaged)
    for launches in (False, True):
        yield from ends(command.decision, command.state, command.witness, held, launches=launches)


@of_each_run
def test_law_1_one_command_from_any_state_and_log_weakens_only_by_an_accept_that_is_logged_first(
    of: Alphabet,
) -> None:
    """Whatever came before, and wherever it crashes: this alone covers sequences of any length."""
    seen = 0
    for command in all_commands(of):
        for end in command_ends(of, command):
            seen += 1
            after = in_force(of.owner, of.kind, end.state, end.witness)
            if end.accepted:
                assert command.flag
                assert not is_weaker(of.kind, after, command.decision.pin)
            else:
                assert not is_weaker(of.kind, after, command.before)
    assert seen > 100


@of_each_run
def test_law_1_a_command_that_ends_leaves_exactly_what_it_decided_in_force(of: Alphabet) -> None:
    for command in all_commands(of):
        if isinstance(command.decision, Refuse):
            continue
        for end in command_ends(of, command):
            if end.complete:
                assert end.state == command.decision.pin
                assert in_force(of.owner, of.kind, end.state, end.witness) == command.decision.pin


@of_each_run
def test_law_2_a_refusal_plans_no_write(of: Alphabet) -> None:
    refused = [command for command in all_commands(of) if isinstance(command.decision, Refuse)]
    assert refused
    for command in refused:
        assert {(end.state, end.witness, end.writes) for end in command_ends(of, command)} == {
            (command.state, command.witness, ())
        }


@of_each_run
def test_law_1_recovery_ends_in_required_and_a_crash_within_it_in_that_or_in_damage(of: Alphabet) -> None:
    for state, witness in product((*of.pins, *NO_PINS), (*of.pins, *NO_LOGS)):
        for end in recoveries(of.owner, of.kind, state, witness):
            after = in_force(of.owner, of.kind, end.state, end.witness)
            if end.complete:
                assert after == end.state
            if not isinstance(after, Damaged | Disputed | Unpinned):
                assert after.mode is SandboxMode.REQUIRED


def projected(told: State) -> State:
    """The same with ``required`` in the place of ``preferred``."""
    if isinstance(told, Nothing) or told.mode is not SandboxMode.PREFERRED:
        return told
    return make_pin(
        mode=SandboxMode.REQUIRED,
        source=told.source,
        recorded_at=told.recorded_at,
        backend=pinned_backend(told),
    )


@pytest.mark.parametrize("owner", OWNERS)
def test_a_remote_run_s_preferred_is_its_required_by_another_word(owner: Owner) -> None:
    """What the search below rests on: whoever replaces one by the other changes no course of events."""
    of = alphabet(owner, RunKind.REMOTE)

    def outline(command: Command) -> set[tuple[object, ...]]:
        first = End(command.state, command.witness, (), complete=False, accepted=False)
        # A crash before the first write is one of all, as a save that only changes the word may be the first.
        return {
            (
                type(command.decision),
                *(facts_or_name(projected(told)) for told in (end.state, end.witness)),
                end.complete,
                end.accepted,
            )
            for end in (first, *command_ends(of, command))
        }

    strong: dict[tuple[object, ...], set[tuple[object, ...]]] = {}
    for command in all_commands(of):
        mode = command.request.mode
        key = (
            *(facts_or_name(projected(told)) for told in (command.state, command.witness)),
            SandboxMode.REQUIRED if mode is SandboxMode.PREFERRED else mode,
            command.request.backend,
            command.flag,
        )
        seen = outline(command)
        assert strong.setdefault(key, seen) == seen


def facts_or_name(told: State) -> object:
    """What of it may matter."""
    return told.name if isinstance(told, Nothing) else facts(told)


# ---------------------------------------------------------------- every sequence

World: TypeAlias = tuple[int, int, int, int, int]
"""All of a history that can matter, by number: see the module's own words.

The state; the witness; the pins that the state ever held, as bits, since a tamperer may put any of them back;
those that were ever the log's last, likewise; and the history variable, the pin that is owed. A pin's number
is its place in the alphabet; from ``len(pins)`` on, a number means a ``Nothing``.
"""

AS_BEFORE: Final = -1


class Found(NamedTuple):
    """What a search found."""

    worlds: int
    transitions: int
    lost: int
    """Worlds in which the run is held to less than is owed: neither state nor log holds the last change."""
    depth: int
    """All sequences of so many commands were searched."""
    exhausted: bool
    """Whether there are no further worlds, however many commands follow."""


class Space:
    """The worlds of the runs of one alphabet, and what leads from one to another.

    Attributes:
        of: the alphabet.
        moves: for each state and witness, what any command may do: the state and the witness then, the pins
            that each held, as bits, and what is owed then.
        lost: for each state, witness and pin that is owed, whether the run is held to less.
    """

    def __init__(self, of: Alphabet) -> None:
        self.of = of
        self.count = len(of.pins)
        self._numbers = {facts(held): number for number, held in enumerate(of.pins)}
        self.states: tuple[State, ...] = (*of.pins, *NO_PINS)
        self.witnesses: tuple[Witness, ...] = (*of.pins, *NO_LOGS)
        places = list(product(range(len(self.states)), range(len(self.witnesses))))
        self.moves = {place: self._moves(*place) for place in places}
        self.lost = {
            (*place, owed): self._loses(*place, owed) for place in places for owed in range(self.count)
        }

    def search(self, *, going_on: Callable[[int], bool]) -> Found:
        """Breadth first, a layer for each command; a tamperer acts any number of times between two commands.

        Two worlds that differ in nothing but the names of the backends are one. Each is held to law 1.

        Args:
            going_on: asked often whether to go on, with the number of commands of which all were searched.
        """
        pins, masks, choices = self._tables()
        lost_at = self.lost
        known: set[World] = set()
        transitions = lost = depth = 0
        before: list[World] = []
        reached = self._beginnings()
        while True:
            layer: list[World] = []
            while reached:
                fresh: list[World] = []
                for number, world in enumerate(reached):
                    if number % 4096 == 0 and not going_on(depth):
                        return Found(len(known), transitions, lost, depth, exhausted=False)
                    transitions += 1
                    state, witness, states, witnesses, owed = world
                    other = (pins[state], pins[witness], masks[states], masks[witnesses], pins[owed])
                    least = min(other, world)
                    if least in known:
                        continue
                    known.add(least)
                    fresh.append(least)
                    if lost_at[state, witness, owed]:
                        lost += 1
                        assert owed not in {state, witness}, self.shown(least)
                layer += fresh
                # What one act of a tamperer makes of these belongs to the same layer.
                reached = []
                for state, witness, states, witnesses, owed in fresh:
                    reached += [(put, witness, states, witnesses, owed) for put in choices[states]]
                    reached += [(state, put, states, witnesses, owed) for put in choices[witnesses]]
            if not layer:
                return Found(len(known), transitions, lost, depth, exhausted=True)
            if before:
                depth += 1
            before = layer
            for number, (state, witness, states, witnesses, owed) in enumerate(before):
                if number % 1024 == 0 and not going_on(depth):
                    return Found(len(known), transitions, lost, depth, exhausted=False)
                reached += [
                    (after, told, states | saved, witnesses | logged, owed if due == AS_BEFORE else due)
                    for after, told, saved, logged, due in self.moves[state, witness]
                ]

    def shown(self, world: World) -> str:
        """A world in words."""
        state, witness, _, _, owed = world
        return f"{self.of}: {self.states[state]}, {self.witnesses[witness]}, owed {self.of.pins[owed]}"

    def _beginnings(self) -> list[World]:
        """New runs; and, of another orchestrator, one from before pins."""
        made = [(number, number, 1 << number, 1 << number, number) for number in range(self.count)]
        if self.of.owner == "ours":
            return made
        # Owed is the least there is: nothing is weaker.
        return [*made, (self.count, self.count, 0, 0, self._numbers[SandboxMode.DISABLED, None])]

    def _moves(self, state: int, witness: int) -> list[World]:
        place = self.states[state], self.witnesses[witness]
        moves = {
            self._move(end, self._owed(command, end))
            for command in commands(self.of, *place)
            for end in command_ends(self.of, command)
        }
        for end in recoveries(self.of.owner, self.of.kind, *place):
            moves.add(self._move(end, self._number(end.witness, NO_LOGS)))
        return sorted(moves)

    def _move(self, end: End, owed: int) -> World:
        kept = {"state": 0, "log": 0}
        for write in end.writes:
            kept[write.to] |= 1 << self._numbers[facts(write.pin)]
        state, witness = self._number(end.state, NO_PINS), self._number(end.witness, NO_LOGS)
        return state, witness, kept["state"], kept["log"], owed

    def _number(self, told: State, nothings: tuple[Nothing, ...]) -> int:
        if isinstance(told, Nothing):
            return self.count + nothings.index(told)
        return self._numbers[facts(told)]

    def _owed(self, command: Command, end: End) -> int:
        decision = command.decision
        # What changes nothing owes nothing new; an accept that is not finished is no consent.
        nothing = not end.writes and not end.complete
        if isinstance(decision, Refuse) or nothing or (isinstance(decision, Accept) and not end.complete):
            return AS_BEFORE
        return self._numbers[facts(decision.pin)]

    def _loses(self, state: int, witness: int, owed: int) -> bool:
        after = in_force(self.of.owner, self.of.kind, self.states[state], self.witnesses[witness])
        return is_weaker(self.of.kind, after, self.of.pins[owed])

    def _tables(self) -> tuple[list[int], list[int], list[list[int]]]:
        """Pins, and sets of them, with the backends' names swapped; and what may be put back of each set."""
        other = {None: None, ONE: OTHER, OTHER: ONE}
        pins = [self._numbers[mode, other[backend]] for mode, backend in map(facts, self.of.pins)]
        bits = [[bit for bit in range(self.count) if mask >> bit & 1] for mask in range(1 << self.count)]
        masks = [sum(1 << pins[bit] for bit in held) for held in bits]
        nothings = [self.count, self.count + 1]
        return [*pins, *nothings], masks, [[*held, *nothings] for held in bits]


def tell(capsys: pytest.CaptureFixture[str], figures: dict[str, object]) -> None:
    """Prints the figures of a search, and keeps them where that is asked for."""
    line = json.dumps({"suite": "test_state_space", **figures})
    with capsys.disabled():
        sys.stdout.write(f"\n{line}\n")
    if FIGURES is not None:
        with Path(FIGURES).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")


def test_law_1_holds_in_every_sequence_of_commands_crashes_and_tampering(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each of five commands and more, of each kind of run: the search itself asserts the law in each world.

    First until there are no further worlds, with one of a remote run's two strong modes; then with all modes,
    as deep as the time allows.
    """
    began = time.monotonic()
    always = partial(lasts, began, SECONDS, least=COMMANDS)
    seen = [(of, Space(of).search(going_on=always)) for of in SMALL]
    rest = [of for of in WHOLE if of.kind is RunKind.REMOTE]
    for left, of in zip(range(len(rest), 0, -1), rest, strict=True):
        now = time.monotonic()
        share = (SECONDS - (now - began)) / left
        seen.append((of, Space(of).search(going_on=partial(lasts, now, share))))
    for of, found_ in seen:
        told = {"search": f"{of.owner} {of.kind}", "pins": len(of.pins), **found_._asdict()}
        tell(capsys, told)
    tell(
        capsys,
        {
            "search": "all",
            "worlds": sum(found_.worlds for _, found_ in seen),
            "transitions": sum(found_.transitions for _, found_ in seen),
            "seconds": round(time.monotonic() - began, 1),
        },
    )
    for _, found_ in seen[: len(SMALL)]:
        assert found_.exhausted or found_.depth >= COMMANDS
        # Were there none, the search would have seen nobody undo both: it would prove nothing.
        assert found_.lost > 0


def lasts(began: float, seconds: float, depth: int, *, least: int = 0) -> bool:
    """Whether to go on: the time is not spent yet, or too few commands were searched."""
    return depth < least or time.monotonic() - began < seconds


# ---------------------------------------------------------------- where the law ends


class Story:
    """One run with its whole log, for a sequence that is told step by step."""

    def __init__(self, mode: SandboxMode, *, owner: Owner = "ours", kind: RunKind = RunKind.LOCAL) -> None:
        self.owner: Owner = owner
        self.kind = kind
        self.state: State = pin(mode)
        self.log: list[SandboxPin] = [pin(mode)]
        self.copies: list[State] = [self.state]

    @property
    def held(self) -> Held:
        """What the next command finds."""
        return in_force(self.owner, self.kind, self.state, self.log[-1] if self.log else GONE)

    def ask(
        self, mode: SandboxMode, *, flag: bool = False, writes: int | None = None, unlogged: bool = False
    ) -> type:
        """One command without a launch, which crashes after so many writes; what was decided."""
        held, state = self.held, found(self.owner, self.state)
        assert not isinstance(held, Damaged)
        assert not isinstance(state, Damaged)
        request = SandboxRequest(mode=mode)
        decision = decide(held, request, kind=self.kind, accept_config_change=flag, at=LATER)
        for write in course(decision, state)[:writes]:
            if write.to == "state":
                self.state = write.pin
                self.copies.append(write.pin)
            elif not unlogged:
                self.log.append(write.pin)
        return type(decision)

    def launch(self) -> None:
        """A launch's entry, at the end of such a command."""
        assert not isinstance(self.state, Nothing)
        self.log.append(self.state)


WEAK, STRONG = SandboxMode.DISABLED, SandboxMode.REQUIRED
each_owner: Final = pytest.mark.parametrize("owner", OWNERS)


@each_owner
def test_limit_both_the_state_s_and_the_log_s_last_change_undone_is_not_seen(owner: Owner) -> None:
    """The one limit of the rule itself: whoever may write both has taken the run back in time."""
    story = Story(WEAK, owner=owner)
    assert story.ask(STRONG) is Strengthen
    story.state = story.copies[0]
    assert story.ask(WEAK) is Refuse
    del story.log[1:]
    assert story.held == pin(WEAK)
    assert story.ask(WEAK) is Unchanged


@each_owner
def test_limit_a_strengthening_that_crashed_before_its_save_is_held_by_the_log_alone(owner: Owner) -> None:
    story = Story(WEAK, owner=owner)
    story.ask(STRONG, writes=1)
    assert story.ask(WEAK) is Refuse
    del story.log[1:]
    assert story.ask(WEAK) is Unchanged


@each_owner
def test_the_next_command_on_it_saves_it_so_that_both_hold_it_again(owner: Owner) -> None:
    story = Story(WEAK, owner=owner)
    story.ask(STRONG, writes=1)
    assert story.ask(STRONG) is Unchanged
    del story.log[1:]
    assert story.ask(WEAK) is Refuse


@each_owner
def test_limit_a_strengthening_that_could_not_be_logged_is_held_by_the_state_alone(owner: Owner) -> None:
    """Until something logs it: a launch's entry does."""
    for launches in (False, True):
        story = Story(WEAK, owner=owner)
        story.ask(STRONG, unlogged=True)
        assert story.ask(STRONG) is Unchanged
        if launches:
            story.launch()
        story.state = story.copies[0]
        assert story.ask(WEAK) is (Refuse if launches else Unchanged)


@each_owner
def test_limit_a_log_that_was_cut_stays_cut_until_something_is_logged(owner: Owner) -> None:
    """What is undone need not be undone at once: an unchanged pin is not logged anew, but by a launch."""
    for launches in (False, True):
        story = Story(WEAK, owner=owner)
        story.ask(STRONG)
        del story.log[1:]
        assert story.ask(STRONG) is Unchanged
        if launches:
            story.launch()
        story.state = story.copies[0]
        assert story.ask(WEAK) is (Refuse if launches else Unchanged)


@each_owner
def test_limit_after_an_accept_that_crashed_before_its_save_the_state_alone_holds_the_run(
    owner: Owner,
) -> None:
    """An unfinished accept is not consent; yet the log's word is already the weaker one, until a launch."""
    for launches in (False, True):
        story = Story(WEAK, owner=owner)
        story.ask(STRONG)
        assert story.ask(WEAK, flag=True, writes=1) is Accept
        assert story.ask(WEAK) is Refuse
        assert story.ask(STRONG) is Unchanged
        if launches:
            story.launch()
        story.state = story.copies[0]
        assert story.ask(WEAK) is (Refuse if launches else Unchanged)


def test_limit_a_foreign_run_whose_pin_and_log_are_both_gone_is_one_from_before_pins() -> None:
    """In a run folder it is damage."""
    story = Story(STRONG, owner="foreign")
    story.state = DELETED
    assert story.ask(WEAK) is Refuse
    story.log.clear()
    assert story.ask(WEAK) is Upgrade
    assert [facts(told) for told in story.log] == [(WEAK, None)]
    assert isinstance(in_force("ours", RunKind.LOCAL, DELETED, GONE), Damaged)


# ---------------------------------------------------------------- the model and the real order


class Crashed(BaseException):
    """The process is gone."""


class Store:
    """A state and a log in memory; one call fails or crashes, before or after it has its effect."""

    def __init__(
        self, pin_: SandboxPin | Unpinned, *, at: int, effect: bool, failure: type[BaseException]
    ) -> None:
        self.state = pin_
        self.writes: list[Write] = []
        self.calls: list[str] = []
        self._at = at
        self._effect = effect
        self._failure = failure

    def append(self, entry: Entry, /) -> None:
        """Adds an entry."""
        self._call(Write("log", entry.pin))

    def last_entry(self) -> Entry | None:
        """No decision is carried out by it."""
        raise NotImplementedError

    def save(self, saved: SandboxPin) -> None:
        """Puts a pin into the state."""
        self._call(Write("state", saved))

    def _call(self, write: Write) -> None:
        self.calls.append(write.to)
        here = len(self.calls) - 1 == self._at
        if self._effect or not here:
            self.writes.append(write)
        if here:
            raise self._failure("injected")


@of_each_run
def test_the_model_is_the_order_in_which_apply_decision_really_writes(of: Alphabet) -> None:
    """For every decision there is, with each of its calls failing or crashing, before or after its effect."""
    compared = 0
    for command in all_commands(of):
        held = found(of.owner, command.state)
        assert not isinstance(held, Damaged)
        planned = course(command.decision, held)
        for at, effect, failure in product(range(len(planned) + 1), (False, True), (StorageError, Crashed)):
            store = Store(held, at=at, effect=effect, failure=failure)
            raised = False
            try:
                apply_decision(
                    command.decision, state=held, log=store, save=store.save, run="r", operator="somebody"
                )
            except (StorageError, Crashed):
                raised = True
            survives = (
                isinstance(command.decision, Strengthen)
                and failure is StorageError
                and at == 0 < len(planned)
            )
            expected = planned[: at + effect]
            if survives:
                expected = planned[0 if effect else 1 :]
            assert store.writes == expected
            assert raised == (at < len(planned) and not survives)
            # Each end that is injected is one that the search knows.
            known = {
                end.writes
                for end in ends(command.decision, command.state, command.witness, held, launches=False)
            }
            assert tuple(store.writes) in known
            compared += 1
    assert compared > 1000 or of.kind is RunKind.LOCAL
