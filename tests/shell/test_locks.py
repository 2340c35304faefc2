"""One command on a run at a time, between processes and within one."""

import fcntl
import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Final

import pytest

from sandbox_pin.errors import BusyError, StorageError
from sandbox_pin.shell.locks import hold
from shell.support import opened, python_process, read_line, snapshot

HOLDER: Final = """
import subprocess, sys
from sandbox_pin.shell.durable import open_folder
from sandbox_pin.shell.locks import hold
with hold(open_folder(sys.argv[1]), wait=0, shown_as="it"):
    launched = subprocess.Popen(["sleep", "60"], close_fds=False) if sys.argv[2] else None
    print(launched.pid if launched else "held", flush=True)
    sys.stdin.readline()
if launched:
    launched.kill()
"""


def is_free(folder: Path) -> bool:
    """Whether another descriptor could hold it."""
    with opened(folder) as descriptor:
        try:
            with hold(descriptor, wait=0, shown_as="it"):
                return True
        except BusyError:
            return False


def test_two_descriptors_of_one_process_exclude_each_other(tmp_path: Path) -> None:
    with opened(tmp_path) as one, opened(tmp_path) as other:
        with hold(one, wait=0, shown_as="it"):
            with pytest.raises(BusyError, match="busy") as caught, hold(other, wait=0, shown_as="it"):
                pytest.fail("held twice")
            assert caught.value.file == "it"
            assert "--wait" in str(caught.value)
        with hold(other, wait=0, shown_as="it"):
            assert not is_free(tmp_path)
    assert is_free(tmp_path)


def test_processes_exclude_each_other(tmp_path: Path) -> None:
    with python_process(HOLDER, str(tmp_path), "") as holder:
        assert read_line(holder) == "held"
        assert not is_free(tmp_path)
        holder.communicate("\n")
        assert is_free(tmp_path)


def test_a_killed_holder_frees_it_at_once_though_its_launch_lives(tmp_path: Path) -> None:
    """What it launched did not inherit the descriptor, and so does not hold the run."""
    with python_process(HOLDER, str(tmp_path), "launch") as holder:
        launched = int(read_line(holder))
        try:
            assert not is_free(tmp_path)
            holder.kill()
            holder.wait()
            assert is_free(tmp_path)
            assert Path(f"/proc/{launched}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        finally:
            os.kill(launched, signal.SIGKILL)


def test_a_forked_child_with_the_descriptor_does_not_keep_it(tmp_path: Path) -> None:
    """Closing alone would not free it."""
    waits, tells = os.pipe()
    with opened(tmp_path) as descriptor:
        with hold(descriptor, wait=0, shown_as="it"):
            child = os.fork()
            if child == 0:
                os.close(tells)
                os.read(waits, 1)
                os._exit(0)
        assert is_free(tmp_path)
    assert is_free(tmp_path)
    os.close(tells)
    os.close(waits)
    assert os.waitpid(child, 0)[1] == 0


def test_it_is_freed_when_the_command_fails(tmp_path: Path) -> None:
    with (
        opened(tmp_path) as descriptor,
        pytest.raises(ZeroDivisionError),
        hold(descriptor, wait=0, shown_as="it"),
    ):
        raise ZeroDivisionError
    assert is_free(tmp_path)


def test_it_is_waited_for_as_long_as_asked(tmp_path: Path) -> None:
    with opened(tmp_path) as one, opened(tmp_path) as other, hold(one, wait=0, shown_as="it"):
        began = time.monotonic()
        with pytest.raises(BusyError, match=r"0\.2 s"), hold(other, wait=0.2, shown_as="it"):
            pytest.fail("held twice")
        assert 0.2 <= time.monotonic() - began < 5


def test_a_holder_that_ends_meanwhile_is_followed(tmp_path: Path) -> None:
    with opened(tmp_path) as one, opened(tmp_path) as other:
        fcntl.flock(one, fcntl.LOCK_EX)
        timer = threading.Timer(0.1, fcntl.flock, (one, fcntl.LOCK_UN))
        timer.start()
        began = time.monotonic()
        with hold(other, wait=30, shown_as="it"):
            assert time.monotonic() - began < 10
        timer.join()


def test_holding_makes_no_file_and_changes_none(tmp_path: Path) -> None:
    (tmp_path / "state.json").touch()
    before = snapshot(tmp_path)
    with opened(tmp_path) as descriptor, hold(descriptor, wait=0, shown_as="it"):
        assert snapshot(tmp_path) == before
    assert snapshot(tmp_path) == before


def test_a_folder_that_can_t_be_locked_is_the_system_s_fault(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_PATH)
    try:
        with (
            pytest.raises(StorageError, match="could not be locked"),
            hold(descriptor, wait=0, shown_as="it"),
        ):
            pytest.fail("held")
    finally:
        os.close(descriptor)


def test_the_descriptor_is_not_handed_to_programs(tmp_path: Path) -> None:
    with opened(tmp_path) as descriptor:
        assert not os.get_inheritable(descriptor)
        listed = subprocess.run(
            ["ls", "/proc/self/fd"], capture_output=True, text=True, check=True, close_fds=False
        )
        assert str(descriptor) not in listed.stdout.split() or descriptor <= 3
