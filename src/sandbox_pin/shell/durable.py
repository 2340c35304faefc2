"""The one place that writes a file durably, and the one that reads a file that an agent may have planted.

Writing keeps the order that survives a power cut: the temporary file's bytes, their flush, the rename, the
flush of the folder (rename(2), fsync(2)). Reading never blocks, never follows a link at the last name, and
never takes in more than its limit (design: "The state", "The log").
"""

import contextlib
import errno
import os
import stat
from io import FileIO
from typing import Final

from sandbox_pin.errors import StateError, StorageError, UncertainStorageError

SIZE_LIMIT: Final = 64 * 1024 * 1024
"""The largest state that is read, in bytes."""

# Non-blocking: a FIFO planted at the path must not hang a command. No controlling terminal is gained either.
_CAREFUL: Final = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_NO_FILE: Final = {
    errno.ELOOP: "it is a link",
    errno.EISDIR: "it is a folder",
    errno.ENXIO: "it is a FIFO, a socket or a device",
    errno.ENOTDIR: "its folder is none",
}
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def open_folder(path: str, *, follow: bool = True) -> int:
    """A descriptor of a folder; the caller closes it.

    Args:
        path: the folder.
        follow: whether its own name may be a link; those on the way always may.

    Raises:
        FileNotFoundError: there is nothing of that name.
        StateError: what is there is no folder.
        StorageError: the system could not open it.
    """
    try:
        return os.open(path, _FOLDER if follow else _FOLDER | os.O_NOFOLLOW)
    except FileNotFoundError:
        raise
    except OSError as error:
        # Linux calls a link that is not followed no folder.
        if not follow and os.path.islink(path):
            raise StateError("it is a link, and not followed", file=path, expected="a folder") from None
        raise _not_opened(error, path, "a folder") from None


def open_regular(folder: int, name: str, flags: int, *, shown_as: str) -> FileIO:
    """Opens a regular file in a folder, unbuffered.

    Args:
        folder: the folder's descriptor.
        name: the file's name in it.
        flags: the access mode, and ``O_APPEND | O_CREAT`` where wanted.
        shown_as: the path for messages.

    Raises:
        FileNotFoundError: there is nothing of that name; no other failure counts as absence.
        StateError: what is there is no regular file: a link, a folder, a FIFO, a socket, a device.
        StorageError: the system could not open it.
    """
    descriptor, _ = open_sized(folder, name, flags, shown_as=shown_as)
    return FileIO(descriptor, "r+" if flags & os.O_RDWR else "r")


def open_sized(folder: int, name: str, flags: int, *, shown_as: str) -> tuple[int, int]:
    """As ``open_regular``: the file's descriptor, which the caller closes, and its size in bytes."""
    try:
        descriptor = os.open(name, flags | _CAREFUL, 0o600, dir_fd=folder)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _not_opened(error, shown_as, "a regular file") from None
    try:
        found = os.fstat(descriptor)
    except OSError as error:
        os.close(descriptor)
        raise _not_opened(error, shown_as, "a regular file") from None
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        raise StateError("it is a folder, a FIFO or a device", file=shown_as, expected="a regular file")
    return descriptor, found.st_size


def read_regular(folder: int, name: str, *, shown_as: str) -> bytes:
    """The bytes of a regular file in a folder.

    Raises:
        FileNotFoundError: there is nothing of that name; no other failure counts as absence.
        StateError: it is no regular file, or over ``SIZE_LIMIT`` (a sparse file costs nothing to make).
        StorageError: the system could not read it.
    """
    descriptor, size = open_sized(folder, name, os.O_RDONLY, shown_as=shown_as)
    try:
        data = b"" if size > SIZE_LIMIT else _read_whole(descriptor, size)
    except OSError as error:
        raise StorageError(f"could not be read: {error.strerror}", file=shown_as) from None
    finally:
        os.close(descriptor)
    if max(size, len(data)) > SIZE_LIMIT:
        raise StateError(
            f"over {SIZE_LIMIT} bytes", file=shown_as, expected="a file of that size at the most"
        )
    return data


