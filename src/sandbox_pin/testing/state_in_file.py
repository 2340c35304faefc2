"""What an adapter needs of a state that is a file of its own (design: "The state")."""

from pathlib import Path

from sandbox_pin.core.record import SandboxPin, Unpinned
from sandbox_pin.core.state import PIN_FIELD, read_pin, replace_members, replace_pin
from sandbox_pin.core.strict_json import find_members


class StateInFile:
    """The half of an adapter whose orchestrator keeps its state as one JSON object in a file.

    Attributes:
        state: the file; the pin in it is under ``sandbox_pin``.
    """

    state: Path

    def read_pin(self) -> SandboxPin | Unpinned:
        """The pin that the file holds now.

        Raises:
            StateError: the pin in it is damaged.
        """
        return read_pin(self.state.read_bytes(), pinned_since=None)

    def put_pin(self, pin: SandboxPin | Unpinned, /) -> None:
        """Puts this pin into the file, or takes the one out that is there; all else in it stays.

        Raises:
            StateError: the file is no JSON object, or has the pin twice.
            ConfigurationError: the pin would not read back equal.
        """
        raw = self.state.read_bytes()
        new = _without_pin(raw) if isinstance(pin, Unpinned) else replace_pin(raw, pin)
        _ = self.state.write_bytes(new)


def _without_pin(raw: bytes) -> bytes:
    raw = replace_members(raw, {PIN_FIELD: b"{}"})  # from here on it is there, and once
    members = find_members(raw)
    number = [member.key for member in members].index(PIN_FIELD)
    if number > 0:
        begin, end = members[number - 1].end, members[number].end
    else:
        begin, end = raw.index(b"{") + 1, members[0].end
        if len(members) > 1:
            end = raw.index(b",", end) + 1
    return raw[:begin] + raw[end:]
