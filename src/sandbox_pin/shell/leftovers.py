"""What killed commands left behind in the folder of all runs: found, and cleared by ``doctor --fix`` alone.

A command holds the folder in which it builds a run, or writes a state aside, by a lock that the kernel frees
when it is killed. So what nobody holds is left over. The one exception is a folder that was made a moment
ago and is not held yet; such a one is still empty.
"""

import contextlib
import os
import re
import stat
import time
from collections.abc import Generator
from typing import Final

from sandbox_pin.core.doctor import Fate, Leftover
from sandbox_pin.errors import BusyError, StorageError
from sandbox_pin.shell.durable import open_folder, temporary_name
from sandbox_pin.shell.file_system_trial import TRIAL, TRIAL_FILE
from sandbox_pin.shell.locks import hold
from sandbox_pin.shell.run_creation import ASIDE
from sandbox_pin.shell.runs import LOG_NAME, STATE_NAME, list_runs

_BUILT_IN: Final = re.compile(rf"({re.escape(ASIDE)}[a-z0-9][a-z0-9._-]*-|{re.escape(TRIAL)})[0-9a-f]{{8}}")
_BUILT: Final = {name for kept in (STATE_NAME, LOG_NAME, TRIAL_FILE) for name in (kept, temporary_name(kept))}
"""All that our commands put into a folder that is not in place yet."""

_OURS: Final = "|".join(map(re.escape, (STATE_NAME, LOG_NAME)))
_WRITTEN_ASIDE: Final = re.compile(rf"\.({_OURS})(\.damaged-[0-9]+-[0-9]+)?\.new")
"""``temporary_name`` of a state, of a log, and of what ``recover`` keeps."""

_YOUNG: Final = 60.0
"""In seconds; between making a folder and holding it lie microseconds, unless a machine is suspended."""

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def find_leftovers(root: str, *, clear: bool) -> list[Leftover]:
    """What is left over below the folder of all runs; what a living command holds is passed over.

    Args:
        root: the folder of all runs.
        clear: whether to clear it.

    Raises:
        StorageError: the folder is there, but can't be read.
    """
    runs = list_runs(root)
    try:
        folder = open_folder(root)
    except FileNotFoundError:
        return []
    try:
        names = sorted(name for name in os.listdir(folder) if _BUILT_IN.fullmatch(name))
        found = [_built_in(folder, name, f"{root}/{name}", clear=clear) for name in names]
        for run in runs:
            found += _written_aside(folder, run, f"{root}/{run}", clear=clear)
    finally:
        os.close(folder)
    return [leftover for leftover in found if leftover is not None]


def _built_in(root: int, name: str, path: str, *, clear: bool) -> Leftover | None:
    """A folder that a command built a run in, or tried the file system in."""
    try:
        with _held_by_nobody(root, name) as folder:
            content = set(os.listdir(folder))
            age = time.time() - os.fstat(folder).st_mtime
            if not content and 0 <= age < _YOUNG:
                return None
            foreign = sorted(content - _BUILT)
            if foreign:
                return Leftover(path=path, fate=Fate.KEPT, why=f"it holds {foreign[0]}")
            if clear:
                for inside in content:
                    os.unlink(inside, dir_fd=folder)
                os.rmdir(name, dir_fd=root)
            return Leftover(path=path, fate=Fate.CLEARED if clear else Fate.LEFT)
    except (FileNotFoundError, BusyError):
        return None  # put in place, taken back, or being built
    except (OSError, StorageError) as error:
        return Leftover(path=path, fate=Fate.KEPT, why=_reason(error))


def _written_aside(root: int, run: str, path: str, *, clear: bool) -> list[Leftover]:
    """The files in a run's folder that were written, and never put in place."""
    try:
        with _opened(root, run) as folder:
            if not _asides(folder):
                return []  # looked at first, as a lock would keep a command waiting
    except OSError:
        return []  # what stands in a run's place is told by the commands on that run
    found: list[Leftover] = []
    with contextlib.suppress(FileNotFoundError, BusyError), _held_by_nobody(root, run) as folder:
        for name in _asides(folder):
            fate, why = Fate.CLEARED if clear else Fate.LEFT, None
            if clear:
                try:
                    os.unlink(name, dir_fd=folder)
                except OSError as error:
                    fate, why = Fate.KEPT, _reason(error)
            found.append(Leftover(path=f"{path}/{name}", fate=fate, why=why))
    return found


def _asides(folder: int) -> list[str]:
    return sorted(name for name in os.listdir(folder) if _WRITTEN_ASIDE.fullmatch(name))


@contextlib.contextmanager
def _opened(root: int, name: str) -> Generator[int]:
    descriptor = os.open(name, _FOLDER, dir_fd=root)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _held_by_nobody(root: int, name: str) -> Generator[int]:
    """A folder's descriptor, held, so that no command begins to use it meanwhile.

    Raises:
        FileNotFoundError: it is not there any more.
        BusyError: a command holds it.
    """
    with _opened(root, name) as descriptor, hold(descriptor, wait=0, shown_as=name):
        # Who held it until now may have put it in place under another name.
        there = os.stat(name, dir_fd=root, follow_symlinks=False)
        if not stat.S_ISDIR(there.st_mode) or not os.path.samestat(there, os.fstat(descriptor)):
            raise FileNotFoundError
        yield descriptor


def _reason(error: OSError | StorageError) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else error.problem
