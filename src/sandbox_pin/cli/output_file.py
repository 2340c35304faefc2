"""The files that the operator names to be written: looked at before anything is done."""

import stat
from pathlib import Path

from sandbox_pin.errors import UsageError


def refuse_no_file(path: str, *, option: str) -> None:
    """Refuses a path at which no file can be put in place.

    What is written is put in place by a rename. At a device's name (/dev/null, /dev/stdout) that would
    destroy the device for every program of the system.

    Raises:
        UsageError: it is a folder, a device, a FIFO or a socket, or its folder does not exist.
    """
    if not path or Path(path).is_dir():
        raise UsageError("this is a folder", file=path, field=option, expected="a file to write")
    if not Path(path).absolute().parent.is_dir():
        raise UsageError("its folder does not exist", file=path, field=option)
    try:
        found = Path(path).stat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"could not be looked at: {error.strerror}", file=path, field=option) from None
    if not stat.S_ISREG(found):
        raise UsageError("this is a device, a FIFO or a socket", file=path, field=option, expected="a file")
