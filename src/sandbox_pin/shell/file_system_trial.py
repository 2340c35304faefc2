"""Whether a file system can keep runs: what they need of it is tried for real, in a folder of its own."""

import contextlib
import os
from collections.abc import Callable
from typing import Final

from sandbox_pin.core.doctor import Trial
from sandbox_pin.errors import BusyError, SandboxPinError, UncertainStorageError
from sandbox_pin.shell.durable import flush_folder, open_folder, read_regular, replace_file, temporary_name
from sandbox_pin.shell.locks import hold

TRIAL: Final = ".doctor-"
"""What the name of the folder begins with that the trials are made in; eight digits follow."""

TRIAL_FILE: Final = "trial"


def try_file_system(root: str) -> list[Trial]:
    """Tries what runs need; nothing of it stays.

    Args:
        root: the folder of all runs.
    """
    path = os.path.join(root, f"{TRIAL}{os.urandom(4).hex()}")
    trials: list[Trial] = []

    def attempt(what: str, act: Callable[[], None]) -> None:
        try:
            act()
        except OSError as error:
            trials.append(Trial(what=what, failure=error.strerror or str(error)))
        except SandboxPinError as error:
            trials.append(Trial(what=what, failure=error.problem))
        else:
            trials.append(Trial(what=what))

    attempt("making a folder", lambda: os.mkdir(path, mode=0o700))
    if trials[0].failure is not None:
        return trials
    with contextlib.ExitStack() as stack:
        descriptor = open_folder(path)
        _ = stack.callback(os.close, descriptor)
        attempt("flock(2) on it", lambda: _lock(stack, descriptor, path))
        attempt("a rename in place of a file", lambda: _replace(descriptor, path))
        attempt("fsync(2) of the folder", lambda: flush_folder(descriptor, shown_as=path))
        attempt("removing both", lambda: _remove(descriptor, path))
    return trials


def _lock(stack: contextlib.ExitStack, descriptor: int, path: str) -> None:
    """Holds the folder until the trials are over, and sees that nobody else can."""
    stack.enter_context(hold(descriptor, wait=0, shown_as=path))
    second = open_folder(path)
    try:
        with hold(second, wait=0, shown_as=path):
            raise OSError("two have the lock at once")
    except BusyError:
        pass
    finally:
        os.close(second)


def _replace(descriptor: int, path: str) -> None:
    for content in (b"old", b"new"):
        # That the folder can't be flushed is a trial of its own.
        with contextlib.suppress(UncertainStorageError):
            replace_file(descriptor, TRIAL_FILE, content, shown_as=path)
    if read_regular(descriptor, TRIAL_FILE, shown_as=path) != b"new":
        raise OSError("the old content is still there")


def _remove(descriptor: int, path: str) -> None:
    for name in (TRIAL_FILE, temporary_name(TRIAL_FILE)):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=descriptor)
    os.rmdir(path)
