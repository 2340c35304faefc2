"""Run folders: ``<root>/<run id>/state.json`` and ``run.jsonl`` (design: "The state", "The log").

A folder is 0700 and its files 0600, as a state holds commands, and commands hold secrets. One command at a
time has it, by a lock on the folder's own descriptor; everything in it is opened through that descriptor, so
that a folder put in its place meanwhile is never mixed with it.
"""

import contextlib
import os
import re
import shlex
from collections.abc import Generator
from typing import Final

from msgspec import Struct

from sandbox_pin.core.record import SandboxPin, Unpinned, encode_pin
from sandbox_pin.core.run_state import RunState, decode_run_state, encode_changes
from sandbox_pin.core.state import PIN_FIELD, replace_members
from sandbox_pin.errors import StateError, StorageError, UsageError
from sandbox_pin.shell.durable import open_folder, read_regular, replace_file
from sandbox_pin.shell.locks import hold
from sandbox_pin.shell.run_log import FileRunLog

STATE_NAME: Final = "state.json"
LOG_NAME: Final = "run.jsonl"
RUNS_VARIABLE: Final = "SANDBOX_PIN_RUNS"

_RUN_ID: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


def runs_root(option: str | None) -> str:
    """The folder of all runs, absolute: ``--runs``, else ``SANDBOX_PIN_RUNS``, else the user's state folder.

    Raises:
        UsageError: the option is empty, or the variable holds a path that is not absolute (it would mean
            another folder in each place).
    """
    if option is not None:
        if not option:
            raise UsageError("empty", field="--runs", expected="a folder")
        return os.path.abspath(option)
    variable = os.environ.get(RUNS_VARIABLE, "")
    if variable and not os.path.isabs(variable):
        raise UsageError(f"found {variable}", field=RUNS_VARIABLE, expected="an absolute path")
    if variable:
        return os.path.normpath(variable)
    from platformdirs import user_state_path  # noqa: PLC0415 - 3 ms that most commands need not spend

    return str(user_state_path("sandbox-pin") / "runs")


def check_run_id(run: str) -> str:
    """The id, checked before any file is touched: it becomes a folder's name.

    Raises:
        UsageError: it is not 1 to 64 of ``a-z 0-9 . _ -``, beginning with a letter or digit.
    """
    if _RUN_ID.fullmatch(run) is None:
        raise UsageError(
            f"found {run[:80]!r}" if run else "empty",
            field="run id",
            expected="1 to 64 of a-z 0-9 . _ -, beginning with a letter or digit",
        )
    return run


def make_run_id(at: str) -> str:
    """A new id, which sorts by the time that it is made up at."""
    return f"{re.sub('[^0-9]', '', at)}-{os.urandom(3).hex()}"


def state_path(root: str, run: str) -> str:
    """Where a run's state is, or would be."""
    return os.path.join(root, check_run_id(run), STATE_NAME)


def log_path(root: str, run: str) -> str:
    """Where a run's log is, or would be."""
    return os.path.join(root, check_run_id(run), LOG_NAME)


def spell_command(verb: str, root: str, run: str, *options: str) -> str:
    """A command on a run, to be pasted into a shell; it names the folder of all runs where it must.

    Args:
        verb: the command, such as ``recover``.
        root: the folder of all runs, from ``runs_root``.
        run: the run's id.
        options: what follows.
    """
    try:
        elsewhere = root != runs_root(None)
    except UsageError:  # the variable is wrong: it leads nowhere
        elsewhere = True
    return shlex.join(["sandbox-pin", verb, run, *(["--runs", root] if elsewhere else []), *options])


class LoadedRun(Struct, frozen=True, kw_only=True):
    """A run's state as it stands on disk.

    Attributes:
        raw: the file's bytes.
        state: our own fields of it.
        pin: the pin in it; ``Unpinned`` only in a state of a protocol from before pins.
    """

    raw: bytes
    state: RunState
    pin: SandboxPin | Unpinned


