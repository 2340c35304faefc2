"""What is told of a run log that fails, whole, and where its limits lie to the byte."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace

from sandbox_pin import FromFile, RunKind, SandboxPinError, SandboxRequest
from sandbox_pin.core.event import LaunchStarted, PinAccepted
from sandbox_pin.core.log_end import LogTail
from sandbox_pin.core.log_line import LINE_LIMIT, Damaged, Garbage, decode_line, encode_line
from sandbox_pin.shell.run_log import FileRunLog, refuse_another
from shell.support import ENDED, PIN, first_entry, log_in

BLOCK: Final = 64 * 1024


def message(act: Callable[[], object]) -> str:
    """What is told when this is refused."""
    with pytest.raises(SandboxPinError) as caught:
        _ = act()
    return str(caught.value)


def failing(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Lets a system call fail."""

    def fail(*_: object) -> int:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, name, fail)


def test_another_run_s_log_is_told_with_both_names(tmp_path: Path) -> None:
    with log_in(tmp_path) as log:
        file = tmp_path / "run.jsonl"
        assert message(lambda: refuse_another(ENDED, kind=RunKind.REMOTE, run="r", file=log.shown_as)) == (
            f"{file}: the log's last entry is of a local run; expected entries of a remote run"
        )
        assert message(lambda: refuse_another(ENDED, kind=RunKind.LOCAL, run="s", file=log.shown_as)) == (
            f"{file}: the log's last entry is of the run r; expected entries of the run s"
        )
        refuse_another(ENDED, kind=RunKind.LOCAL, run="r", file=log.shown_as)


@pytest.mark.parametrize("call", ["write", "fsync", "fstat"])
def test_an_append_that_fails_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    with log_in(tmp_path) as log:
        log.append(ENDED)
        with monkeypatch.context() as patched:
            if call == "fstat":
                failing(patched, "pread")
            else:
                failing(patched, call)
            words = message(lambda: log.append(ENDED))
    assert words == f"{tmp_path}/run.jsonl: could not be written: Input/output error"


@pytest.mark.parametrize("read", ["tail", "recent", "last_entry"])
def test_a_read_that_fails_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: str) -> None:
    with log_in(tmp_path) as log:
        log.append(ENDED)
        with monkeypatch.context() as patched:
            failing(patched, "pread")
            words = message(getattr(log, read))
    assert words == f"{tmp_path}/run.jsonl: could not be read: Input/output error"


def accepted(path: str, at: str = "x") -> PinAccepted:
    """A change of the pin by a file."""
    request = SandboxRequest(mode=PIN.mode, mode_from=FromFile(path=path))
    return PinAccepted(
        at=at, run="r", kind=RunKind.LOCAL, pin=PIN, before=None, disputed=None, request=request, operator="o"
    )


