"""Which process is which, and which file a command word names."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from sandbox_pin.shell.processes import identify, is_alive
from sandbox_pin.shell.programs import Command, NotFound, find_command, find_program
from shell.support import wait_until

# Processes


def test_this_process_is_itself_and_alive() -> None:
    mine = identify(os.getpid())
    assert mine is not None
    assert mine.pid == os.getpid()
    assert mine == identify(os.getpid())
    assert is_alive(mine)


def test_two_processes_are_told_apart_and_the_same_number_later_is_another() -> None:
    mine = identify(os.getpid())
    assert mine is not None
    assert mine != identify(os.getppid())
    assert not is_alive(replace(mine, started=mine.started - 1))
    assert not is_alive(replace(mine, boot="another boot"))


@pytest.mark.parametrize("pid", [(1 << 22) + 1, -1, 0])
def test_there_is_no_such_process(pid: int) -> None:
    assert identify(pid) is None


def test_a_process_that_has_ended_is_gone_though_nobody_has_reaped_it() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        found = identify(process.pid)
        assert found is not None
        process.send_signal(signal.SIGKILL)
        wait_until(lambda: identify(process.pid) is None)
        assert not is_alive(found)
    assert not is_alive(found)


@pytest.mark.parametrize("name", ["a) S 1 2 3", "(x", "two\nlines", ")))", "Z Z Z"])
def test_no_name_of_a_program_hides_its_start(tmp_path: Path, name: str) -> None:
    """The name stands in the middle of the kernel's line, and may hold any character."""
    program = tmp_path / name
    shutil.copy(shutil.which("sleep") or "", program)
    with subprocess.Popen([program, "60"]) as process:
        wait_until(lambda: name[:15] in Path(f"/proc/{process.pid}/stat").read_text())
        ticks = os.sysconf("SC_CLK_TCK")
        uptime = float(Path("/proc/uptime").read_text().split()[0])
        found = identify(process.pid)
        process.kill()
    assert found is not None
    assert abs(found.started / ticks - uptime) < 60


# Programs


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    """Two folders of programs, ``one`` and ``two``, and a workspace with a program."""
    for folder in ("one", "two", "work"):
        (tmp_path / folder).mkdir()
        program = tmp_path / folder / "tool"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    return tmp_path


def found(words: tuple[str, ...], folders: Path, path: str = "one:two") -> Command | NotFound:
    """The command, looked up in these folders."""
    absolute = ":".join(str(folders / part) if part.isalpha() else part for part in path.split(":"))
    return find_command(words, folder=str(folders / "work"), path=absolute)


def test_a_name_is_the_first_program_of_the_path(folders: Path) -> None:
    assert found(("tool", "-x"), folders) == Command(program=str(folders / "one/tool"), words=("tool", "-x"))
    (folders / "one/tool").chmod(0o644)
    command = found(("tool", "-x", "tool"), folders)
    assert isinstance(command, Command)
    assert command.arguments == [str(folders / "two/tool"), "-x", "tool"]


def test_links_are_not_followed_in_the_name(folders: Path) -> None:
    """A program that looks at its own name (busybox) must find it."""
    (folders / "one/link").symlink_to("tool")
    assert found(("link",), folders) == Command(program=str(folders / "one/link"), words=("link",))


@pytest.mark.parametrize("path", ["", ".", ":", "./one", "..:"])
def test_the_working_folder_is_never_searched(
    folders: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is where an agent writes."""
    monkeypatch.chdir(folders / "one")
    assert isinstance(found(("tool",), folders, path), NotFound)
    assert find_program("tool", path=path) is None


@pytest.mark.parametrize("word", ["./tool", "../work/tool", "../one/../work/./tool"])
def test_a_path_begins_in_the_workspace(folders: Path, word: str) -> None:
    command = found((word,), folders)
    assert isinstance(command, Command)
    assert Path(command.program).samefile(folders / "work/tool")
    assert Path(command.program).is_absolute()


def test_an_absolute_path_is_itself(folders: Path) -> None:
    assert found((sys.executable,), folders) == Command(program=sys.executable, words=(sys.executable,))


@pytest.mark.parametrize(
    "word",
    [
        "missing",
        "",
        "./missing",
        "/",
        "../one",
        "/missing/x",
        "./tool/x",
        "a\0b",
        "./a\0b",
        "./" + "x" * 300,
        "fifo",
    ],
)
def test_what_is_no_program_is_told_by_its_word(folders: Path, word: str) -> None:
    os.mkfifo(folders / "one/fifo")
    (folders / "one/fifo").chmod(0o755)
    (folders / "one/missing").mkdir()
    result = found((word,), folders)
    assert isinstance(result, NotFound)
    assert result.word == word
    assert result.why


def test_a_file_that_may_not_be_run_is_no_program(folders: Path) -> None:
    (folders / "work/tool").chmod(0o644)
    assert isinstance(found(("./tool",), folders), NotFound)