class RunFolder:
    """One run's folder, open.

    Attributes:
        root: the folder of all runs.
        run: the run's id.
        path: the folder's path.
        state_path: the state's path.
        descriptor: the folder's descriptor.
        log: the run log in it.
    """

    def __init__(self, root: str, run: str, descriptor: int) -> None:
        self.root = root
        self.run = run
        self.path: str = os.path.join(root, run)
        self.state_path: str = f"{self.path}/{STATE_NAME}"
        self.descriptor = descriptor
        self.log: FileRunLog = FileRunLog(
            descriptor,
            LOG_NAME,
            shown_as=f"{self.path}/{LOG_NAME}",
            recover=lambda: spell_command("recover", root, run),
        )

    def command(self, verb: str) -> str:
        """A command on this run, to be pasted into a shell."""
        return spell_command(verb, self.root, self.run)

    def load(self) -> LoadedRun:
        """Reads the state.

        Raises:
            StateError: it is missing or damaged; nothing is repaired by a failed read.
            StorageError: it could not be read.
        """
        try:
            raw = read_regular(self.descriptor, STATE_NAME, shown_as=self.state_path)
            state, pin = decode_run_state(raw, run=self.run)
        except FileNotFoundError:
            raise StateError("missing", file=self.state_path, expected="the run's state") from None
        except StateError as error:
            raise error.located(file=self.state_path) from None
        return LoadedRun(raw=raw, state=state, pin=pin)

    def save(self, loaded: LoadedRun, state: RunState, pin: SandboxPin) -> LoadedRun:
        """Puts a new state in place, whole, keeping what is not ours in it.

        Raises:
            StorageError: nothing changed.
            UncertainStorageError: it is in place, but might not survive a power cut.
        """
        changes = encode_changes(loaded.state, state)
        if pin != loaded.pin:
            changes[PIN_FIELD] = encode_pin(pin)
        raw = replace_members(loaded.raw, changes)
        replace_file(self.descriptor, STATE_NAME, raw, shown_as=self.state_path)
        return LoadedRun(raw=raw, state=state, pin=pin)


@contextlib.contextmanager
def open_run(root: str, run: str) -> Generator[RunFolder]:
    """Opens a run's folder, to read it without its lock.

    Raises:
        UsageError: the id is none, or there is no such run.
        StateError: what is there is no folder. A link is none, wherever it leads: through it two names would
            mean one run, and the state says another id than the one that was asked for.
        StorageError: the system could not open it.
    """
    path = os.path.join(root, check_run_id(run))
    try:
        descriptor = open_folder(path, follow=False)
    except FileNotFoundError:
        raise UsageError(
            "no such run",
            file=path,
            remedy="sandbox-pin list shows what is there; --runs DIR looks elsewhere.",
        ) from None
    try:
        yield RunFolder(root, run, descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def hold_run(root: str, run: str, *, wait: float) -> Generator[RunFolder]:
    """Opens a run's folder and holds it for one command.

    Args:
        root: the folder of all runs.
        run: the run's id.
        wait: how long to wait for another command, in seconds.

    Raises:
        BusyError: another command held it all that time.
        UsageError: as ``open_run``, or the folder was replaced while this command waited.
        StateError: as ``open_run``.
        StorageError: as ``open_run``, or the folder could not be locked.
    """
    with open_run(root, run) as folder, hold(folder.descriptor, wait=wait, shown_as=folder.path):
        try:
            replaced = not os.path.samestat(os.lstat(folder.path), os.fstat(folder.descriptor))
        except OSError:
            replaced = True
        if replaced:
            raise UsageError("replaced or removed while this command waited", file=folder.path)
        yield folder


def is_run_id(name: str) -> bool:
    """Whether a folder of this name in a run root is a run's."""
    return _RUN_ID.fullmatch(name) is not None


def list_runs(root: str) -> list[str]:
    """The ids of the runs under a root, in order; whatever is no run's name is passed over.

    Raises:
        StorageError: the folder is there, but could not be read.
    """
    try:
        names = os.listdir(root)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StorageError(f"could not be read: {error.strerror}", file=root) from None
    return sorted(name for name in names if is_run_id(name))
