"""What state and log say together: every damage has its own words, and a failed read repairs nothing."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace

from core.strategies import AT, LATER
from sandbox_pin import (
    Disputed,
    PinSource,
    PinV1,
    PinV2,
    RunKind,
    SandboxMode,
    SandboxPin,
    StateError,
    Unpinned,
    encode_pin,
)
from sandbox_pin.core.log_line import encode_line
from sandbox_pin.core.run_state import NEWER, LaunchProcess, RunStatus
from sandbox_pin.errors import StorageError
from sandbox_pin.shell.processes import identify
from sandbox_pin.shell.reading import RunReading, read_run, read_run_unlocked
from sandbox_pin.shell.runs import hold_run, open_run
from shell.support import ENDED, PIN, WEAK, first_entry, make_run, run_state, snapshot


def read(folder: Path) -> RunReading:
    """Reads the run in a folder, held."""
    with hold_run(str(folder.parent), folder.name, wait=0) as held:
        return read_run(held)


def change(folder: Path, **fields: object) -> int:
    """Sets fields of the state; ``...`` takes one out."""
    path = folder / "state.json"
    members = {**json.loads(path.read_bytes()), **fields}
    return path.write_text(json.dumps({name: value for name, value in members.items() if value is not ...}))


def put(folder: Path, name: str, raw: bytes) -> int:
    """Writes a file of the run."""
    return (folder / name).write_bytes(raw)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A whole run's folder."""
    return make_run(tmp_path)


def test_a_whole_run(run: Path) -> None:
    found = read(run)
    assert (found.in_force, found.witness, found.loaded.pin) == (PIN, PIN, PIN)
    assert (found.entry, found.passed_over, found.log_failure) == (first_entry(), 0, None)
    assert (found.differs, found.busy, found.status) == (False, False, RunStatus.READY)


Damage = Callable[[Path], object]
PIN_VALUE: Final = json.loads(encode_pin(PIN))


def state_text(folder: Path, old: bytes, new: bytes) -> None:
    """Puts a text in place of another in the state."""
    path = folder / "state.json"
    raw = path.read_bytes()
    assert old in raw
    path.write_bytes(raw.replace(old, new))


def in_place(folder: Path, name: str, make: Callable[[Path], object]) -> None:
    """Takes a file of the run away, and makes something else of that name."""
    (folder / name).unlink()
    make(folder / name)


def sparse(path: Path) -> None:
    """A file of 5 GB that takes no room."""
    with path.open("wb") as file:
        file.truncate(5 * 1024**3)


