"""What an adapter needs of a state that is a file of its own (design: "The state")."""

from pathlib import Path
from typing import Final

import msgspec

from sandbox_pin.core.record import SandboxPin, Unpinned, encode_pin
from sandbox_pin.core.state import PIN_FIELD, read_pin

_STATE: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


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
            ConfigurationError: the pin would not read back equal.
        """
        fields = _STATE.decode(self.state.read_bytes())
        if isinstance(pin, Unpinned):
            _ = fields.pop(PIN_FIELD, None)
        else:
            fields[PIN_FIELD] = msgspec.Raw(encode_pin(pin))
        _ = self.state.write_bytes(msgspec.json.encode(fields))
