"""A run log in memory that keeps what a file would: the text of each entry (design: "The log")."""

from sandbox_pin.core.event import Entry
from sandbox_pin.core.log_line import Garbage, decode_line, encode_line
from sandbox_pin.errors import StateError, StorageError


class MemoryLog:
    """A run log of two methods, for ``apply_decision`` and ``apply_request`` (``sandbox_pin.shell.RunLog``).

    Attributes:
        broken: while it is set, ``append`` fails as a full disk would; reading goes on.
    """

    def __init__(self) -> None:
        self.broken = False
        self._lines: list[bytes] = []

    @property
    def lines(self) -> tuple[bytes, ...]:
        """The text of every entry, the oldest first."""
        return tuple(self._lines)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every entry, the oldest first, as it reads back."""
        return tuple(_read(line) for line in self._lines)

    def append(self, entry: Entry, /) -> None:
        """Adds an entry behind the last.

        Raises:
            StorageError: the log is broken; nothing was added.
            ConfigurationError: the entry would not read back equal.
        """
        if self.broken:
            raise StorageError("could not be written: this log is broken on purpose")
        self._lines.append(encode_line(entry))

    def last_entry(self) -> Entry | None:
        """The last entry; ``None`` where there is none."""
        return _read(self._lines[-1]) if self._lines else None


def _read(line: bytes) -> Entry:
    entry = decode_line(line)
    if isinstance(entry, Garbage):
        raise StateError(entry.why)
    return entry