# What is done to a run; the file and the field that the message names.
DAMAGES: Final[dict[str, tuple[Damage, str, str | None]]] = {
    "no state": (lambda run: (run / "state.json").unlink(), "state.json", None),
    "empty state": (lambda run: put(run, "state.json", b""), "state.json", None),
    "torn state": (
        lambda run: put(run, "state.json", (run / "state.json").read_bytes()[:-9]),
        "state.json",
        None,
    ),
    "a state that is a list": (lambda run: put(run, "state.json", b"[]"), "state.json", None),
    "a state that is null": (lambda run: put(run, "state.json", b"null"), "state.json", None),
    "a state with a byte order mark": (
        lambda run: put(run, "state.json", b"\xef\xbb\xbf" + (run / "state.json").read_bytes()),
        "state.json",
        None,
    ),
    "a state that is a link": (
        lambda run: in_place(run, "state.json", lambda path: path.symlink_to("run.jsonl")),
        "state.json",
        None,
    ),
    "a state that is a folder": (lambda run: in_place(run, "state.json", Path.mkdir), "state.json", None),
    "a state that is a FIFO": (lambda run: in_place(run, "state.json", os.mkfifo), "state.json", None),
    "a state of 5 GB": (lambda run: in_place(run, "state.json", sparse), "state.json", None),
    "no pin": (lambda run: change(run, sandbox_pin=...), "state.json", "sandbox_pin"),
    "pin {}": (lambda run: change(run, sandbox_pin={}), "state.json", "sandbox_pin"),
    "pin null": (lambda run: change(run, sandbox_pin=None), "state.json", "sandbox_pin"),
    "pin empty text": (lambda run: change(run, sandbox_pin=""), "state.json", "sandbox_pin"),
    "pin []": (lambda run: change(run, sandbox_pin=[]), "state.json", "sandbox_pin"),
    "pin of schema 9": (
        lambda run: change(run, sandbox_pin={**PIN_VALUE, "schema": 9}),
        "state.json",
        "sandbox_pin.schema",
    ),
    "pin of schema true": (
        lambda run: change(run, sandbox_pin={**PIN_VALUE, "schema": True}),
        "state.json",
        "sandbox_pin.schema",
    ),
    "pin with another mode": (
        lambda run: change(run, sandbox_pin={**PIN_VALUE, "mode": "Required"}),
        "state.json",
        "sandbox_pin.mode",
    ),
    "pin with more keys": (
        lambda run: change(run, sandbox_pin={**PIN_VALUE, "accepted": True}),
        "state.json",
        "sandbox_pin.accepted",
    ),
    "pin given twice": (
        lambda run: state_text(run, b'"sandbox_pin"', b'"sandbox_pin":{},"sandbox_pin"'),
        "state.json",
        "sandbox_pin",
    ),
    "old protocol and pin null": (
        lambda run: change(run, protocol=11, sandbox_pin=None),
        "state.json",
        "sandbox_pin",
    ),
    "a newer protocol": (lambda run: change(run, protocol=13), "state.json", "protocol"),
    "no protocol": (lambda run: change(run, protocol=...), "state.json", "protocol"),
    "protocol as text": (lambda run: change(run, protocol="11"), "state.json", "protocol"),
    "protocol 11.0": (lambda run: change(run, protocol=11.0), "state.json", "protocol"),
    "another run's state": (lambda run: change(run, run="other"), "state.json", "run"),
    "another kind": (lambda run: change(run, kind="remote"), "run.jsonl", None),
    "a kind that is none": (lambda run: change(run, kind="Local"), "state.json", "kind"),
    "a status that is none": (lambda run: change(run, status="done"), "state.json", "status"),
    "no log": (lambda run: (run / "run.jsonl").unlink(), "run.jsonl", None),
    "empty log": (lambda run: put(run, "run.jsonl", b""), "run.jsonl", None),
    "a log of garbage": (lambda run: put(run, "run.jsonl", b"\0\0\0\n{\n"), "run.jsonl", None),
    "another run's log": (
        lambda run: put(run, "run.jsonl", encode_line(first_entry("other")) + b"\n"),
        "run.jsonl",
        None,
    ),
    "an unknown event": (lambda run: put(run, "run.jsonl", b'{"event":"dreamt"}\n'), "run.jsonl", "event"),
    "an entry with a pin of schema 9": (
        lambda run: put(run, "run.jsonl", encode_line(ENDED).replace(b'"schema":1', b'"schema":9') + b"\n"),
        "run.jsonl",
        "pin.schema",
    ),
    "an old protocol with an empty log": (
        lambda run: [change(run, protocol=11, sandbox_pin=...), put(run, "run.jsonl", b"")],
        "run.jsonl",
        None,
    ),
}
SAME_WORDS: Final = {
    # One message each, however they come about.
    "a state that is a FIFO": "a state that is a folder",
    "old protocol and pin null": "pin null",
    "an old protocol with an empty log": "empty log",
}


def message_of(run: Path) -> StateError:
    """The error that reading a damaged run ends in; the whole folder is as before, to the inode."""
    before = snapshot(run)
    with pytest.raises(StateError) as caught:
        read(run)
    with pytest.raises(StateError) as again, open_run(str(run.parent), run.name) as folder:
        read_run_unlocked(folder)
    assert str(again.value) == str(caught.value)
    assert snapshot(run) == before
    return caught.value


@pytest.mark.parametrize("what", DAMAGES)
def test_damage_names_its_file_its_field_and_what_to_do(run: Path, what: str) -> None:
    damage, file, field = DAMAGES[what]
    damage(run)
    error = message_of(run)
    assert error.file == str(run / file)
    assert error.field == field
    assert str(error).startswith(error.file)
    assert field is None or field in str(error)
    if what == "a newer protocol":
        assert error.remedy == NEWER
    else:
        assert f"sandbox-pin recover {run.name}" in str(error)
        assert "Nothing was changed" in str(error)


def test_each_damage_has_its_own_words(tmp_path: Path) -> None:
    words: dict[str, str] = {}
    for number, (what, (damage, _, _)) in enumerate(DAMAGES.items()):
        if what in SAME_WORDS:
            continue
        root = tmp_path / str(number)
        root.mkdir()
        run = make_run(root)
        damage(run)
        words[what] = str(message_of(run)).replace(str(run), "")
    assert len(set(words.values())) == len(words), words


def test_a_state_from_before_pins_with_no_log_is_unpinned(run: Path) -> None:
    change(run, protocol=11, sandbox_pin=...)
    (run / "run.jsonl").unlink()
    found = read(run)
    assert (found.in_force, found.entry, found.differs) == (Unpinned(), None, False)
    change(run, sandbox_pin={})
    assert read(run).in_force == Unpinned()


