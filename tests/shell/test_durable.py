"""Durable writes and careful reads, on real files, full disks and planted ones."""

import errno
import os
import re
import shutil
import socket
import stat
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_pin.errors import StateError, StorageError, UncertainStorageError
from sandbox_pin.shell.durable import (
    SIZE_LIMIT,
    flush_folder,
    open_folder,
    open_regular,
    read_from,
    read_regular,
    replace_file,
    write_all,
    write_file,
)
from shell.support import (
    killed_before_call,
    mode_of,
    only_root,
    open_descriptors,
    opened,
    run_python,
    snapshot,
)

OLD: Final = b"old" * 1000
NEW: Final = b"new" * 1000


def replace(folder: Path, data: bytes = NEW, name: str = "state.json") -> None:
    """Replaces a file in a folder."""
    with opened(folder) as descriptor:
        replace_file(descriptor, name, data, shown_as=str(folder / name))


def read(folder: Path, name: str = "state.json") -> bytes:
    """Reads a file in a folder."""
    with opened(folder) as descriptor:
        return read_regular(descriptor, name, shown_as=str(folder / name))


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A file with old content."""
    path = tmp_path / "state.json"
    path.write_bytes(OLD)
    return path


# Writing


@given(st.binary(max_size=5000), st.binary(max_size=5000))
def test_what_is_written_is_what_is_read(
    tmp_path_factory: pytest.TempPathFactory, one: bytes, two: bytes
) -> None:
    folder = tmp_path_factory.mktemp("durable")
    replace(folder, one)
    assert read(folder) == one
    replace(folder, two)
    assert read(folder) == two
    assert [path.name for path in folder.iterdir()] == ["state.json"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o400, 0o000])
def test_the_old_file_s_mode_bits_are_kept_whatever_the_umask(state: Path, mode: int) -> None:
    state.chmod(mode)
    before = os.umask(0o027)
    try:
        replace(state.parent)
    finally:
        os.umask(before)
    assert mode_of(state) == mode


@pytest.mark.parametrize("umask", [0, 0o077])
def test_a_file_that_is_new_is_its_owner_s_alone(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        replace(tmp_path)
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "state.json") == 0o600


@only_root
def test_the_old_file_s_owner_is_kept(state: Path) -> None:
    os.chown(state, 12345, 23456)
    state.chmod(0o6755)
    replace(state.parent)
    found = state.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (12345, 23456, 0o6755)
    assert state.read_bytes() == NEW


def test_a_file_left_by_a_killed_command_is_cleared(state: Path) -> None:
    stale = state.with_name(".state.json.new")
    stale.write_bytes(b"torn")
    stale.chmod(0o666)
    replace(state.parent)
    assert state.read_bytes() == NEW
    assert mode_of(state) == 0o644
    assert not stale.exists()


@pytest.mark.parametrize("what", ["file", "nothing", "folder"])
def test_a_link_planted_for_the_temporary_file_is_not_followed(
    state: Path, tmp_path: Path, what: str
) -> None:
    outside = tmp_path / "outside"
    if what == "file":
        outside.write_bytes(b"precious")
    elif what == "folder":
        outside.mkdir()
    state.with_name(".state.json.new").symlink_to(outside)
    replace(state.parent)
    assert state.read_bytes() == NEW
    assert outside.exists() == (what != "nothing")
    assert what != "file" or outside.read_bytes() == b"precious"


def test_a_file_planted_after_the_clearing_is_not_written_into(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another name of a precious file, or one that somebody has open."""
    outside = tmp_path / "outside"
    outside.write_bytes(b"precious")
    real = os.unlink

    def plant(name: str, *, dir_fd: int) -> None:
        monkeypatch.setattr(os, "unlink", real)
        os.link(outside, name, dst_dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", plant)
    with pytest.raises(StorageError, match="could not be saved: File exists"):
        replace(state.parent)
    assert (outside.read_bytes(), state.read_bytes()) == (b"precious", OLD)


def test_a_link_in_the_file_s_place_is_replaced_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"precious")
    path = tmp_path / "state.json"
    path.symlink_to(outside)
    replace(tmp_path)
    assert outside.read_bytes() == b"precious"
    assert not path.is_symlink()
    assert path.read_bytes() == NEW


