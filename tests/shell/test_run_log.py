"""The run log on disk: one append, one line, flushed; read from its end, whatever stands there."""

import errno
import os
import re
import shutil
import socket
import tempfile
import tracemalloc
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from core.strategies import AT, entries
from sandbox_pin import RunKind, SandboxMode, StateError
from sandbox_pin.core.event import Entry, LaunchStarted
from sandbox_pin.core.exact_json import is_whole_object
from sandbox_pin.core.log_end import LogTail
from sandbox_pin.core.log_line import LINE_LIMIT, Damaged, Garbage, encode_line
from sandbox_pin.errors import StorageError, UncertainStorageError
from sandbox_pin.shell.run_log import FileRunLog, refuse_another
from shell.support import (
    ENDED,
    PIN,
    first_entry,
    log_in,
    mode_of,
    opened,
    run_python,
    snapshot,
    whole_entries,
)

LINE: Final = encode_line(ENDED)
FIRST: Final = first_entry()
STARTED: Final = LaunchStarted(
    at=AT,
    run="r",
    kind=RunKind.LOCAL,
    pin=PIN,
    asked=SandboxMode.REQUIRED,
    enforced=True,
    backend="bubblewrap",
    why_not=None,
    program="true",
    workspace="/work",
    writable=(),
)
UNKNOWN: Final = b'{"event":"launch_dreamt","at":"now"}'


class Step(NamedTuple):
    """What comes to stand in a log: an entry, or else bytes that are none."""

    entry: Entry | None
    raw: bytes


def is_garbage(raw: bytes) -> bool:
    """Whether it is one line that can be no entry, nor damage."""
    return b"\n" not in raw and bool(raw.strip()) and not is_whole_object(raw)


garbage: Final[SearchStrategy[bytes]] = (
    st.binary(min_size=1, max_size=40)
    | st.sampled_from(
        [b"\0" * 100, b"{", b'{"event":', b"[]", b"null", b"\xff\xfe", b"x" * 70_000, b"\0" * 140_000]
    )
    | st.builds(lambda cut: LINE[:cut], st.integers(1, len(LINE) - 1))
).filter(is_garbage)
steps: Final = st.lists(
    st.builds(lambda entry: Step(entry, encode_line(entry)), entries)
    | garbage.map(lambda raw: Step(None, raw))
    | st.just(Step(None, b"")),
    max_size=12,
)


@given(some=steps, ended=st.booleans())
def test_the_last_whole_entry_is_found_whatever_stands_around_it(some: list[Step], *, ended: bool) -> None:
    """Empty lines are nothing; garbage is passed over and counted; all lines are told in order."""
    raw = b"\n".join(step.raw for step in some) + (b"\n" if ended else b"")
    told = [step for step in some if step.raw]
    behind = 0
    for step in reversed(told):
        if step.entry is not None:
            break
        behind += 1
    with tempfile.TemporaryDirectory() as folder, log_in(Path(folder)) as log:
        path = Path(folder, "run.jsonl")
        path.write_bytes(raw)
        last = next((step.entry for step in reversed(told) if step.entry is not None), None)
        assert log.tail() == log.find_tail() == LogTail(entry=last, passed_over=behind)
        assert log.last_entry() == last
        lines = list(log.lines())
        assert [None if isinstance(line, Garbage) else line for line in lines] == [
            step.entry for step in told
        ]
        assert path.read_bytes() == raw


@given(steps, entries)
def test_an_append_stands_alone_and_leaves_the_rest_where_it_is(some: list[Step], entry: Entry) -> None:
    raw = b"\n".join(step.raw for step in some)
    with tempfile.TemporaryDirectory() as folder, log_in(Path(folder)) as log:
        path = Path(folder, "run.jsonl")
        path.write_bytes(raw)
        log.append(entry)
        torn = raw != b"" and not raw.endswith(b"\n")
        assert path.read_bytes() == raw + (b"\n" if torn else b"") + encode_line(entry) + b"\n"
        assert log.tail() == LogTail(entry=entry, passed_over=0)


