"""Opens one configuration file, once, and reads it: what was checked is what was parsed.

No path is looked at twice. The descriptor is opened, judged (``fstat``) and read to its end, and the identity
of its very file is handed on, so that placement judges that file and not one put in its place since
(design: "Placement").
"""

import os
import stat
from errno import ENXIO

from msgspec import Struct

from sandbox_pin.core.configuration import Configuration, read_configuration
from sandbox_pin.errors import ConfigurationError

MAXIMUM_SIZE = 1024 * 1024
"""In bytes. A configuration file is written by hand, and all of it is read before anything is decided."""

# Without O_NONBLOCK, opening a FIFO waits for its writer; without O_NOCTTY, a terminal may become ours.
_OPEN_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY

_KINDS_OF_FILE = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
}


class ConfigurationFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a file says, and which file said it: device and inode of the descriptor that was parsed."""

    configuration: Configuration
    device: int
    inode: int


def load_configuration(path: str) -> ConfigurationFile:
    """Reads the configuration file that the operator named.

    There is no way from here to the built-in default: whoever names a file means what is in it.

    Args:
        path: the file, TOML, JSON or YAML by the end of its name.

    Raises:
        ConfigurationError: there is no such file; it can't be opened or read, is no regular file, is too
            large, or was written to meanwhile; it is not UTF-8, not of a supported format, or can't be
            parsed; or what it says about the sandbox is not one clear thing (``read_configuration``).
    """
    descriptor = _open(path)
    try:
        facts = os.fstat(descriptor)
        _refuse_unreadable_kinds(facts, path)
        from sandbox_pin.shell.config_formats import choose_parser  # noqa: PLC0415 - not where no file is named

        parse = choose_parser(path)
        raw = _read_whole(descriptor, facts, path)
    except OSError as error:
        raise ConfigurationError(f"can't be read: {error.strerror}", file=path) from error
    finally:
        os.close(descriptor)
    try:
        document = parse(_decode(raw))
    except ConfigurationError as error:
        raise error.located(file=path) from error
    configuration = read_configuration(document, file=path)
    return ConfigurationFile(configuration=configuration, device=facts.st_dev, inode=facts.st_ino)


def _open(path: str) -> int:
    remedy = "Name the configuration file with --config"
    try:
        # The run log, which is UTF-8, tells where a mode came from: a name that it can't hold is refused now.
        _ = path.encode()
        return os.open(path, _OPEN_FLAGS)
    except FileNotFoundError as error:
        problem = (
            "is a link to a file that does not exist" if os.path.islink(path) else "there is no such file"
        )
        raise ConfigurationError(
            problem, file=path, expected="a configuration file", remedy=remedy
        ) from error
    except OSError as error:
        # The system's own words for this one ("No such device or address") would send a person looking wrong.
        reason = "it is a socket, or a device without a driver" if error.errno == ENXIO else error.strerror
        raise ConfigurationError(
            f"can't be opened: {reason}", file=path, expected="a readable file", remedy=remedy
        ) from error
    except ValueError as error:
        raise ConfigurationError(
            "the path is not UTF-8, or has a NUL in it", file=path, expected="a path in UTF-8"
        ) from error


def _refuse_unreadable_kinds(facts: os.stat_result, path: str) -> None:
    if not stat.S_ISREG(facts.st_mode):
        kind = _KINDS_OF_FILE.get(stat.S_IFMT(facts.st_mode), "a special file")
        raise ConfigurationError(f"is {kind}", file=path, expected="a regular file")
    if facts.st_size > MAXIMUM_SIZE:
        raise _too_large(path)


def _read_whole(descriptor: int, before: os.stat_result, path: str) -> bytes:
    """The file's bytes, all as they were at one time."""
    with open(descriptor, "rb", closefd=False) as stream:
        # One byte more than allowed: the file may have grown since its size was asked.
        raw = stream.read(MAXIMUM_SIZE + 1)
    if len(raw) > MAXIMUM_SIZE:
        raise _too_large(path)
    after = os.fstat(descriptor)
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        # Half of a file that is being written may lack our table, and so look as if it asked for nothing.
        raise ConfigurationError(
            "was written to while it was read", file=path, remedy="Run the command again once it is saved"
        )
    return raw


def _too_large(path: str) -> ConfigurationError:
    return ConfigurationError("is over 1 MiB", file=path, expected="a file of at most 1 MiB")


def _decode(raw: bytes) -> str:
    """The text of a file, in the one encoding that every reader agrees about: UTF-8 without a mark."""
    expected = "UTF-8 without a byte order mark"
    remedy = "Save it as plain UTF-8"
    if raw.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        raise ConfigurationError("begins with a byte order mark", expected=expected, remedy=remedy)
    if b"\x00" in raw:
        raise ConfigurationError("has a NUL byte in it", expected=expected, remedy=remedy)
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            f"is not UTF-8, at byte {error.start}", expected=expected, remedy=remedy
        ) from error
