"""The run log on disk: appended with one write and one flush, read from its end (design: "The log")."""

import contextlib
import os
from collections.abc import Callable, Iterator
from io import BufferedReader, FileIO
from typing import Final

from sandbox_pin.core.event import (
    Entry,
    PinAccepted,
    PinStrengthened,
    PinUpgraded,
    RunCreated,
)
from sandbox_pin.core.log_end import LogEnd, LogTail, end_of_log, lines_backwards
from sandbox_pin.core.log_line import LINE_LIMIT, TOO_LONG, Damaged, Garbage, LogLine, encode_line, tell_line
from sandbox_pin.core.modes import RunKind
from sandbox_pin.core.request import SandboxRequest
from sandbox_pin.errors import StateError, StorageError
from sandbox_pin.shell.durable import (
    flush_folder,
    open_regular,
    open_sized,
    read_from,
    replace_file,
    write_all,
)

STARTS_ANEW: Final = "keeps it aside and starts anew."
"""What ``recover`` does about a file, behind the command."""

_FIRST: Final = 8 * 1024
_BLOCK: Final = 64 * 1024
_LOOK_BACK: Final = 64 * 1024 * 1024


def refuse_another(entry: Entry, *, kind: RunKind, run: str, file: str | None = None) -> None:
    """Refuses a log that speaks of another run than its state.

    Args:
        entry: the log's last whole entry.
        kind: the kind that the state says.
        run: the id that the state says.
        file: the log, for messages, where it is a file.

    Raises:
        StateError: the entry is of another kind (a flipped kind would weaken ``preferred``), or run.
    """
    if entry.kind is not kind:
        found = f"the log's last entry is of a {entry.kind} run"
        raise StateError(found, file=file, expected=f"entries of a {kind} run")
    if entry.run != run:
        found = f"the log's last entry is of the run {entry.run}"
        raise StateError(found, file=file, expected=f"entries of the run {run}")