@pytest.mark.parametrize("what", ["link", "fifo"])
def test_only_a_file_s_mode_bits_are_taken_over(tmp_path: Path, what: str) -> None:
    """A link's are always 0777: a file that took them over would be everybody's to write."""
    path = tmp_path / "state.json"
    if what == "link":
        path.symlink_to("elsewhere")
    else:
        os.mkfifo(path)
        path.chmod(0o666)
    replace(tmp_path)
    assert mode_of(path) == 0o600


def test_a_folder_in_the_file_s_place_is_an_error_and_stays(tmp_path: Path) -> None:
    (tmp_path / "state.json/inner").mkdir(parents=True)
    with pytest.raises(StorageError, match=re.escape("state.json: could not be saved")):
        replace(tmp_path)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["inner", "state.json"]


@pytest.mark.parametrize("call", ["open", "fchmod", "write", "fsync", "rename"])
def test_a_failure_before_the_rename_changes_nothing(
    state: Path, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    before = snapshot(state)
    with opened(state.parent) as folder, monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        with pytest.raises(StorageError, match=r"state.json: could not be saved: Input/output error"):
            replace_file(folder, "state.json", NEW, shown_as=str(state))
    assert snapshot(state) == before
    assert [path.name for path in state.parent.iterdir()] == ["state.json"]


def test_a_folder_that_can_t_be_flushed_is_an_uncertainty_with_the_new_content_visible(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller must not take it for a write that did not happen."""
    real = os.fsync

    def fail_on_folders(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EIO, "Input/output error")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fail_on_folders)
    with pytest.raises(UncertainStorageError, match="could not be flushed: Input/output error"):
        replace(state.parent)
    assert state.read_bytes() == NEW
    assert [path.name for path in state.parent.iterdir()] == ["state.json"]


def test_at_any_kill_there_is_the_old_or_the_new_file_and_the_next_write_clears_the_rest(state: Path) -> None:
    """Killed before each of its system calls in turn."""
    number = 0
    found: list[bytes] = []
    killed = True
    while killed:
        number += 1
        state.write_bytes(OLD)
        killed = killed_before_call(number, lambda: replace(state.parent))
        found.append(state.read_bytes())
        replace(state.parent, OLD)
        assert [path.name for path in state.parent.iterdir()] == ["state.json"]
    assert set(found) == {OLD, NEW}
    assert found == sorted(found, key=lambda content: content == NEW)
    assert number > 8


FULL: Final = """
import os, sys
from sandbox_pin.errors import StorageError
from sandbox_pin.shell.durable import open_folder, replace_file

folder = open_folder(sys.argv[1])
for size in (64 * 1024, 20 * 1024, 13 * 1024):
    try:
        replace_file(folder, "state.json", b"n" * size, shown_as="state.json")
        print("saved")
    except StorageError as error:
        print(error)
    print(sorted(os.listdir(sys.argv[1])), os.path.getsize(sys.argv[1] + "/state.json"))
"""


@only_root
def test_a_full_disk_leaves_the_old_file_whole(tmp_path: Path) -> None:
    """On a file system of 16 KiB, that takes a part of the write before it fails."""
    result = run_python(
        FULL,
        str(tmp_path),
        under=(
            "unshare",
            "-m",
            "sh",
            "-c",
            'mount -t tmpfs -o size=16k none "$1" && printf old > "$1/state.json" && shift && exec "$@"',
            "x",
            str(tmp_path),
        ),
    )
    failed = ["state.json: could not be saved: No space left on device", "['state.json'] 3"]
    assert result.stdout.splitlines() == [*failed * 3], result.stderr


LIMITED: Final = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
from sandbox_pin.errors import StorageError
from sandbox_pin.shell.durable import open_folder, replace_file
try:
    replace_file(open_folder(sys.argv[1]), "state.json", b"n" * 3000, shown_as="state.json")
except StorageError as error:
    print(error)
"""


def test_a_write_that_is_cut_short_leaves_the_old_file_whole(state: Path) -> None:
    """A limit on file sizes: the first write takes 1000 bytes, the second fails."""
    before = snapshot(state)
    result = run_python(LIMITED, str(state.parent))
    assert result.stdout == "state.json: could not be saved: File too large\n", result.stderr
    assert snapshot(state) == before
    assert [path.name for path in state.parent.iterdir()] == ["state.json"]


def test_every_byte_is_written_however_few_are_taken_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, bytes(data)[:7]))
    with (tmp_path / "file").open("wb") as file:
        write_all(file.fileno(), NEW)
        write_all(file.fileno(), b"")
    assert (tmp_path / "file").read_bytes() == NEW


