"""The rule, purely: a run's first pin, the pin in force, and what a request does to it (design: "The rules").

The laws, in the order in which ``decide`` applies them:

1. No pin at all: ``Upgrade``.
2. The same in every fact: ``Unchanged``; mode word, source and time stay as they are.
3. Weaker in any fact: ``Refuse``, or ``Accept`` where the operator said so for this command.
4. Else stronger in any: ``Strengthen``.
5. Else it has a fact that the pin lacks: ``Upgrade``.
"""

from sandbox_pin.core.decision import (
    Accept,
    Decision,
    PinChange,
    Refuse,
    Strengthen,
    Unchanged,
    Upgrade,
    WeakerFact,
)
from sandbox_pin.core.facts import Comparison, Fact, compare_backend, compare_mode
from sandbox_pin.core.modes import RunKind, mode_strength, weakest_mode
from sandbox_pin.core.record import (
    Disputed,
    PinSource,
    SandboxPin,
    Unpinned,
    make_pin,
    pinned_backend,
)
from sandbox_pin.core.request import SandboxRequest


def create_pin(
    request: SandboxRequest,
    *,
    kind: RunKind,
    at: str,
    parent: tuple[SandboxPin, RunKind] | None = None,
) -> SandboxPin:
    """The first pin of a new run: the request, or as strong as its parent's where that is stronger.

    Strengths are compared each in its own kind; a child held up by its parent gets its own kind's weakest
    mode of at least the parent's strength (design: "Children").

    Args:
        request: what the run is to run under.
        kind: the new run's kind.
        at: when, 1 to 64 characters.
        parent: the pin in force of the run that it is made from, and that run's kind.

    Returns:
        A pin with the source ``created``; with a backend only if the run is remote and the request has one.
    """
    mode = request.mode
    if parent is not None:
        floor = mode_strength(parent[0].mode, parent[1])
        if mode_strength(mode, kind) < floor:
            mode = weakest_mode(floor, kind)
    backend = request.backend if kind == RunKind.REMOTE else None
    return make_pin(mode=mode, source=PinSource.CREATED, recorded_at=at, backend=backend)


def pin_in_force(
    state: SandboxPin | Unpinned, witness: SandboxPin | None, *, kind: RunKind
) -> SandboxPin | Disputed | Unpinned:
    """What a request is held against: the state's pin joined with the witness, fact by fact.

    The stronger mode, on a tie the witness's word; the backend that either has. Two different backends of a
    remote run are disputed. So neither a crash between log and save nor a state put back from an
    old copy weakens what the run is held to (design: "The pin in force").

    Args:
        state: the pin in the run's state, from ``read_pin``.
        witness: the pin that the run log's last whole entry carries; ``None``: there is no such entry.
        kind: the run's kind.

    Returns:
        The pin that a request is held against; ``Disputed`` where only the operator can tell; ``Unpinned``
        where neither has one.
    """
    if witness is None:
        return state
    if isinstance(state, Unpinned) or state == witness:
        return witness
    state_is_stronger = mode_strength(state.mode, kind) > mode_strength(witness.mode, kind)
    stronger, other = (state, witness) if state_is_stronger else (witness, state)
    own, others = pinned_backend(stronger), pinned_backend(other)
    if kind == RunKind.REMOTE and own is not None and others is not None and own != others:
        return Disputed(
            state=_on(stronger, pinned_backend(state)), witness=_on(stronger, pinned_backend(witness))
        )
    return _on(stronger, own if own is not None else others)


def decide(
    pin: SandboxPin | Disputed | Unpinned,
    request: SandboxRequest,
    *,
    kind: RunKind,
    accept_config_change: bool,
    at: str,
) -> Decision:
    """What this request does to this run: the whole rule, as data.

    Args:
        pin: the pin in force, from ``pin_in_force``.
        request: what this command would run under.
        kind: the run's kind.
        accept_config_change: whether the operator accepts, for this command alone, a weaker request.
        at: when, 1 to 64 characters, such as ``2026-01-01T00:00:00Z``. It is not checked here: a pin with
            another length can't be encoded, and so is never saved (``encode_pin``).

    Returns:
        One of the five decisions. Nothing has happened yet: ``shell.apply_decision`` carries it out.
    """
    requested = request.backend if kind == RunKind.REMOTE else None
    if isinstance(pin, Unpinned):
        after = make_pin(mode=request.mode, source=PinSource.UPGRADED, recorded_at=at, backend=requested)
        return Upgrade(before=pin, pin=after, entry=_change(pin, after, request, kind))

    # Of two disputed records the witness's backend is kept by an accepted request without an opinion, as the
    # witness's word is kept on a tie of strength.
    held = pin.witness if isinstance(pin, Disputed) else pin
    pinned = pinned_backend(held)
    strength, requested_strength = mode_strength(held.mode, kind), mode_strength(request.mode, kind)
    mode = compare_mode(strength, requested_strength)
    backend = compare_backend(pinned, requested, strength=max(strength, requested_strength))
    if mode is Comparison.SAME and backend is Comparison.SAME and not isinstance(pin, Disputed):
        return Unchanged(pin=pin)

    kept = requested if requested is not None else pinned
    weaker = _weaker_facts(pin, request, mode=mode, backend=backend)
    if weaker or isinstance(pin, Disputed):
        if accept_config_change is not True:  # a word such as "no" is no consent
            return Refuse(pin=pin, weaker=weaker, request=request, kind=kind)
        after = make_pin(mode=request.mode, source=PinSource.ACCEPTED, recorded_at=at, backend=kept)
        return Accept(before=pin, pin=after, weaker=weaker, entry=_change(pin, after, request, kind))
    if mode is Comparison.STRONGER:
        after = make_pin(mode=request.mode, source=PinSource.STRENGTHENED, recorded_at=at, backend=kept)
        return Strengthen(before=pin, pin=after, entry=_change(pin, after, request, kind))
    after = make_pin(mode=pin.mode, source=PinSource.UPGRADED, recorded_at=at, backend=kept)
    return Upgrade(before=pin, pin=after, entry=_change(pin, after, request, kind))


def _weaker_facts(
    pin: SandboxPin | Disputed, request: SandboxRequest, *, mode: Comparison, backend: Comparison
) -> tuple[WeakerFact, ...]:
    records = (pin.state, pin.witness) if isinstance(pin, Disputed) else (pin,)
    weaker: list[WeakerFact] = []
    if mode is Comparison.WEAKER:
        weaker.append(
            WeakerFact(
                fact=Fact.MODE,
                pinned=(records[0].mode,),
                requested=request.mode,
                requested_from=request.mode_from,
            )
        )
    if isinstance(pin, Disputed) or backend is Comparison.WEAKER:
        weaker.append(
            WeakerFact(
                fact=Fact.BACKEND,
                pinned=tuple(name for record in records if (name := pinned_backend(record)) is not None),
                requested=request.backend,
                requested_from=request.backend_from,
            )
        )
    return tuple(weaker)


def _change(
    before: SandboxPin | Disputed | Unpinned, after: SandboxPin, request: SandboxRequest, kind: RunKind
) -> PinChange:
    return PinChange(at=after.recorded_at, kind=kind, before=before, pin=after, request=request)


def _on(pin: SandboxPin, backend: str | None) -> SandboxPin:
    """The same record with this backend."""
    return make_pin(mode=pin.mode, source=pin.source, recorded_at=pin.recorded_at, backend=backend)
