"""The laws that no crash, error, full disk or power cut may break, each stated once.

1. While the state or the log still holds the last change, the pin in force never gets weaker, except by an
   accept whose entry is whole in the log first. (``recover`` is outside this law, and pins ``required``.)
2. A refused command changes nothing: no byte, no mtime, no new file, no process.
3. At any crash, kill or power loss the state is the old or the new one, whole; the log's whole lines stay
   whole.
4. Two commands on one run never both act; no strengthening is lost, whoever wins (``test_races.py``).
5. No input makes a decoder raise anything but its documented errors, hang, or use memory out of proportion to
   the input (``tests/fuzz``, ``tests/core``).
6. What reads back is what was written, in every schema, after any number of load and save (the same).
7. Under ``required`` no descendant of the launch runs outside the sandbox, whatever the agent did to any file
   that it could write; and none outlives the launch (``hostile``).

The first three are functions here, over the bytes of a run's two files before and after, and ask the pure
core alone; each other test is named after its law.
"""

import stat
from pathlib import Path
from typing import NamedTuple

from sandbox_pin import (
    Disputed,
    RunKind,
    SandboxMode,
    SandboxPin,
    Unpinned,
    mode_strength,
    pin_in_force,
    read_pin,
)
from sandbox_pin.core.event import Entry, LaunchStarted, PinAccepted
from sandbox_pin.core.log_line import Garbage, decode_line


class Files(NamedTuple):
    """The bytes of a run's two files; ``None``: not there."""

    state: bytes | None
    log: bytes | None

    @classmethod
    def read(cls, state: Path, log: Path) -> "Files":
        """As they are now."""
        return cls(*(path.read_bytes() if path.is_file() else None for path in (state, log)))


class Seen(NamedTuple):
    """All that a command could change of one file; the time of the last look is left out."""

    mode: int
    inode: int
    owner: tuple[int, int]
    links: int
    modified: int
    content: bytes | str


def look(folder: Path) -> dict[str, Seen]:
    """A folder and everything below it, by name; nothing where it is not there."""
    seen: dict[str, Seen] = {}
    for path in (folder, *folder.rglob("*")) if folder.exists() else ():
        found = path.lstat()
        content: bytes | str = ""
        if stat.S_ISLNK(found.st_mode):
            content = str(path.readlink())
        elif stat.S_ISREG(found.st_mode):
            content = path.read_bytes()
        owner = (found.st_uid, found.st_gid)
        seen[str(path.relative_to(folder))] = Seen(
            found.st_mode, found.st_ino, owner, found.st_nlink, found.st_mtime_ns, content
        )
    return seen


def entries_in(log: bytes | None) -> list[Entry]:
    """The whole entries of a log, torn lines passed over; a whole line that is no entry raises."""
    told = [decode_line(line) for line in (log or b"").split(b"\n") if line.strip()]
    return [entry for entry in told if not isinstance(entry, Garbage)]


def held(files: Files, kind: RunKind, *, foreign: bool = False) -> SandboxPin | Disputed | Unpinned:
    """The pin in force that the two files tell together.

    Raises:
        StateError: one of them is damaged.
    """
    if files.state is None:
        return Unpinned()
    pin = read_pin(files.state, pinned_since=None) if foreign else read_pin(files.state)
    entries = entries_in(files.log)
    return pin_in_force(pin, entries[-1].pin if entries else None, kind=kind)


def mode_of(pin: SandboxPin | Disputed | Unpinned) -> SandboxMode | None:
    """The mode that it holds a run to; ``None``: nothing is pinned."""
    if isinstance(pin, Unpinned):
        return None
    return pin.witness.mode if isinstance(pin, Disputed) else pin.mode


def strength(mode: SandboxMode | None, kind: RunKind) -> int:
    """How strong it is, as a number; less than any mode's where nothing is pinned."""
    return -1 if mode is None else int(mode_strength(mode, kind))


def new_entries(before: Files, after: Files) -> list[Entry]:
    """What was logged in between."""
    return entries_in(after.log)[len(entries_in(before.log)) :]


def strength_falls_only_by_an_accept_that_is_whole_in_the_log(
    before: Files, after: Files, kind: RunKind, *, foreign: bool = False
) -> None:
    """Law 1: for the pin in force, and for the state alone: the accept is in the log before the save."""
    was = mode_of(held(before, kind, foreign=foreign))
    if before.state is None and after.state is not None:
        # A run that was made meanwhile: it was held to what it was made with.
        was = entries_in(after.log)[0].pin.mode
    for now in (held(after, kind, foreign=foreign), held(Files(after.state, None), kind, foreign=foreign)):
        if strength(mode_of(now), kind) >= strength(was, kind):
            continue
        if isinstance(now, Unpinned) or now == held(Files(before.state, None), kind, foreign=foreign):
            # The state alone has not been touched yet: the log's word holds the run.
            assert mode_of(held(after, kind, foreign=foreign)) == was, (before, after)
            continue
        accepted = [entry for entry in new_entries(before, after) if isinstance(entry, PinAccepted)]
        assert accepted, f"law 1: weaker than {was} without an accept in the log: {after}"
        assert accepted[-1].pin == now, f"law 1: another pin than the accepted one: {after}"


def the_state_is_the_old_or_the_new_one_whole(
    before: Files, after: Files, modes: set[SandboxMode], *, kept: bytes, foreign: bool = False
) -> None:
    """Law 3, the state: untouched, or whole with one of these modes, what is not ours kept byte for byte."""
    if after.state == before.state:
        return
    assert after.state is not None, "law 3: the state is gone"
    pin = read_pin(after.state, pinned_since=None) if foreign else read_pin(after.state)
    assert mode_of(pin) in modes, f"law 3: a pin that nobody asked for: {pin}"
    assert kept in after.state, "law 3: what belongs to others was lost"


def the_whole_lines_of_the_log_stay_whole(before: Files, after: Files, *, torn: int = 1) -> None:
    """Law 3, the log: what was there stays in front; of what is new, so many lines may be torn."""
    old, new = before.log or b"", after.log or b""
    assert new.startswith(old), f"law 3: the log was rewritten: {old!r} -> {new!r}"
    lines = [decode_line(line) for line in new[len(old) :].split(b"\n") if line.strip()]
    garbage = [line for line in lines if isinstance(line, Garbage)]
    assert len(garbage) <= torn, f"law 3: torn lines in {new!r}"


def nothing_changed(before: dict[str, Seen], after: dict[str, Seen]) -> None:
    """Law 2, the files; a process that is left is seen by whoever started the command."""
    assert after == before, f"law 2: changed: {sorted(set(after.items()) ^ set(before.items()), key=str)}"


def what_was_launched_was_logged_first(before: Files, after: Files, *, launched: bool) -> None:
    """The log knows of every command that really ran."""
    if launched:
        assert any(isinstance(entry, LaunchStarted) for entry in new_entries(before, after)), after
