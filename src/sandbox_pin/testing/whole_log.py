"""The law of a whole run log, whoever wrote it, and how its text is read (design: "The log")."""

from collections.abc import Iterable

from sandbox_pin.core.event import Entry, PinAccepted
from sandbox_pin.core.log_line import Garbage, decode_line
from sandbox_pin.core.modes import RunKind, mode_strength
from sandbox_pin.core.record import SandboxPin, describe_pin, pinned_backend
from sandbox_pin.errors import StateError
from sandbox_pin.testing.adapter import LawBroken


def check_pin_never_weaker(lines: Iterable[bytes]) -> None:
    """In a whole run log, no entry's pin is weaker than the one before it, but by an entry ``pin_accepted``.

    Args:
        lines: the text of each entry, the oldest first; what is torn is passed over.

    Raises:
        LawBroken: a pin got weaker in silence, the entries are of several runs or kinds, or a whole line is
            no entry that this version knows.
    """
    before: Entry | None = None
    for number, entry in enumerate(read_entries(lines), 1):
        if before is not None:
            if (entry.run, entry.kind) != (before.run, before.kind):
                raise LawBroken(
                    f"entry {number} is of the {entry.kind} run {entry.run}, the one before it of the "
                    f"{before.kind} run {before.run}"
                )
            if not isinstance(entry, PinAccepted) and _is_weaker(entry.pin, before.pin, entry.kind):
                raise LawBroken(
                    f"entry {number} weakens the pin from {describe_pin(before.pin)} to "
                    f"{describe_pin(entry.pin)}, and is no accept"
                )
        before = entry


def read_entries(lines: Iterable[bytes]) -> list[Entry]:
    """The entries in these lines, what is torn passed over.

    Raises:
        LawBroken: a whole line is no entry that this version knows.
    """
    try:
        return [entry for line in lines if not isinstance(entry := decode_line(line), Garbage)]
    except StateError as error:
        raise LawBroken(f"the run log has a damaged line: {error}") from error


def _is_weaker(after: SandboxPin, before: SandboxPin, kind: RunKind) -> bool:
    strength = mode_strength(before.mode, kind)
    if mode_strength(after.mode, kind) < strength:
        return True
    pinned = pinned_backend(before)
    return kind is RunKind.REMOTE and bool(strength) and pinned not in {None, pinned_backend(after)}
