"""What a command ends in, as a value: the command line tells it, and chooses the exit status."""

from typing import TypeAlias

from msgspec import Struct

from sandbox_pin.core.consent import Consent
from sandbox_pin.core.decision import Decision, Refuse
from sandbox_pin.core.event import Parent
from sandbox_pin.core.gate import Enforce, RefuseLaunch, RunUnenforced
from sandbox_pin.core.record import SandboxPin
from sandbox_pin.core.request import SandboxRequest
from sandbox_pin.shell.held_launch import LaunchEnd
from sandbox_pin.shell.programs import NotFound


class Created(Struct, frozen=True, kw_only=True, tag_field="decision", tag="create"):
    """A new run was pinned.

    Attributes:
        pin: to what.
        parent: the run that it was made from; its strength may have raised the pin.
    """

    pin: SandboxPin
    parent: Parent | None


Settled: TypeAlias = Decision | Created


class Refused(Struct, frozen=True, kw_only=True):
    """The request is weaker than the pin in force: nothing was written or launched.

    Attributes:
        run: the run's id.
        decision: why.
        consent: what the operator accepted, which did not cover this request.
        pinned_by: the request that the run was last pinned by, where its log tells.
    """

    run: str
    decision: Refuse
    consent: Consent
    pinned_by: SandboxRequest | None


class CommandMissing(Struct, frozen=True, kw_only=True):
    """The command names no program: nothing was decided, written or launched."""

    run: str
    missing: NotFound


class GateClosed(Struct, frozen=True, kw_only=True):
    """The host can't enforce what the mode demands: nothing was launched; the pin is as decided."""

    run: str
    decision: Settled
    gate: RefuseLaunch


class Launched(Struct, frozen=True, kw_only=True):
    """The command was launched, and has ended."""

    run: str
    decision: Settled
    gate: Enforce | RunUnenforced
    end: LaunchEnd


class Unblocked(Struct, frozen=True, kw_only=True):
    """The run is ready again; nothing was launched."""

    run: str
    decision: Decision


Outcome: TypeAlias = Refused | CommandMissing | GateClosed | Launched | Unblocked