def _read_whole(descriptor: int, size: int) -> bytes:
    # One byte more is asked for than there should be: where it does not come, that was the end of the file.
    data = os.pread(descriptor, size + 1, 0)
    return data if len(data) == size else read_from(descriptor, 0, most=SIZE_LIMIT + 1)


def read_from(descriptor: int, start: int, *, most: int) -> bytes:
    """The bytes from a position on: up to the end, or ``most`` of them; read(2) may give fewer at once."""
    pieces: list[bytes] = []
    while most > 0 and (piece := os.pread(descriptor, min(most, 1 << 20), start)):
        pieces.append(piece)
        start += len(piece)
        most -= len(piece)
    return b"".join(pieces)


def replace_file(folder: int, name: str, data: bytes, *, shown_as: str) -> None:
    """Puts a file in place of another, whole: at any crash the old or the new one is there.

    The new file has the old one's mode bits and owner; where there was none, its owner alone may read it.

    Args:
        folder: the folder's descriptor, locked by the caller: the temporary file's name is fixed, so that a
            killed command leaves one file behind at the most, and the next one clears it.
        name: the file's name in it.
        data: the new content.
        shown_as: the path for messages.

    Raises:
        StorageError: nothing changed.
        UncertainStorageError: the new file is visible, but the folder could not be flushed.
    """
    aside = temporary_name(name)
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(aside, dir_fd=folder)
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _CAREFUL, 0o600, dir_fd=folder)
        try:
            _take_after(descriptor, folder, name)
            write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.rename(aside, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(aside, dir_fd=folder)
        if not isinstance(error, OSError):
            raise
        raise StorageError(f"could not be saved: {error.strerror}", file=shown_as) from None
    flush_folder(folder, shown_as=shown_as)


def temporary_name(name: str) -> str:
    """The name under which ``replace_file`` writes a file before it is in place."""
    return f".{name}.new"


def write_file(path: str, data: bytes) -> None:
    """As ``replace_file``, for a file that the operator names by its path.

    Args:
        path: the file; its folder must be there.
        data: all that it is to hold.

    Raises:
        StorageError: nothing changed.
        UncertainStorageError: the new file is visible, but its folder could not be flushed.
    """
    path = os.path.abspath(path)
    try:
        folder = open_folder(os.path.dirname(path))
    except (FileNotFoundError, StateError):
        raise StorageError("its folder does not exist", file=path) from None
    try:
        replace_file(folder, os.path.basename(path), data, shown_as=path)
    finally:
        os.close(folder)


def flush_folder(folder: int, *, shown_as: str) -> None:
    """Makes the names in a folder survive a power cut.

    Raises:
        UncertainStorageError: the system could not; the names are visible all the same.
    """
    try:
        os.fsync(folder)
    except OSError as error:
        raise UncertainStorageError(
            f"the new content is in place, but its folder could not be flushed: {error.strerror}",
            file=shown_as,
            remedy="Whether it would survive a power cut is uncertain; the next command reads what is there.",
        ) from None


def write_all(descriptor: int, data: bytes) -> None:
    """Writes every byte: write(2) may take fewer than it is given (a full disk, a limit, a signal)."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _take_after(descriptor: int, folder: int, name: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        old = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if not stat.S_ISREG(old.st_mode):
            return  # a link's mode bits are always 0777, and a FIFO's mean something else
        mine = os.fstat(descriptor)
        if (old.st_uid, old.st_gid) != (mine.st_uid, mine.st_gid):
            os.fchown(descriptor, old.st_uid, old.st_gid)
        os.fchmod(descriptor, stat.S_IMODE(old.st_mode))


def _not_opened(error: OSError, shown_as: str, expected: str) -> StateError | StorageError:
    if error.errno in _NO_FILE:
        return StateError(_NO_FILE[error.errno], file=shown_as, expected=expected)
    return StorageError(f"could not be opened: {error.strerror}", file=shown_as)