def test_every_byte_is_read_however_few_are_given_at_once(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.pread
    monkeypatch.setattr(
        os,
        "pread",
        lambda descriptor, length, start: real(descriptor, min(length, 7), start),
    )
    assert read(state.parent) == OLD
    with state.open("rb") as file:
        assert read_from(file.fileno(), 1, most=10) == OLD[1:11]
        assert read_from(file.fileno(), len(OLD), most=10) == b""


def test_a_path_is_written_as_in_its_folder(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state.chmod(0o640)
    monkeypatch.chdir(state.parent)
    write_file("state.json", NEW)
    assert (state.read_bytes(), mode_of(state)) == (NEW, 0o640)
    for path in ("missing/x", "state.json/x"):
        with pytest.raises(StorageError, match="its folder does not exist"):
            write_file(path, NEW)


# Reading


def test_an_absent_file_is_the_one_failure_that_counts_as_absence(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read(tmp_path)
    with pytest.raises(FileNotFoundError):
        open_folder(str(tmp_path / "missing"))


def planted(folder: Path, what: str) -> None:
    """Something in a file's place, as an agent may plant it."""
    path = folder / "state.json"
    match what:
        case "link":
            (folder / "real").write_bytes(OLD)
            path.symlink_to("real")
        case "link to nothing":
            path.symlink_to("nothing")
        case "link to itself":
            path.symlink_to("state.json")
        case "folder":
            path.mkdir()
        case "fifo":
            os.mkfifo(path)
        case "socket":
            with socket.socket(socket.AF_UNIX) as listener:
                # A socket's path may be 108 bytes long.
                short = folder.parent.parent / f"s{os.getpid()}"
                listener.bind(str(short))
                short.rename(path)
        case _:
            with path.open("wb") as file:
                file.truncate(5 * 1024**3)


OTHER: Final = "it is a folder, a FIFO or a device"
PLANTED: Final = [
    ("link", "it is a link"),
    ("link to nothing", "it is a link"),
    ("link to itself", "it is a link"),
    ("folder", OTHER),
    ("fifo", OTHER),
    ("socket", "it is a FIFO, a socket or a device"),
    ("sparse", "over 67108864 bytes"),
]


@pytest.mark.parametrize(("what", "problem"), PLANTED)
def test_what_is_no_small_regular_file_is_refused_at_once(
    tmp_path: Path, what: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing hangs, and nothing of it is read."""

    def read_nothing(*_: object) -> bytes:
        pytest.fail("it was read")

    planted(tmp_path, what)
    before = snapshot(tmp_path)
    monkeypatch.setattr(os, "pread", read_nothing)
    with pytest.raises(StateError) as caught:
        read(tmp_path)
    assert caught.value.problem == problem
    assert caught.value.file == str(tmp_path / "state.json")
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("device", ["null", "zero", "tty"])
def test_a_device_is_refused_unread(device: str) -> None:
    """Without a terminal of its own the process is refused the terminal by the system already."""
    with opened(Path("/dev")) as folder, pytest.raises((StateError, StorageError)):
        read_regular(folder, device, shown_as=f"/dev/{device}")


@only_root
def test_a_device_node_beside_the_state_is_refused_unread(tmp_path: Path) -> None:
    os.mknod(tmp_path / "state.json", 0o600 | stat.S_IFCHR, os.makedev(1, 5))
    with pytest.raises(StateError, match="a device"):
        read(tmp_path)


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_RDWR | os.O_APPEND | os.O_CREAT])
@pytest.mark.parametrize("what", [what for what, _ in PLANTED if what != "sparse"])
def test_opening_for_any_access_refuses_the_same(tmp_path: Path, what: str, flags: int) -> None:
    planted(tmp_path, what)
    before = snapshot(tmp_path)
    with opened(tmp_path) as folder, pytest.raises(StateError):
        open_regular(folder, "state.json", flags, shown_as="state.json")
    assert snapshot(tmp_path) == before


def test_a_folder_opened_for_writing_is_told_as_one(tmp_path: Path) -> None:
    """The system itself refuses that."""
    planted(tmp_path, "folder")
    with opened(tmp_path) as folder, pytest.raises(StateError) as caught:
        open_regular(folder, "state.json", os.O_RDWR, shown_as="state.json")
    assert caught.value.problem == "it is a folder"


@pytest.mark.parametrize("path", ["state.json", "state.json/below"])
def test_a_file_in_a_folder_s_place_is_told(state: Path, path: str) -> None:
    with pytest.raises(StateError) as caught:
        open_folder(str(state.parent / path))
    assert (caught.value.problem, caught.value.expected) == ("its folder is none", "a folder")


TERMINAL: Final = """
import os
from sandbox_pin.errors import StateError
from sandbox_pin.shell.durable import open_folder, read_regular

_, terminal = os.openpty()
folder, name = os.path.split(os.ttyname(terminal))
os.setsid()
try:
    read_regular(open_folder(folder), name, shown_as="state.json")
except StateError as error:
    print(error.problem)
try:
    os.close(os.open("/dev/tty", os.O_RDWR))
    print("a controlling terminal was gained")
except OSError:
    print("none was gained")
"""


def test_a_terminal_in_a_file_s_place_does_not_come_to_control_the_process(tmp_path: Path) -> None:
    """Its other end could interrupt the command then (open(2), "O_NOCTTY")."""
    result = run_python(TERMINAL)
    assert result.stdout.splitlines() == [OTHER, "none was gained"], result.stderr


def test_the_largest_file_is_read_and_one_byte_more_is_not(tmp_path: Path) -> None:
    with (tmp_path / "state.json").open("wb") as file:
        file.truncate(SIZE_LIMIT)
    assert len(read(tmp_path)) == SIZE_LIMIT
    with (tmp_path / "state.json").open("wb") as file:
        file.truncate(SIZE_LIMIT + 1)
    with pytest.raises(StateError, match="over"):
        read(tmp_path)


def test_a_file_that_says_it_is_empty_but_is_not_is_bounded_too() -> None:
    """Files of /proc tell no size."""
    with opened(Path("/proc/self")) as folder:
        assert read_regular(folder, "status", shown_as="status").startswith(b"Name:")


def test_a_failed_read_is_the_system_s_fault(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "pread", fail)
    with pytest.raises(StorageError, match="could not be read: Input/output error"):
        read(state.parent)


def test_what_is_no_folder_is_told(state: Path) -> None:
    with pytest.raises(StateError, match="expected a folder"):
        open_folder(str(state))
    os.mkfifo(state.with_name("fifo"))
    with pytest.raises(StateError, match="expected a folder"):
        open_folder(str(state.with_name("fifo")))


def test_no_descriptor_is_left_open(state: Path) -> None:
    shutil.copy(state, state.with_name("other"))
    os.mkfifo(state.with_name("fifo"))
    before = open_descriptors()
    replace(state.parent)
    read(state.parent)
    for name in ("fifo", "missing"):
        with pytest.raises((StateError, FileNotFoundError)):
            read(state.parent, name)
    assert open_descriptors() == before


def test_a_descriptor_that_can_t_be_flushed_is_told(tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    try:
        with pytest.raises(UncertainStorageError, match="Invalid argument"):
            flush_folder(read_end, shown_as=str(tmp_path))
    finally:
        os.close(read_end)
        os.close(write_end)
