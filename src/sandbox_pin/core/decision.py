"""The decisions: what a request does to the pin that a run is held to, as data (design: "Decision").

``core/rule.py`` makes one; it changes nothing. ``shell/apply.py`` carries one out. Match on it and end the
match in ``assert_never``, so that a type checker proves that none is forgotten. It defines no truth value
on purpose: ``if decide(...)`` is an error under mypy's ``truthy-bool``.
"""

from typing import TypeAlias

from msgspec import Struct

from sandbox_pin.core.facts import Fact
from sandbox_pin.core.modes import RunKind
from sandbox_pin.core.record import Disputed, SandboxPin, Unpinned
from sandbox_pin.core.request import Provenance, SandboxRequest


class WeakerFact(Struct, frozen=True, kw_only=True):
    """One fact in which the request is weaker than the pin in force.

    Attributes:
        fact: its name.
        pinned: the value that the run is held to; both values, the state's first, where they are disputed.
        requested: the request's value; ``None`` where it has no opinion on a disputed fact.
        requested_from: where that value came from.
    """

    fact: Fact
    pinned: tuple[str, ...]
    requested: str | None
    requested_from: Provenance


class PinChange(Struct, frozen=True, kw_only=True):
    """What the run log is told of a change; the shell adds the run's id and the operator's name.

    Attributes:
        at: when the change was decided.
        kind: the run's kind.
        before: the pin in force until now.
        pin: the pin from now on.
        request: what was asked for, and where each value came from.
    """

    at: str
    kind: RunKind
    before: SandboxPin | Disputed | Unpinned
    pin: SandboxPin
    request: SandboxRequest


class _Decision(Struct, frozen=True, tag_field="decision"):
    """What the decisions share: JSON tells them apart by ``decision``."""


class Refuse(_Decision, frozen=True, kw_only=True, tag="refuse"):
    """The request is weaker, and nobody accepted that: nothing may be written or launched.

    Attributes:
        pin: the pin in force, as it was.
        weaker: every fact in which the request is weaker; never empty.
        request: what was asked for.
        kind: the run's kind.
    """

    pin: SandboxPin | Disputed
    weaker: tuple[WeakerFact, ...]
    request: SandboxRequest
    kind: RunKind


class Accept(_Decision, frozen=True, kw_only=True, tag="accept"):
    """The request is weaker, and the operator accepted it: ``entry`` must be in the log, flushed, first.

    Attributes:
        before: the pin in force until now.
        pin: the pin from now on, its source ``accepted``.
        weaker: every fact in which the request is weaker; never empty.
        entry: what must be in the log before the pin is saved.
    """

    before: SandboxPin | Disputed
    pin: SandboxPin
    weaker: tuple[WeakerFact, ...]
    entry: PinChange


class Strengthen(_Decision, frozen=True, kw_only=True, tag="strengthen"):
    """The request is stronger in a fact and weaker in none: the pin rises with the command's next save.

    Attributes:
        before: the pin in force until now.
        pin: the pin from now on, its source ``strengthened``.
        entry: what is logged.
    """

    before: SandboxPin
    pin: SandboxPin
    entry: PinChange


class Upgrade(_Decision, frozen=True, kw_only=True, tag="upgrade"):
    """The pin lacks a fact that the request has, or there is none: it is pinned with the next save.

    Attributes:
        before: the pin in force until now, or that there was none.
        pin: the pin from now on, its source ``upgraded``; a mode word that was pinned stays.
        entry: what must be in the log before the pin is saved.
    """

    before: SandboxPin | Unpinned
    pin: SandboxPin
    entry: PinChange


class Unchanged(_Decision, frozen=True, kw_only=True, tag="unchanged"):
    """The request is as strong as the pin: the pin stays as it is, mode word, source and time.

    Attributes:
        pin: the pin in force, before and after.
    """

    pin: SandboxPin


Decision: TypeAlias = Refuse | Accept | Strengthen | Upgrade | Unchanged
"""What ``decide`` returns: one of these, each of which must be matched."""