def test_the_last_request_is_the_last_change_s_or_the_first_entry_s(tmp_path: Path) -> None:
    """Launches and garbage behind it have none; far back the first line alone is looked at."""
    line = encode_line(ENDED) + b"\n"
    first, change = replace(first_entry(), workspace="/a blank in it"), accepted("one")
    with log_in(tmp_path) as log:
        assert log.last_request() is None
        _ = raw_log(tmp_path, line)
        assert log.last_request() is None
        _ = raw_log(tmp_path, encode_line(first) + b"\n" + line + b"garbage\n")
        assert log.last_request() == first.request
        _ = raw_log(
            tmp_path,
            b"".join(encode_line(entry) + b"\n" for entry in (first, change, accepted("two"), ENDED))
            + b"torn",
        )
        assert log.last_request() == accepted("two").request
        far = encode_line(first) + b"\n" + encode_line(change) + b"\n" + line * (BLOCK // len(line) + 1)
        _ = raw_log(tmp_path, far)
        assert log.last_request() == first.request


def test_a_last_request_that_can_not_be_read_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with log_in(tmp_path) as log:
        log.append(first_entry())
        with monkeypatch.context() as patched:
            failing(patched, "pread")
            assert log.last_request() is None
        (tmp_path / "run.jsonl").unlink()
        (tmp_path / "run.jsonl").mkdir()
        assert log.last_request() is None


def test_a_folder_in_the_log_s_place_is_told(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").mkdir()
    with log_in(tmp_path) as log:
        for act in (lambda: log.append(ENDED), lambda: list(log.lines()), log.tail, log.recent):
            words = message(act)
            assert words.startswith(f"{tmp_path}/run.jsonl: it is a folder")
            assert words.endswith("; expected a regular file")


def test_damage_names_the_file_and_the_field(tmp_path: Path) -> None:
    _ = (tmp_path / "run.jsonl").write_bytes(b'{"event":"nap"}\n')
    right = "an event that this version knows (a newer one needs a newer sandbox-pin)"
    words = f'event: found "nap"; expected {right}'
    with log_in(tmp_path) as log:
        assert message(log.tail) == message(log.find_tail) == f"{tmp_path}/run.jsonl: {words}"
        assert list(log.lines()) == [Damaged(why=words)]
        assert log.recent() == []


def test_one_byte_alone_is_a_torn_line_too(tmp_path: Path) -> None:
    """A new entry does not join it."""
    (tmp_path / "run.jsonl").write_bytes(b"{")
    with log_in(tmp_path) as log:
        log.append(ENDED)
        assert log.tail() == LogTail(entry=ENDED, passed_over=0)
    assert (tmp_path / "run.jsonl").read_bytes() == b"{\n" + encode_line(ENDED) + b"\n"


def test_the_folder_is_flushed_when_the_log_is_new_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[str] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        flushed.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    file, folder = str(tmp_path / "run.jsonl"), str(tmp_path)
    (tmp_path / "run.jsonl").write_bytes(b"x")
    with log_in(tmp_path) as log:
        log.append(ENDED)
        assert flushed == [file]
        (tmp_path / "run.jsonl").unlink()
        log.append(ENDED)
        assert len(flushed) == 3
        assert flushed[-1] == folder


@pytest.mark.parametrize("there", [False, True])
def test_a_folder_that_can_not_be_flushed_is_told_with_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, there: bool
) -> None:
    real = os.fsync

    def fsync(descriptor: int) -> None:
        if Path(f"/proc/self/fd/{descriptor}").readlink() == tmp_path:
            raise OSError(errno.EIO, "Input/output error")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    if there:
        (tmp_path / "run.jsonl").touch()
    with log_in(tmp_path) as log:
        words = message(lambda: log.append(ENDED))
    assert words.startswith(f"{tmp_path}/run.jsonl: the new content is in place, but its folder could not")


def started(size: int) -> LaunchStarted:
    """An entry whose line has so many bytes, its end left out."""
    entry = LaunchStarted(
        at="x",
        run="r",
        kind=RunKind.LOCAL,
        pin=PIN,
        asked=PIN.mode,
        enforced=False,
        backend=None,
        why_not=None,
        program="",
        workspace="",
        writable=(),
    )
    return replace(entry, program="p" * (size - len(encode_line(entry))))


def test_the_longest_line_that_is_read_is_the_longest_that_is_written(tmp_path: Path) -> None:
    """It has as many bytes as the limit; one more is refused, and nothing is written."""
    longest = started(LINE_LIMIT)
    with log_in(tmp_path) as log:
        log.append(first_entry())
        log.append(longest)
        assert log.tail() == LogTail(entry=longest, passed_over=0)
        assert list(log.lines()) == [first_entry(), longest]
        size = (tmp_path / "run.jsonl").stat().st_size
        assert message(lambda: log.append(started(LINE_LIMIT + 1))) == (
            "this entry can't be logged: it is over 1048576 bytes"
        )
        assert (tmp_path / "run.jsonl").stat().st_size == size


def raw_log(folder: Path, content: bytes) -> Path:
    """A log with this content."""
    path = folder / "run.jsonl"
    _ = path.write_bytes(content)
    return path


@pytest.mark.parametrize("spare", [-1, 0, 1, 2])
def test_recent_entries_are_those_that_lie_whole_in_the_last_block(tmp_path: Path, spare: int) -> None:
    """What stands before the first line end of the block is no line, as its beginning is not known."""
    line = encode_line(ENDED) + b"\n"
    filling = b" " * (BLOCK - 2 * len(line) + spare - 1) + b"\n"
    _ = raw_log(tmp_path, line + line + filling + line)
    with log_in(tmp_path) as log:
        assert log.recent() == [ENDED] * (2 if spare < 0 else 1)


def test_white_space_between_entries_is_no_line(tmp_path: Path) -> None:
    line = encode_line(ENDED)
    _ = raw_log(tmp_path, b" \n" + line + b"\n\t\r\n\n" + line.replace(b",", b", ") + b"\n \n")
    with log_in(tmp_path) as log:
        assert log.tail() == LogTail(entry=ENDED, passed_over=0)
        assert list(log.lines()) == log.recent() == [ENDED, ENDED]


def test_garbage_is_told_with_what_is_wrong(tmp_path: Path) -> None:
    _ = raw_log(tmp_path, b"x" * (LINE_LIMIT + 5) + b"\n[]\n" + b"y" * (2 * LINE_LIMIT))
    with log_in(tmp_path) as log:
        assert list(log.lines()) == [
            Garbage(why="longer than any entry"),
            Garbage(why="found [], which begins no object"),
            Garbage(why="longer than any entry"),
        ]
        assert log.tail() == LogTail(entry=None, passed_over=3)
        assert log.recent() == []
        assert log.last_entry() is None


def test_a_line_that_ends_with_the_file_may_be_as_long_as_any(tmp_path: Path) -> None:
    """It lacks its end, so that nothing but its own length decides."""
    longest = started(LINE_LIMIT)
    _ = raw_log(tmp_path, encode_line(ENDED) + b"\n" + encode_line(longest))
    with log_in(tmp_path) as log:
        assert list(log.lines()) == [ENDED, longest]
        assert log.tail() == LogTail(entry=longest, passed_over=0)


@pytest.mark.parametrize("line", [b'{"event":', b"nullX", b"X", encode_line(ENDED) + b"\x0b"])
def test_a_line_is_told_as_it_stands_without_its_end(tmp_path: Path, line: bytes) -> None:
    """Nothing but the line end is taken away, by either reader."""
    _ = raw_log(tmp_path, line + b"\n")
    with log_in(tmp_path) as log:
        assert list(log.lines()) == [decode_line(line)]
        assert isinstance(decode_line(line), Garbage)
        assert log.tail() == LogTail(entry=None, passed_over=1)


def test_lines_that_can_not_be_read_are_told_with_the_file() -> None:
    """A process's memory is a regular file that has nothing at its beginning."""
    with log_in(Path("/proc/self"), "mem") as log:
        assert message(lambda: list(log.lines())) == "/proc/self/mem: could not be read: Input/output error"


def test_what_is_appended_meanwhile_is_left_to_the_next_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is asked for behind the end that the file had at the beginning."""
    path = raw_log(tmp_path, encode_line(ENDED) + b"\n" + b"x" * (3 * BLOCK) + b"\n")
    size = path.stat().st_size
    real = os.pread

    def pread(descriptor: int, length: int, start: int) -> bytes:
        assert start + length <= size
        return real(descriptor, length, start)

    monkeypatch.setattr(os, "pread", pread)
    with log_in(tmp_path) as log:
        assert log.tail() == LogTail(entry=ENDED, passed_over=1)
        assert log.recent() == []


def test_the_rest_of_a_line_that_a_block_cuts_is_no_line(tmp_path: Path) -> None:
    """Else whoever may choose a program's name could write the pin of the next command."""
    line = encode_line(ENDED)
    raw = b"x" * 100 + line + b"\n"
    _ = raw_log(tmp_path, raw + b"y" * (BLOCK - len(line) - 2) + b"\n")
    with log_in(tmp_path) as log:
        assert log.tail() == LogTail(entry=None, passed_over=2)
        assert log.recent() == []


def test_an_end_without_any_entry_is_damage_that_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sandbox_pin.shell.run_log._LOOK_BACK", 4 * BLOCK)
    _ = raw_log(tmp_path, encode_line(ENDED) + b"\n" + b"x" * (4 * BLOCK) + b"\n")
    with log_in(tmp_path) as log:
        assert message(log.tail) == f"{tmp_path}/run.jsonl: its last 64 MiB have no whole entry"


def test_a_log_is_named_as_its_caller_says(tmp_path: Path) -> None:
    with log_in(tmp_path, "other") as log:
        assert isinstance(log, FileRunLog)
        assert log.shown_as == f"{tmp_path}/other"
        log.append(ENDED)
    assert (tmp_path / "other").is_file()
