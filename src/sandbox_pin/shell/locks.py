"""One command on a run at a time: an exclusive flock(2) on the run folder's own descriptor.

No lock file is made, so that a refused command truly writes nothing, and nothing is left to clear: the
kernel frees the lock of a killed command at once. The descriptor is close-on-exec: no launch holds it.
"""

import contextlib
import fcntl
import time
from collections.abc import Generator
from typing import Final

from sandbox_pin.errors import BusyError, StorageError

DEFAULT_WAIT: Final = 10.0
"""How long a command waits for another one, in seconds."""

_PAUSE: Final = 0.02


@contextlib.contextmanager
def hold(folder: int, *, wait: float, shown_as: str) -> Generator[None]:
    """Holds a folder for one command.

    Args:
        folder: the folder's descriptor.
        wait: how long to wait for another holder, in seconds; 0 asks once.
        shown_as: what is held, for messages.

    Raises:
        BusyError: another command held it all that time.
        StorageError: the file system can't lock a folder.
    """
    deadline = time.monotonic() + wait
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            left = deadline - time.monotonic()
            if left <= 0:
                raise BusyError(
                    f"busy: another command has held it for the {wait:g} s that this one waited",
                    file=shown_as,
                    remedy="Try again when that one has ended, or wait longer with --wait SECONDS.",
                ) from None
            time.sleep(min(_PAUSE, left))
        except OSError as error:
            raise StorageError(f"could not be locked: {error.strerror}", file=shown_as) from None
    try:
        yield
    finally:
        # Closing alone would not free it while a forked child has the descriptor.
        fcntl.flock(folder, fcntl.LOCK_UN)
