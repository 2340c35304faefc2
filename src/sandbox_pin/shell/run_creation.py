"""Makes a run, whole or not at all: its folder is built aside and renamed into place.

The one constructor of a run; there is none for a run without a pin.
"""

import contextlib
import os
from collections.abc import Generator, Sequence
from typing import Final

from sandbox_pin.core.event import Entry
from sandbox_pin.core.record import SandboxPin
from sandbox_pin.core.run_state import RunState, encode_run_state
from sandbox_pin.errors import BusyError, StateError, StorageError, UncertainStorageError, UsageError
from sandbox_pin.shell.durable import flush_folder, open_folder, replace_file
from sandbox_pin.shell.locks import hold
from sandbox_pin.shell.runs import LOG_NAME, STATE_NAME, RunFolder, check_run_id

ASIDE: Final = ".new-"
"""What the name of a folder begins with in which a run is built; the run's id and eight digits follow."""

_TRIES: Final = 3


@contextlib.contextmanager
def create_run(root: str, state: RunState, pin: SandboxPin, entries: Sequence[Entry]) -> Generator[RunFolder]:
    """Makes a run, whole, and holds it for the command that made it.

    The folder is built aside and renamed into place: at any crash there is the whole run or none.

    Args:
        root: the folder of all runs.
        state: the new state's own fields.
        pin: its pin; a run without one can't be made.
        entries: the log's first entries, the creation's first.

    Raises:
        UsageError: the id is none, or there is something of that name already.
        StorageError: it could not be made; nothing is left behind.
        UncertainStorageError: it is made, but might not survive a power cut.
    """
    # Asked before anything is made, so that even the folder's time stays as it was.
    refuse_existing(root, state.run)
    path = os.path.join(root, state.run)
    with contextlib.ExitStack() as stack:
        aside, descriptor = _make_aside(root, state.run, stack)
        try:
            folder = RunFolder(root, state.run, descriptor)
            raw = encode_run_state(state, pin)
            replace_file(descriptor, STATE_NAME, raw, shown_as=folder.state_path)
            for entry in entries:
                folder.log.append(entry)
            _place(aside, root, state.run)
        except BaseException as error:
            for name in (STATE_NAME, LOG_NAME):
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(aside, name))
            with contextlib.suppress(OSError):
                os.rmdir(aside)
            if isinstance(error, UncertainStorageError):
                # Nothing is left of what may or may not have been safe.
                raise StorageError("could not be made: its folder could not be flushed", file=path) from None
            raise
        _flush(root)
        yield folder


def _make_aside(root: str, run: str, stack: contextlib.ExitStack) -> tuple[str, int]:
    """A new folder to build a run in, and its descriptor, held.

    Whoever holds it builds in it: ``doctor`` clears those that nobody holds. It may look at this one in the
    moment before it is held; then another one is made.
    """
    path = os.path.join(root, run)
    for _ in range(_TRIES):
        aside = os.path.join(root, f"{ASIDE}{run}-{os.urandom(4).hex()}")
        try:
            os.mkdir(aside, mode=0o700)
        except OSError as error:
            raise StorageError(f"could not be made: {error.strerror}", file=path) from None
        try:
            with contextlib.ExitStack() as attempt:
                descriptor = open_folder(aside)
                _ = attempt.callback(os.close, descriptor)
                attempt.enter_context(hold(descriptor, wait=0, shown_as=path))
                if os.path.samestat(os.stat(aside), os.fstat(descriptor)):
                    _ = stack.push(attempt.pop_all())
                    return aside, descriptor
        except BaseException as error:
            with contextlib.suppress(OSError):
                os.rmdir(aside)
            if isinstance(error, FileNotFoundError | BusyError):
                continue
            if isinstance(error, OSError):
                raise StorageError(f"could not be made: {error.strerror}", file=path) from None
            raise
    raise StorageError("could not be made: the folder that it was built in was held or taken away", file=path)


@contextlib.contextmanager
def root_made(root: str) -> Generator[None]:
    """Makes the folder of all runs, so that a trial launch can hide it; takes back what stayed empty.

    Raises:
        StorageError: it could not be made.
    """
    made: list[str] = []
    folder = root
    while not os.path.lexists(folder):
        made.append(folder)
        folder = os.path.dirname(folder)
    try:
        try:
            for folder in reversed(made):
                os.mkdir(folder, mode=0o700)
            os.makedirs(root, exist_ok=True)
        except OSError as error:
            raise StorageError(f"could not be made: {error.strerror}", file=root) from None
        yield
    finally:
        for folder in made:
            with contextlib.suppress(OSError):
                os.rmdir(folder)


def refuse_existing(root: str, run: str) -> None:
    """Refuses an id that is taken.

    Raises:
        UsageError: the id is none, or there is a run, or something else, of that name.
    """
    path = os.path.join(root, check_run_id(run))
    if os.path.lexists(path):
        raise UsageError(
            "there is a run, or something else, of that name already",
            file=path,
            remedy="Give the new run another --id, or none; an existing one is taken further with step.",
        )


def _place(aside: str, root: str, run: str) -> None:
    # rename(2) puts a folder in place of an empty one without a word, and fails on any other.
    refuse_existing(root, run)
    path = os.path.join(root, run)
    try:
        os.rename(aside, path)
    except OSError as error:
        refuse_existing(root, run)
        raise StorageError(f"could not be made: {error.strerror}", file=path) from None


def _flush(root: str) -> None:
    try:
        descriptor = open_folder(root)
    except (OSError, StateError, StorageError) as error:
        # The run is in place: whoever is told that nothing was made would make it again.
        raise UncertainStorageError(
            f"the run is in place, but its folder could not be flushed: {error}",
            file=root,
            remedy="Whether it would survive a power cut is uncertain; the next command reads what is there.",
        ) from None
    try:
        flush_folder(descriptor, shown_as=root)
    finally:
        os.close(descriptor)
