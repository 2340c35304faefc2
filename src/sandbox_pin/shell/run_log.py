"""The run log on disk: appended with one write and one flush, read from its end (design: "The log")."""

import contextlib
import os
from collections.abc import Iterator
from io import BufferedReader, FileIO
from typing import Final

from msgspec import Struct

from sandbox_pin.core.event import (
    Damaged,
    Entry,
    Garbage,
    LaunchEnded,
    LaunchStarted,
    LogLine,
    PinAccepted,
    PinStrengthened,
    PinUpgraded,
    RunCreated,
    decode_line,
    encode_line,
)
from sandbox_pin.core.modes import RunKind
from sandbox_pin.core.request import SandboxRequest
from sandbox_pin.errors import ConfigurationError, StateError, StorageError
from sandbox_pin.shell.durable import (
    flush_folder,
    open_regular,
    open_sized,
    read_from,
    replace_file,
    write_all,
)

LINE_LIMIT: Final = 1024 * 1024
"""The longest line that can be an entry, in bytes, its line end left out; a longer one is garbage."""

_TOO_LONG: Final = "longer than any entry"
_FIRST: Final = 8 * 1024
_BLOCK: Final = 64 * 1024
_LOOK_BACK: Final = 64 * 1024 * 1024


class LogTail(Struct, frozen=True, kw_only=True):
    """The end of a run log.

    Attributes:
        entry: the last whole entry, the witness's; ``None`` where there is none.
        passed_over: how many torn or garbage lines stand behind it.
    """

    entry: Entry | None
    passed_over: int


class LogEnd(Struct, frozen=True, kw_only=True):
    """The end of a run log, and what it tells of the last launch.

    Attributes:
        tail: the last whole entry.
        launch: the newest launch among the whole entries of the last 64 KiB.
        ended: the end of that launch, where it is known.
    """

    tail: LogTail
    launch: LaunchStarted | None
    ended: LaunchEnded | None


class FileRunLog:
    """A run log: one file in a folder that the caller has open, and has locked for appending."""

    def __init__(self, folder: int, name: str, *, shown_as: str) -> None:
        self._folder = folder
        self._name = name
        self.shown_as = shown_as

    def append(self, entry: Entry) -> None:
        """Adds an entry, flushed before this returns; a log that is not there yet is made.

        It is made with the entry in it, whole: a crash must not leave an empty log, which is damage, beside a
        state from before pins. A log that ends in a torn line gets a line end first, so that the new entry
        stands alone.

        Raises:
            StorageError: it could not be written whole and flushed; what is there of it is a torn line.
            ConfigurationError: the entry would not read back equal.
        """
        line = encode_line(entry)
        if len(line) > LINE_LIMIT:
            raise ConfigurationError(f"this entry can't be logged: it is over {LINE_LIMIT} bytes")
        line += b"\n"
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
                end = self._end_of(_lines_backwards(self._read(descriptor, start, size), cut=start > 0))
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

    def refuse_another(self, entry: Entry, *, kind: RunKind, run: str) -> None:
        """Refuses a log that speaks of another run than its state.

        Args:
            entry: the log's last whole entry.
            kind: the kind that the state says.
            run: the id that the state says.

        Raises:
            StateError: the entry is of another kind (a flipped kind would weaken ``preferred``), or run.
        """
        if entry.kind is not kind:
            found = f"its last entry is of a {entry.kind} run"
            raise StateError(found, file=self.shown_as, expected=f"entries of a {kind} run")
        if entry.run != run:
            found = f"its last entry is of the run {entry.run}"
            raise StateError(found, file=self.shown_as, expected=f"entries of the run {run}")

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
                        yield Garbage(why=_TOO_LONG)
                    elif line.strip():
                        yield _told(line.rstrip(b"\n"))
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
            lines = [*_lines_backwards(self._read(descriptor, start, size), cut=start > 0)]
        finally:
            os.close(descriptor)
        told = [_told(line) for line in reversed(lines) if line.strip()]
        return [entry for entry in told if not isinstance(entry, Garbage | Damaged)]

    def last_request(self) -> SandboxRequest | None:
        """What the run was last pinned by, as far as the log's first and last 64 KiB tell; never an error."""
        with contextlib.suppress(OSError, StorageError), self._opened(os.O_RDONLY) as file:
            first = self._read(file.fileno(), 0, _BLOCK).split(b"\n")[0]
            for entry in (*reversed(self.recent()), _told(first)):
                if isinstance(entry, RunCreated | PinUpgraded | PinStrengthened | PinAccepted):
                    return entry.request
        return None

    def _end_of(self, lines: Iterator[bytes]) -> LogEnd:
        passed_over = 0
        last: Entry | None = None
        ended: LaunchEnded | None = None
        for line in lines:
            if not line.strip():
                continue
            found = self._decoded(line) if last is None else _told(line)
            if isinstance(found, Garbage | Damaged):
                passed_over += last is None
                continue
            last = last or found
            if isinstance(found, LaunchStarted):
                return LogEnd(tail=LogTail(entry=last, passed_over=passed_over), launch=found, ended=ended)
            if isinstance(found, LaunchEnded):
                ended = ended or found
        return LogEnd(tail=LogTail(entry=last, passed_over=passed_over), launch=None, ended=ended)

    def _decoded(self, line: bytes) -> Entry | Garbage:
        if len(line) > LINE_LIMIT:
            return Garbage(why=_TOO_LONG)
        try:
            return decode_line(line)
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
            raise _unwritable(error) from None

    def _opened_sized(self) -> tuple[int, int]:
        try:
            return open_sized(self._folder, self._name, os.O_RDONLY, shown_as=self.shown_as)
        except StateError as error:
            raise _unwritable(error) from None


def _unwritable(error: StateError) -> StorageError:
    # A log that is no file is one that can't be written: a stronger request must still be able to raise the
    # pin, so that this is a failure of storage, not damage.
    return StorageError(error.problem, file=error.file, expected=error.expected)


def _lines_backwards(block: bytes, *, cut: bool) -> Iterator[bytes]:
    """Its lines, the last first; what the block cuts is none, as its beginning may make it another's text."""
    end = len(block)
    while (before := block.rfind(b"\n", 0, end)) >= 0:
        yield block[before + 1 : end]
        end = before
    if not cut:
        yield block[:end]


def _told(line: bytes) -> LogLine:
    try:
        return decode_line(line)
    except StateError as error:
        return Damaged(why=str(error))
