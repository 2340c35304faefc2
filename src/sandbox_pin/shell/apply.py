"""Decides, and carries that out: the only place that may change a pin (design: "Decision", "The log").

The laws, kept by the order of the calls below:

1. An accept or an upgrade is in the log, flushed, before it is saved; what can't be logged does not happen.
2. A strengthening is logged first too, but saved even where that failed: failing closed means up.
3. Before an accept is logged, the state holds the pin in force: a crash in between leaves the stronger pin.
4. A refusal writes nothing at all.
5. Where the log could not be read, a refusal stands and a stronger request goes on; all else stops.
"""

from collections.abc import Callable
from typing import Protocol, TypeAlias, assert_never

from msgspec import Struct

from sandbox_pin.core.decision import Accept, Decision, Refuse, Strengthen, Unchanged, Upgrade
from sandbox_pin.core.event import Entry, change_entry
from sandbox_pin.core.modes import RunKind
from sandbox_pin.core.record import Disputed, SandboxPin, Unpinned
from sandbox_pin.core.request import SandboxRequest
from sandbox_pin.core.rule import decide
from sandbox_pin.errors import StorageError
from sandbox_pin.shell.surroundings import now


class RunLog(Protocol):
    """A run log, wherever an orchestrator keeps it. Files in a run folder: ``run_log.FileRunLog``."""

    def append(self, entry: Entry, /) -> None:
        """Adds the entry behind the last, durably, before it returns.

        Raises:
            StorageError: the entry is not, or not surely, in the log.
        """

    def last_entry(self) -> Entry | None:
        """The last whole entry; ``None`` where there is none.

        Raises:
            StateError: the last whole entry is damaged.
            StorageError: the log could not be read.
        """


class Applied(Struct, frozen=True, kw_only=True):
    """A decision was carried out.

    Attributes:
        pin: the pin that the state holds now.
        mended: the state held another pin than the one in force, and has been put right.
        not_logged: why a strengthening is not in the log, though it is saved; ``None`` where all is logged.
    """

    pin: SandboxPin
    mended: bool
    not_logged: StorageError | None


SavePin: TypeAlias = Callable[[SandboxPin], object]
"""Puts a pin into the state, durably; raises ``StorageError`` where it could not."""


def decide_beside_log(
    held: SandboxPin | Disputed | Unpinned,
    request: SandboxRequest,
    *,
    log_failure: StorageError | None,
    kind: RunKind,
    accept_config_change: bool,
) -> Decision:
    """Decides, at this moment, where the log may be one that could not be read.

    Args:
        held: the pin in force; without a log that could be read, the state's.
        request: what this command would run under.
        log_failure: why the log could not be read; ``None`` where it could, or is not there.
        kind: the run's kind.
        accept_config_change: whether the operator accepts, for this command alone, a weaker request.

    Raises:
        StorageError: ``log_failure``, where the request is neither refused nor stronger.
    """
    decision = decide(held, request, kind=kind, accept_config_change=accept_config_change, at=now())
    if log_failure is not None and not isinstance(decision, Refuse | Strengthen):
        raise log_failure
    return decision


def apply_decision(
    decision: Decision,
    *,
    state: SandboxPin | Unpinned,
    log: RunLog,
    save: SavePin,
    run: str,
    operator: str,
) -> Applied | None:
    """Carries out what was decided.

    Args:
        decision: from ``decide``, over the pin in force of this very state and log, read under the lock that
            is still held.
        state: the pin that the state holds.
        log: where the change is told first.
        save: puts a pin into the state.
        run: the run's id.
        operator: the login name of the user whose process this is.

    Returns:
        What was done; ``None`` for a refusal, which writes nothing.

    Raises:
        StorageError: an accept or upgrade could not be logged, so that it did not happen; or a save failed.
    """
    match decision:
        case Refuse():
            return None
        case Unchanged(pin=pin):
            if pin != state:
                _ = save(pin)
            return Applied(pin=pin, mended=pin != state, not_logged=None)
        case Accept(before=before, pin=pin):
            held = before.state if isinstance(before, Disputed) else before
            if held != state:
                _ = save(held)
            log.append(change_entry(decision, run=run, operator=operator))
            _ = save(pin)
            return Applied(pin=pin, mended=held != state, not_logged=None)
        case Upgrade(before=before, pin=pin):
            log.append(change_entry(decision, run=run, operator=operator))
            _ = save(pin)
            return Applied(pin=pin, mended=before != state, not_logged=None)
        case Strengthen(before=before, pin=pin):
            not_logged: StorageError | None = None
            try:
                log.append(change_entry(decision, run=run, operator=operator))
            except StorageError as error:
                not_logged = error
            _ = save(pin)
            return Applied(pin=pin, mended=before != state, not_logged=not_logged)
        case _:
            assert_never(decision)