def test_a_state_from_before_pins_whose_log_has_one_is_held_to_the_witness(run: Path) -> None:
    """A state put back from an old copy does not free the run."""
    change(run, protocol=11, sandbox_pin=...)
    found = read(run)
    assert (found.loaded.pin, found.in_force, found.differs) == (Unpinned(), PIN, True)


@pytest.mark.parametrize(("state", "witness"), [(PIN, WEAK), (WEAK, PIN)])
def test_where_the_two_differ_the_stronger_holds_and_it_is_told(
    run: Path, state: SandboxPin, witness: SandboxPin
) -> None:
    """A crash between an accept's log and its save is told too: the operator thinks that it was accepted."""
    change(run, sandbox_pin=json.loads(encode_pin(state)))
    put(run, "run.jsonl", encode_line(first_entry(pin=witness)) + b"\n")
    found = read(run)
    assert (found.loaded.pin, found.witness, found.in_force) == (state, witness, PIN)
    assert found.differs


def test_two_backends_of_a_remote_run_are_disputed(tmp_path: Path) -> None:
    one = PinV2(mode=SandboxMode.REQUIRED, source=PinSource.CREATED, recorded_at=AT, backend="one")
    other = replace(one, backend="other")
    run = make_run(tmp_path, run_state(kind=RunKind.REMOTE), pin=one)
    put(run, "run.jsonl", encode_line(first_entry(pin=other, kind=RunKind.REMOTE)) + b"\n")
    found = read(run)
    assert found.in_force == Disputed(state=one, witness=other)
    assert found.differs


def test_garbage_behind_the_last_entry_is_counted_and_stays(run: Path) -> None:
    with (run / "run.jsonl").open("ab") as file:
        file.write(b"\0\0\0\n\n{\nx")
    before = snapshot(run)
    assert (read(run).passed_over, read(run).in_force) == (3, PIN)
    assert snapshot(run) == before


@pytest.mark.parametrize("what", ["folder", "fifo", "link"])
def test_a_log_that_can_t_be_read_is_told_and_the_state_holds(run: Path, what: str) -> None:
    """A stronger request must still be able to raise the pin."""
    make: dict[str, Callable[[Path], object]] = {
        "folder": Path.mkdir,
        "fifo": os.mkfifo,
        "link": lambda path: path.symlink_to("/dev/null"),
    }
    in_place(run, "run.jsonl", make[what])
    before = snapshot(run)
    found = read(run)
    assert isinstance(found.log_failure, StorageError)
    assert (found.entry, found.in_force) == (None, PIN)
    assert snapshot(run) == before


# Launches


def running(folder: Path, launch: LaunchProcess | None) -> RunReading:
    """The reading of a run whose state says that a launch of it runs."""
    make_run(folder, run_state(status=RunStatus.RUNNING, launch=launch))
    return read(folder / "r")


def test_a_launch_that_lives_keeps_the_run_busy(tmp_path: Path) -> None:
    found = running(tmp_path, identify(os.getpid()))
    assert (found.busy, found.status) == (True, RunStatus.RUNNING)


@pytest.mark.parametrize("what", ["gone", "number used again", "before the boot", "none"])
def test_a_launch_that_was_lost_leaves_the_run_blocked(tmp_path: Path, what: str) -> None:
    """A process of the same number that started at another time is another process."""
    mine = identify(os.getpid())
    assert mine is not None
    launches = {
        "gone": replace(mine, pid=(1 << 22) + 1),
        "number used again": replace(mine, started=mine.started + 1),
        "before the boot": replace(mine, boot="another"),
        "none": None,
    }
    found = running(tmp_path, launches[what])
    assert (found.busy, found.status) == (False, RunStatus.BLOCKED)


# Without the lock


def test_what_only_seems_to_differ_is_looked_at_again(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another command may be between its two writes."""
    after = PinV1(mode=SandboxMode.DISABLED, source=PinSource.ACCEPTED, recorded_at=LATER)
    put(run, "run.jsonl", encode_line(first_entry(pin=after)) + b"\n")
    slept: list[float] = []

    def other_command(seconds: float) -> None:
        slept.append(seconds)
        change(run, sandbox_pin=json.loads(encode_pin(after)))

    monkeypatch.setattr(time, "sleep", other_command)
    with open_run(str(run.parent), "r") as folder:
        found = read_run_unlocked(folder)
        assert (found.in_force, found.differs, len(slept)) == (after, False, 1)
        assert read_run_unlocked(folder) == found
    assert len(slept) == 1


def test_what_only_seems_damaged_is_looked_at_again(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = (run / "run.jsonl").read_bytes()
    put(run, "run.jsonl", b"")
    monkeypatch.setattr(time, "sleep", lambda _: put(run, "run.jsonl", whole))
    with open_run(str(run.parent), "r") as folder:
        assert read_run_unlocked(folder).in_force == PIN