class FileRunLog:
    """A run log: one file in a folder that the caller has open, and has locked for appending.

    Args:
        folder: the folder's descriptor.
        name: the file's name in it.
        shown_as: its path for messages.
        recover: spells the command that starts it anew, for where it is no file; ``None``: there is none.
    """

    def __init__(
        self, folder: int, name: str, *, shown_as: str, recover: Callable[[], str] | None = None
    ) -> None:
        self._folder = folder
        self._name = name
        self.shown_as = shown_as
        self._recover = recover

    def append(self, entry: Entry) -> None:
        """Adds an entry, flushed before this returns; a log that is not there yet is made.

        It is made with the entry in it, whole: a crash must not leave an empty log, which is damage, beside a
        state from before pins. A log that ends in a torn line gets a line end first, so that the new entry
        stands alone.

        Raises:
            StorageError: it could not be written whole and flushed; what is there of it is a torn line.
            ConfigurationError: as ``encode_line``.
        """
        line = encode_line(entry) + b"\n"
        try:
            file = self._opened(os.O_RDWR | os.O_APPEND)
        except FileNotFoundError:
            replace_file(self._folder, self._name, line, shown_as=self.shown_as)
            return
        try:
            with file:
                descriptor = file.fileno()
                size = os.fstat(descriptor).st_size
                torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
                write_all(descriptor, b"\n" + line if torn else line)
                os.fsync(descriptor)
        except OSError as error:
            raise StorageError(f"could not be written: {error.strerror}", file=self.shown_as) from None
        if size == 0:
            flush_folder(self._folder, shown_as=self.shown_as)

    def last_entry(self) -> Entry | None:
        """The last whole entry; ``None`` where there is no log, or nothing whole in it.

        Raises:
            StateError: the last whole line is damaged.
            StorageError: the log could not be read.
        """
        tail = self.find_tail()
        if isinstance(tail, StorageError):
            raise tail
        return None if tail is None else tail.entry

    def tail(self) -> LogTail:
        """The last whole entry, and what was passed over to find it; costs the same however long the log is.

        Raises:
            FileNotFoundError: there is no log.
            StateError: the last whole line is damaged, or none of the last 64 MiB is whole.
            StorageError: the log could not be read, or is no regular file.
        """
        return self.end().tail

    def end(self) -> LogEnd:
        """As ``tail``, and the last launch; what both need is read once.

        Raises:
            FileNotFoundError: as ``tail``.
            StateError: as ``tail``.
            StorageError: as ``tail``.
        """
        descriptor, size = self._opened_sized()
        try:
            length = _FIRST
            while True:
                start = max(0, size - length)
                end = self._end_of(descriptor, start, size)
                if end.tail.entry is not None and (end.launch is not None or length >= _BLOCK):
                    return end
                if start == 0:
                    return end
                if length >= _LOOK_BACK:
                    raise StateError("its last 64 MiB have no whole entry", file=self.shown_as)
                length = min(length * 8, _LOOK_BACK)
        finally:
            os.close(descriptor)

    def find_tail(self) -> LogTail | StorageError | None:
        """As ``tail``; ``None``: there is no log; an error as a value: it could not be read.

        Raises:
            StateError: as ``tail``.
        """
        end = self.find_end()
        return end.tail if isinstance(end, LogEnd) else end

    def find_end(self) -> LogEnd | StorageError | None:
        """As ``end``; ``None``: there is no log; an error as a value: it could not be read.

        Raises:
            StateError: as ``tail``.
        """
        try:
            return self.end()
        except FileNotFoundError:
            return None
        except StorageError as error:
            return error

    def lines(self) -> Iterator[LogLine]:
        """Every line, from the first, whatever it is.

        Raises:
            FileNotFoundError: there is no log.
            StorageError: the log could not be read, or is no regular file.
        """
        with BufferedReader(self._opened(os.O_RDONLY)) as file:
            try:
                while line := file.readline(LINE_LIMIT + 1):
                    piece = line
                    while len(piece) > LINE_LIMIT and not piece.endswith(b"\n"):
                        piece = file.readline(LINE_LIMIT + 1)
                    if piece is not line:
                        yield Garbage(why=TOO_LONG)
                    elif line.strip():
                        yield tell_line(line.rstrip(b"\n"))
            except OSError as error:
                raise StorageError(f"could not be read: {error.strerror}", file=self.shown_as) from None

    def recent(self) -> list[Entry]:
        """The whole entries among the last 64 KiB, the newest last.

        Raises:
            FileNotFoundError: there is no log.
            StorageError: the log could not be read, or is no regular file.
        """
        descriptor, size = self._opened_sized()
        try:
            start = max(0, size - _BLOCK)
            lines = [*lines_backwards(self._read(descriptor, start, size), cut=start > 0)]
        finally:
            os.close(descriptor)
        told = [tell_line(line) for line in reversed(lines) if line.strip()]
        return [entry for entry in told if not isinstance(entry, Garbage | Damaged)]

    def last_request(self) -> SandboxRequest | None:
        """What the run was last pinned by, as far as the log's first and last 64 KiB tell; never an error."""
        with contextlib.suppress(OSError, StorageError), self._opened(os.O_RDONLY) as file:
            first = self._read(file.fileno(), 0, _BLOCK).split(b"\n")[0]
            for entry in (*reversed(self.recent()), tell_line(first)):
                if isinstance(entry, RunCreated | PinUpgraded | PinStrengthened | PinAccepted):
                    return entry.request
        return None

    def _end_of(self, descriptor: int, start: int, size: int) -> LogEnd:
        block = self._read(descriptor, start, size)
        try:
            return end_of_log(lines_backwards(block, cut=start > 0))
        except StateError as error:
            raise error.located(file=self.shown_as) from None

    def _read(self, descriptor: int, start: int, end: int) -> bytes:
        try:
            return read_from(descriptor, start, most=end - start)
        except OSError as error:
            raise StorageError(f"could not be read: {error.strerror}", file=self.shown_as) from None

    def _opened(self, flags: int) -> FileIO:
        try:
            return open_regular(self._folder, self._name, flags, shown_as=self.shown_as)
        except StateError as error:
            raise self._no_file(error) from None

    def _opened_sized(self) -> tuple[int, int]:
        try:
            return open_sized(self._folder, self._name, os.O_RDONLY, shown_as=self.shown_as)
        except StateError as error:
            raise self._no_file(error) from None

    def _no_file(self, error: StateError) -> StorageError:
        # A log that is no file is one that can't be written: a stronger request must still be able to raise
        # the pin, so that this is a failure of storage, not damage.
        remedy = None if self._recover is None else f"{self._recover()} {STARTS_ANEW}"
        return StorageError(error.problem, file=error.file, expected=error.expected, remedy=remedy)
