"""A small orchestrator that holds its tasks to the sandbox mode that they began with.

    orchestrator.py ROOT start TASK --mode required -- COMMAND...   makes a task and queues it
    orchestrator.py ROOT queue TASK                                 queues it once more
    orchestrator.py ROOT work --mode required                       takes up what is queued, and ends
    orchestrator.py ROOT resume TASK --mode required                takes one further by hand

Its states are files of its own, its log is a table in SQLite, its tasks are real processes. What it adopts
from sandbox_pin is in ``settle`` (one call) and ``settle_purely`` (the same in steps).
"""

import argparse
import fcntl
import os
import sqlite3
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec
from msgspec.structs import replace

from sandbox_pin import (
    Refuse,
    RunKind,
    SandboxMode,
    SandboxPin,
    SandboxPinError,
    SandboxRequest,
    StateError,
    StorageError,
    Unpinned,
    decide,
    pin_in_force,
    read_pin,
)
from sandbox_pin.shell import (
    Entry,
    Garbage,
    Profile,
    RefuseLaunch,
    apply_decision,
    apply_request,
    create_logged_pin,
    decode_line,
    describe_decision,
    encode_line,
    find_bubblewrap,
    launch_arguments,
    now,
    operator_name,
    pass_gate,
    probe_host,
    write_file,
)

LOCAL = RunKind.LOCAL
REFUSED, NO_SANDBOX = 77, 69


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One task's state: a file of its own, the pin inside."""

    name: str
    workspace: str
    command: tuple[str, ...]
    rounds: int = 0
    sandbox_pin: SandboxPin | None = None


# region log
class SqliteLog:
    """The run log of one task: rows of the same table as this orchestrator's own events."""

    def __init__(self, database: sqlite3.Connection, task: str) -> None:
        self.database = database
        self.task = task

    def append(self, entry: Entry, /) -> None:
        """Adds an entry; SQLite has flushed it when the block ends."""
        try:
            with self.database:
                self.add("pin", encode_line(entry))
        except sqlite3.Error as error:
            raise StorageError(f"could not be written: {error}", file="log.db") from error

    def last_entry(self) -> Entry | None:
        """The last entry."""
        query = "SELECT entry FROM log WHERE task = ? AND entry IS NOT NULL ORDER BY id DESC LIMIT 1"
        try:
            row: tuple[bytes] | None = self.database.execute(query, (self.task,)).fetchone()
        except sqlite3.Error as error:
            raise StorageError(f"could not be read: {error}", file="log.db") from error
        if row is None:
            return None
        entry = decode_line(row[0])
        if isinstance(entry, Garbage):
            raise StateError(entry.why, file="log.db")
        return entry

    # endregion

    def add(self, event: str, entry: bytes | None = None) -> None:
        """Adds a row; this orchestrator's own events have no entry."""
        row = (self.task, event, entry)
        _ = self.database.execute("INSERT INTO log (task, event, entry) VALUES (?, ?, ?)", row)


class Store:
    """The folder of all tasks, held by one process at a time."""

    def __init__(self, root: Path, database: sqlite3.Connection) -> None:
        self.root = root
        self.database = database

    def path(self, name: str) -> Path:
        """Where a task's state is."""
        return self.root / f"{name}.json"

    def load(self, name: str) -> tuple[Task, SandboxPin | Unpinned]:
        """The state, and its pin read strictly: msgspec alone takes a repeated key, and the last of it."""
        raw = self.path(name).read_bytes()
        return msgspec.json.decode(raw, type=Task), read_pin(raw, pinned_since=None)

    def save(self, task: Task) -> None:
        """Replaces the state durably."""
        write_file(str(self.path(task.name)), msgspec.json.encode(task))

    def log(self, name: str) -> SqliteLog:
        """A task's log."""
        return SqliteLog(self.database, name)

    def queue(self, name: str) -> None:
        """Puts a task into the queue: a name, and no options that a worker would obey."""
        (self.root / "queue" / name).touch()

    def take_up(self) -> str | None:
        """The name of a queued task, taken out of the queue; ``None`` where none is left."""
        for waiting in sorted((self.root / "queue").iterdir()):
            waiting.unlink()
            return waiting.name
        return None


@contextmanager
def opened(root: Path) -> Generator[Store]:
    """The store in this folder, held until the block ends."""
    (root / "queue").mkdir(parents=True, exist_ok=True)
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        with closing(sqlite3.connect(root / "log.db")) as database:
            columns = "id INTEGER PRIMARY KEY, task TEXT, event TEXT, entry BLOB"
            _ = database.execute(f"CREATE TABLE IF NOT EXISTS log ({columns})")
            yield Store(root, database)
    finally:
        os.close(folder)


