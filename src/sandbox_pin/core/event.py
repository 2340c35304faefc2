"""The run log's entries: one JSON object a line, tagged by ``event`` (design: "The log").

Each entry carries ``pin``, the pin that holds from it on; the last whole entry is the witness. So a log is
read from its end, and any one entry is enough to know what the run is held to.
"""

from typing import Annotated, TypeAlias, assert_never

from msgspec import Meta, Struct

from sandbox_pin.core.decision import Accept, Strengthen, Upgrade
from sandbox_pin.core.modes import RunKind, SandboxMode
from sandbox_pin.core.record import Disputed, SandboxPin, ShortText, Unpinned
from sandbox_pin.core.request import SandboxRequest

RunName: TypeAlias = Annotated[str, Meta(min_length=1, max_length=255)]


class Parent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The run that a run was made from, and the pin in force of it at that moment."""

    run: RunName
    kind: RunKind
    pin: SandboxPin


class _Entry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="event"):
    """What the entries share.

    Attributes:
        at: when, in UTC, such as ``2026-01-01T00:00:00Z``.
        run: the run's id.
        kind: the run's kind; another one than the state's is damage.
        pin: the pin that holds from this entry on.
    """

    at: ShortText
    run: RunName
    kind: RunKind
    pin: SandboxPin


class RunCreated(_Entry, frozen=True, kw_only=True, tag="run_created"):
    """A run was made: the first entry of each log in a run folder."""

    workspace: str
    parent: Parent | None
    request: SandboxRequest
    operator: str


class _PinChanged(_Entry, frozen=True, kw_only=True):
    """What the changes of a pin share.

    Attributes:
        before: the pin in force until this entry; ``None`` where there was none.
        disputed: the run log's own record until this entry, where it named another backend than the state's.
        request: what was asked for, and where each value came from.
        operator: the login name of the user whose process decided it.
    """

    before: SandboxPin | None
    disputed: SandboxPin | None
    request: SandboxRequest
    operator: str


class PinUpgraded(_PinChanged, frozen=True, tag="pin_upgraded"):
    """A fact that the pin lacked, or the whole pin, was added."""


class PinStrengthened(_PinChanged, frozen=True, tag="pin_strengthened"):
    """The pin rose."""


class PinAccepted(_PinChanged, frozen=True, tag="pin_accepted"):
    """The operator accepted a weaker pin."""


class RunRecovered(_Entry, frozen=True, kw_only=True, tag="run_recovered"):
    """The operator started a damaged state or log anew.

    Attributes:
        before: the pin that could still be read, the log's word first; ``None`` where none could.
        kept: the names under which what was damaged is kept.
        workspace: the run's workspace, where it is known.
        operator: the login name of the user whose process did it.
    """

    before: SandboxPin | None
    kept: tuple[str, ...]
    workspace: str | None
    operator: str


class LaunchStarted(_Entry, frozen=True, kw_only=True, tag="launch_started"):
    """A launch is about to start; no argument of its command is ever logged.

    Attributes:
        asked: the mode that the launch runs under.
        enforced: whether a backend really holds it.
        backend: which one; ``None`` where none does.
        why_not: why it runs unenforced; ``None`` where it is enforced.
        program: the resolved path of the command's program.
        workspace: the launch's working folder.
        writable: the other folders that it may write.
    """

    asked: SandboxMode
    enforced: bool
    backend: str | None
    why_not: str | None
    program: str
    workspace: str
    writable: tuple[str, ...]


class LaunchEnded(_Entry, frozen=True, kw_only=True, tag="launch_ended"):
    """A launch ended.

    Attributes:
        ran: whether the command itself really ran; the backend's own failure is no command's.
        exit_code: the command's exit status, where it had one.
        signal: the name of the signal that ended it, where one did.
    """

    ran: bool
    exit_code: int | None
    signal: str | None


Entry: TypeAlias = (
    RunCreated | PinUpgraded | PinStrengthened | PinAccepted | RunRecovered | LaunchStarted | LaunchEnded
)


def change_entry(
    decision: Accept | Strengthen | Upgrade, *, run: str, operator: str
) -> PinUpgraded | PinStrengthened | PinAccepted:
    """The log entry of a decision that changes the pin.

    Args:
        decision: what was decided.
        run: the run's id.
        operator: the login name of the user whose process decided it.
    """
    change = decision.entry
    before = change.before
    match before:
        case Unpinned():
            state, disputed = None, None
        case Disputed():
            state, disputed = before.state, before.witness
        case _:
            state, disputed = before, None
    match decision:
        case Accept():
            kind: type[PinUpgraded | PinStrengthened | PinAccepted] = PinAccepted
        case Strengthen():
            kind = PinStrengthened
        case Upgrade():
            kind = PinUpgraded
        case _:
            assert_never(decision)
    return kind(
        at=change.at,
        run=run,
        kind=change.kind,
        pin=change.pin,
        before=state,
        disputed=disputed,
        request=change.request,
        operator=operator,
    )
