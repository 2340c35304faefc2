"""The files that the operator names to be written: looked at before anything is done."""

import os
import stat
from pathlib import Path

from sandbox_pin.errors import UsageError


def refuse_no_output_file(path: str, *, option: str, root: str) -> None:
    """Refuses a path at which no file can be put in place, or where a run's own files are.

    What is written is put in place by a rename. At a device's name (/dev/null, /dev/stdout) that would
    destroy the device for every program of the system.

    Args:
        path: the path.
        option: the option that names it.
        root: the folder of all runs.

    Raises:
        UsageError: it is a folder, a device, a FIFO or a socket, its folder does not exist, or it lies below
            the folder of all runs.
    """
    if not path or Path(path).is_dir():
        raise UsageError("this is a folder", file=path, field=option, expected="a file to write")
    if not Path(path).absolute().parent.is_dir():
        raise UsageError("its folder does not exist", file=path, field=option)
    if _lies_below(Path(path).absolute().parent, root):
        raise UsageError(
            "it lies below the folder of all runs, where it might replace a run's state or log",
            file=path,
            field=option,
            expected=f"a file outside {root}",
        )
    try:
        found = Path(path).stat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"could not be looked at: {error.strerror}", file=path, field=option) from None
    if not stat.S_ISREG(found):
        raise UsageError("this is a device, a FIFO or a socket", file=path, field=option, expected="a file")


def _lies_below(folder: Path, root: str) -> bool:
    """Whether a folder is another one, or lies in it; links and mounts are resolved, as by the system."""
    try:
        runs = Path(root).stat()
    except OSError:
        return False  # there are none
    real = folder.resolve()
    return any(os.path.samestat(runs, above.stat()) for above in (real, *real.parents))