def test_a_log_that_is_not_there_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with log_in(tmp_path) as log:
            assert log.find_tail() is None
            assert log.last_entry() is None
            assert list(tmp_path.iterdir()) == []
            log.append(FIRST)
            log.append(ENDED)
            assert log.recent() == list(log.lines()) == [FIRST, ENDED]
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "run.jsonl") == 0o600
    assert whole_entries((tmp_path / "run.jsonl").read_bytes()) == [FIRST, ENDED]


def test_an_empty_log_has_no_entry(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").touch()
    with log_in(tmp_path) as log:
        assert log.tail() == LogTail(entry=None, passed_over=0)
        assert list(log.lines()) == log.recent() == []


# Durability

APPEND: Final = """
import sys
from sandbox_pin.core.log_line import decode_line
from sandbox_pin.shell.durable import open_folder
from sandbox_pin.shell.run_log import FileRunLog
FileRunLog(open_folder(sys.argv[1]), "run.jsonl", shown_as="log").append(decode_line(sys.argv[2].encode()))
"""


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace to see the system calls")
@pytest.mark.parametrize("before", [None, b"", LINE + b"\n", LINE[:20]])
def test_an_append_is_one_write_and_then_one_flush(tmp_path: Path, before: bytes | None) -> None:
    """The flush comes after all that was written; a log that is new is flushed into its folder too."""
    folder = tmp_path / "run"
    folder.mkdir()
    log = folder / "run.jsonl"
    if before is not None:
        log.write_bytes(before)
    trace = tmp_path / "trace"
    result = run_python(
        APPEND,
        str(folder),
        LINE.decode(),
        under=(
            "strace",
            "-f",
            "-qq",
            "-y",
            "-o",
            str(trace),
            "-e",
            "trace=write,pwrite64,writev,fsync,fdatasync",
        ),
    )
    assert result.returncode == 0, result.stderr
    calls = re.findall(rf"(\w+)\(\d+<({re.escape(str(folder))}[^>]*)>", trace.read_text())
    # A log that is not there yet is made aside and renamed into place: it is never seen empty.
    written = log if before is not None else folder / ".run.jsonl.new"
    expected = [("write", str(written)), ("fsync", str(written))]
    assert calls == (expected if before else [*expected, ("fsync", str(folder))])


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_an_entry_that_is_not_surely_there_is_told(
    tmp_path: Path, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with log_in(tmp_path) as log:
        log.append(FIRST)
        with monkeypatch.context() as patch:
            patch.setattr(os, call, fail)
            with pytest.raises(StorageError, match="could not be written: No space left on device"):
                log.append(ENDED)
        assert log.last_entry() == (ENDED if call == "fsync" else FIRST)


def test_a_new_log_whose_folder_can_t_be_flushed_is_not_surely_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    def fail_second(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == 2:
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail_second)
    with log_in(tmp_path) as log, pytest.raises(UncertainStorageError):
        log.append(FIRST)


def test_a_write_that_is_cut_short_leaves_a_torn_line_that_the_next_append_closes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full after 30 bytes of the line."""
    real = os.write
    left = 30

    def short(descriptor: int, data: bytes) -> int:
        nonlocal left
        if left == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = real(descriptor, bytes(data)[:left])
        left -= taken
        return taken

    with log_in(tmp_path) as log:
        log.append(FIRST)
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", short)
            with pytest.raises(StorageError):
                log.append(ENDED)
        assert log.tail() == LogTail(entry=FIRST, passed_over=1)
        log.append(ENDED)
        assert log.tail() == LogTail(entry=ENDED, passed_over=0)
        assert [type(line) for line in log.lines()] == [type(FIRST), Garbage, type(ENDED)]


# Damage


@pytest.mark.parametrize("behind", [b"", b"\n", b"\n\0\0\0", b"\n{\n"])
@pytest.mark.parametrize(
    "line",
    [
        UNKNOWN,
        b"{}",
        LINE.replace(b'"schema":1', b'"schema":9'),
        LINE.replace(b'"local"', b'"Local"'),
        LINE[:-1] + b',"event":"launch_ended"}',
        LINE[:-1] + b',"more":1}',
    ],
)
def test_a_whole_last_line_that_is_no_entry_is_damage(tmp_path: Path, line: bytes, behind: bytes) -> None:
    """It is never passed over for an older entry, as the pin that it should carry would be."""
    path = tmp_path / "run.jsonl"
    path.write_bytes(encode_line(FIRST) + b"\n" + line + behind)
    before = snapshot(tmp_path)
    with log_in(tmp_path) as log:
        for ask in (log.tail, log.find_tail, log.last_entry):
            with pytest.raises(StateError) as caught:
                ask()
            assert caught.value.file == str(path)
        assert [type(told) for told in log.lines()][:2] == [type(FIRST), Damaged]
        assert log.recent() == [FIRST]
    assert snapshot(tmp_path) == before


def test_what_is_damaged_before_the_last_entry_is_told_by_all_lines_alone(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_bytes(UNKNOWN + b"\n" + LINE + b"\n")
    with log_in(tmp_path) as log:
        assert log.last_entry() == ENDED
        first, second = log.lines()
        assert isinstance(first, Damaged)
        assert "launch_dreamt" in first.why
        assert second == ENDED


def test_entries_of_another_run_or_kind_are_refused(tmp_path: Path) -> None:
    """A flipped kind would weaken ``preferred``."""
    with log_in(tmp_path) as log:
        refuse_another(ENDED, kind=RunKind.LOCAL, run="r", file=log.shown_as)
        with pytest.raises(StateError, match=r"of a local run; expected entries of a remote run"):
            refuse_another(ENDED, kind=RunKind.REMOTE, run="r", file=log.shown_as)
        with pytest.raises(StateError, match=r"of the run r; expected entries of the run other"):
            refuse_another(ENDED, kind=RunKind.LOCAL, run="other", file=log.shown_as)


# Cost


def bytes_read(log: FileRunLog, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many bytes finding the last entry takes."""
    total = 0
    real = os.pread

    def counted(descriptor: int, length: int, start: int) -> bytes:
        nonlocal total
        data = real(descriptor, length, start)
        total += len(data)
        return data

    with monkeypatch.context() as patch:
        patch.setattr(os, "pread", counted)
        assert log.last_entry() == ENDED
    return total


def test_the_end_of_a_long_log_costs_no_more_than_that_of_a_short_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[int] = []
    for count in (1_000, 40_000):
        (tmp_path / "run.jsonl").write_bytes((LINE + b"\n") * count)
        with log_in(tmp_path) as log:
            found.append(bytes_read(log, monkeypatch))
    assert found == [(8 + 64) * 1024] * 2  # the second block for the last launch, of which it has none


def test_an_end_that_is_all_garbage_costs_64_mib_at_the_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sparse log of any length costs nothing to plant."""
    path = tmp_path / "run.jsonl"
    path.write_bytes(LINE + b"\n")
    with path.open("ab") as file:
        file.truncate(1 << 30)
    total = 0
    real = os.pread

    def counted(descriptor: int, length: int, start: int) -> bytes:
        nonlocal total
        total = max(total, (1 << 30) - start)
        return real(descriptor, length, start)

    monkeypatch.setattr(os, "pread", counted)
    with log_in(tmp_path) as log, pytest.raises(StateError, match="its last 64 MiB have no whole entry"):
        log.tail()
    assert total <= 64 << 20


def test_a_line_longer_than_any_entry_is_garbage_read_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with path.open("wb") as file:
        file.write(LINE + b"\n")
        for _ in range(24):
            file.write(b"x" * LINE_LIMIT)
        file.write(b"\n" + LINE + b"\n")
    tracemalloc.start()
    try:
        with log_in(tmp_path) as log:
            told = list(log.lines())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert told == [ENDED, Garbage(why="longer than any entry"), ENDED]
    assert peak < 8 * LINE_LIMIT


@pytest.mark.parametrize("extra", [-1, 0, 1])
def test_both_readers_take_the_same_lines_for_entries(tmp_path: Path, extra: int) -> None:
    """A line about as long as the limit, its length made up by white space, is one to both or to neither."""
    line = LINE[:-1] + b" " * (LINE_LIMIT - len(LINE) + extra) + b"}"
    (tmp_path / "run.jsonl").write_bytes(encode_line(FIRST) + b"\n" + line + b"\n")
    with log_in(tmp_path) as log:
        last = [told for told in log.lines() if not isinstance(told, Garbage | Damaged)][-1]
        assert log.last_entry() == last


@pytest.mark.parametrize("of", [b"x", b" "])
def test_a_line_longer_than_any_entry_is_garbage_whatever_it_is_of(tmp_path: Path, of: bytes) -> None:
    """By one byte too."""
    (tmp_path / "run.jsonl").write_bytes(of * (LINE_LIMIT + 1) + b"\n" + LINE + b"\n")
    with log_in(tmp_path) as log:
        assert list(log.lines()) == [Garbage(why="longer than any entry"), ENDED]


@pytest.mark.parametrize("looked_at", [8 * 1024, 64 * 1024])
@pytest.mark.parametrize("before", [1, 2, 100])
def test_a_line_that_begins_before_what_is_read_is_none(tmp_path: Path, looked_at: int, before: int) -> None:
    """Though the part of it that is read says what an entry says."""
    entry = encode_line(STARTED)
    raw = b"x" * before + entry + b"\n" * (looked_at - len(entry))
    (tmp_path / "run.jsonl").write_bytes(raw)
    with log_in(tmp_path) as log:
        assert log.tail() == LogTail(entry=None, passed_over=1)
        assert log.recent() == []


# What is no file


def plant(folder: Path, what: str) -> None:
    """Something in the log's place."""
    path = folder / "run.jsonl"
    match what:
        case "link":
            (folder / "real").write_bytes(LINE)
            path.symlink_to("real")
        case "link to nothing":
            path.symlink_to("nothing")
        case "folder":
            path.mkdir()
        case "fifo":
            os.mkfifo(path)
        case _:
            with socket.socket(socket.AF_UNIX) as listener:
                short = folder.parent.parent / f"l{os.getpid()}"
                listener.bind(str(short))
                short.rename(path)


@pytest.mark.parametrize("what", ["link", "link to nothing", "folder", "fifo", "socket"])
def test_a_log_that_is_no_file_is_a_failure_of_storage_at_once(tmp_path: Path, what: str) -> None:
    """Not damage: a stronger request must still be able to raise the pin."""
    plant(tmp_path, what)
    before = snapshot(tmp_path)
    with log_in(tmp_path) as log:
        for ask in (
            log.tail,
            log.last_entry,
            log.recent,
            lambda: list(log.lines()),
            lambda: log.append(ENDED),
        ):
            with pytest.raises(StorageError, match="expected a regular file"):
                ask()
        assert isinstance(log.find_tail(), StorageError)
    assert snapshot(tmp_path) == before


def test_a_device_is_a_failure_of_storage_at_once() -> None:
    with opened(Path("/dev")) as folder:
        log = FileRunLog(folder, "null", shown_as="/dev/null")
        with pytest.raises(StorageError, match="a device"):
            log.append(ENDED)
        with pytest.raises(StorageError, match="a device"):
            log.tail()


def test_a_log_that_can_t_be_read_is_a_failure_of_storage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run.jsonl").write_bytes(LINE)

    def fail(*_: object) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "pread", fail)
    with log_in(tmp_path) as log, pytest.raises(StorageError, match="could not be read: Input/output error"):
        log.tail()