# region start
def start(store: Store, task: Task, mode: SandboxMode) -> None:
    """Makes a task: its pin is in the log before it is in the state."""
    pin = create_logged_pin(
        SandboxRequest(mode=mode),
        log=store.log(task.name),
        kind=LOCAL,
        run=task.name,
        workspace=task.workspace,
    )
    store.save(replace(task, sandbox_pin=pin))


# endregion


# region one call
def settle(store: Store, name: str, mode: SandboxMode, *, accept: bool) -> SandboxPin | None:
    """What the task is pinned to now; ``None`` where the mode was refused."""
    task, pin = store.load(name)
    decision = apply_request(
        SandboxRequest(mode=mode),
        state=pin,
        log=store.log(name),
        save=lambda pin: store.save(replace(task, sandbox_pin=pin)),
        kind=LOCAL,
        run=name,
        accept_config_change=accept,
    )
    say(describe_decision(decision))
    return None if isinstance(decision, Refuse) else decision.pin


# endregion


# region pure
def settle_purely(store: Store, name: str, mode: SandboxMode, *, accept: bool) -> SandboxPin | None:
    """The same in steps: decide, then apply."""
    task, pin = store.load(name)
    log = store.log(name)
    entry = log.last_entry()
    held = pin_in_force(pin, None if entry is None else entry.pin, kind=LOCAL)
    asked = SandboxRequest(mode=mode)
    decision = decide(held, asked, kind=LOCAL, accept_config_change=accept, at=now())
    say(describe_decision(decision))
    if isinstance(decision, Refuse):
        return None
    applied = apply_decision(
        decision,
        state=pin,
        log=log,
        save=lambda pin: store.save(replace(task, sandbox_pin=pin)),
        run=name,
        operator=operator_name(),
    )
    if applied is not None and applied.not_logged is not None:
        say(f"the stronger pin is saved, but not logged: {applied.not_logged}")
    return decision.pin


# endregion


def launch(store: Store, name: str, pin: SandboxPin) -> int:
    """Runs the task's command under the mode that it is pinned to; its exit status."""
    task, _ = store.load(name)
    profile = Profile(workspace=task.workspace)
    gate = pass_gate(pin.mode, probe_host(find_bubblewrap(), profile), kind=LOCAL)
    if isinstance(gate, RefuseLaunch):
        say(f"{gate.asked} demands a sandbox, and {gate.missing}")
        return NO_SANDBOX
    with store.database:
        store.log(name).add("launch")
    words = launch_arguments(gate, list(task.command), profile)
    status = subprocess.run(words, cwd=task.workspace, check=False).returncode
    store.save(replace(task, rounds=task.rounds + 1))
    return status


def work(store: Store, mode: SandboxMode) -> int:
    """The scheduler's worker: takes up each queued task; it can't accept anything. The worst status."""
    worst = 0
    while (name := store.take_up()) is not None:
        pin = settle(store, name, mode, accept=False)
        status = REFUSED if pin is None else launch(store, name, pin)
        say(f"{name}: {'refused' if pin is None else f'ended with {status}'}")
        worst = max(worst, status)
    return worst


def resume(store: Store, name: str, mode: SandboxMode, *, accept: bool) -> int:
    """Takes one task further by hand."""
    pin = settle_purely(store, name, mode, accept=accept)
    return REFUSED if pin is None else launch(store, name, pin)


def say(text: str) -> None:
    """Tells the operator."""
    _ = sys.stderr.write(f"orchestrator: {text}\n")


class Options(argparse.Namespace):
    """The command line, parsed."""

    root: Path
    what: str
    task: str
    mode: SandboxMode
    accept: bool
    command: Sequence[str]


def main() -> int:
    """Parses, calls, tells."""
    words, command = sys.argv[1:], list[str]()
    if "--" in words:
        words, command = words[: words.index("--")], words[words.index("--") + 1 :]
    parser = argparse.ArgumentParser()
    _ = parser.add_argument("root", type=Path)
    _ = parser.add_argument("what", choices=["start", "queue", "work", "resume"])
    _ = parser.add_argument("task", nargs="?", default="")
    _ = parser.add_argument("--mode", type=SandboxMode, default=SandboxMode.DISABLED)
    _ = parser.add_argument("--accept-config-change", dest="accept", action="store_true")
    options = parser.parse_args(words, namespace=Options())
    if options.accept and options.what != "resume":
        parser.error("--accept-config-change is for resume alone")
    try:
        with opened(options.root) as store:
            match options.what:
                case "start":
                    task = Task(name=options.task, workspace=str(Path.cwd()), command=tuple(command))
                    start(store, task, options.mode)
                    store.queue(options.task)
                case "queue":
                    store.queue(options.task)
                case "work":
                    return work(store, options.mode)
                case _:
                    return resume(store, options.task, options.mode, accept=options.accept)
    except SandboxPinError as error:
        say(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
