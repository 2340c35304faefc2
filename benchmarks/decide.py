"""The rule, beside the same rule written by hand with dataclasses and nothing else."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from benchmarks.line import AtMost, Calls, Line

from sandbox_pin import (
    Accept,
    Decision,
    PinSource,
    PinV2,
    Refuse,
    RunKind,
    SandboxMode,
    SandboxRequest,
    Strengthen,
    Unchanged,
    Upgrade,
    decide,
)

AT: Final = "2026-01-02T00:00:00Z"
PIN: Final = PinV2(
    mode=SandboxMode.PREFERRED,
    source=PinSource.CREATED,
    recorded_at="2026-01-01T00:00:00Z",
    backend="bubblewrap",
)

_STRENGTHS: Final = {
    ("local", "disabled"): 0,
    ("local", "preferred"): 1,
    ("local", "required"): 2,
    ("remote", "disabled"): 0,
    ("remote", "preferred"): 2,
    ("remote", "required"): 2,
}


@dataclass(frozen=True)
class HandPin:
    """The record."""

    mode: str
    source: str
    recorded_at: str
    backend: str | None = None


@dataclass(frozen=True)
class HandRequest:
    """What is asked for, and from where."""

    mode: str
    mode_from: str = "program"
    backend: str | None = None
    backend_from: str = "program"


@dataclass(frozen=True)
class HandWeaker:
    """One fact that is weaker."""

    fact: str
    pinned: tuple[str, ...]
    requested: str | None
    requested_from: str


@dataclass(frozen=True)
class HandEntry:
    """What the log is told."""

    at: str
    kind: str
    before: HandPin
    pin: HandPin
    request: HandRequest


@dataclass(frozen=True)
class HandDecision:
    """What comes of it."""

    name: str
    pin: HandPin
    request: HandRequest
    weaker: tuple[HandWeaker, ...] = ()
    before: HandPin | None = None
    entry: HandEntry | None = None


def decide_by_hand(
    pin: HandPin, request: HandRequest, *, kind: str, accept_config_change: bool, at: str
) -> HandDecision:
    """The rule for a run that has a pin: the same cases, the same data."""
    requested = request.backend if kind == "remote" else None
    before, after = _STRENGTHS[kind, pin.mode], _STRENGTHS[kind, request.mode]
    weaker: list[HandWeaker] = []
    if after < before:
        weaker.append(HandWeaker("mode", (pin.mode,), request.mode, request.mode_from))
    other = requested is not None and pin.backend is not None and requested != pin.backend
    if other and max(before, after) > 0 and pin.backend is not None:
        weaker.append(HandWeaker("backend", (pin.backend,), request.backend, request.backend_from))
    kept = requested if requested is not None else pin.backend
    if weaker:
        if not accept_config_change:
            return HandDecision("refuse", pin, request, tuple(weaker))
        name, new = "accept", HandPin(request.mode, "accepted", at, kept)
    elif after > before:
        name, new = "strengthen", HandPin(request.mode, "strengthened", at, kept)
    elif requested is not None and pin.backend is None:
        name, new = "upgrade", HandPin(pin.mode, "upgraded", at, kept)
    else:
        return HandDecision("unchanged", pin, request)
    return HandDecision(name, new, request, tuple(weaker), pin, HandEntry(at, kind, pin, new, request))


def same_decision(ours: object, theirs: object) -> bool:
    """Whether both came to the same decision with the same pin, and told the same facts as weaker."""
    if not isinstance(ours, Decision) or not isinstance(theirs, HandDecision):
        return False
    facts = [fact.fact for fact in ours.weaker] if isinstance(ours, (Refuse, Accept)) else []
    pin = ours.pin
    return (
        _NAMES[type(ours)] == theirs.name
        and isinstance(pin, PinV2)
        and HandPin(pin.mode, pin.source, pin.recorded_at, pin.backend) == theirs.pin
        and facts == [fact.fact for fact in theirs.weaker]
    )


_NAMES: Final[dict[type[object], str]] = {
    Refuse: "refuse",
    Accept: "accept",
    Strengthen: "strengthen",
    Upgrade: "upgrade",
    Unchanged: "unchanged",
}


def _line(what: str, mode: SandboxMode, *, accept: bool) -> Line:
    request = SandboxRequest(mode=mode)
    ours: Callable[[], object] = partial(
        decide, PIN, request, kind=RunKind.LOCAL, accept_config_change=accept, at=AT
    )
    theirs: Callable[[], object] = partial(
        decide_by_hand,
        HandPin("preferred", "created", "2026-01-01T00:00:00Z", "bubblewrap"),
        HandRequest(mode.value),
        kind="local",
        accept_config_change=accept,
        at=AT,
    )
    return Line(
        f"decide: {what}",
        "dataclasses and the rule by hand",
        Calls(lambda _: ours),
        Calls(lambda _: theirs),
        AtMost(1.5),
        same_decision,
    )


LINES: Final = [
    _line("unchanged", SandboxMode.PREFERRED, accept=False),
    _line("refuse", SandboxMode.DISABLED, accept=False),
    _line("accept", SandboxMode.DISABLED, accept=True),
    _line("strengthen", SandboxMode.REQUIRED, accept=False),
]
