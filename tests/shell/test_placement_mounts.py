"""Placement among mounts: the kernel's list as bytes, then real ones, in namespaces of their own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import sandbox_pin
from sandbox_pin.core.placement import ItemRole, judge_placement
from sandbox_pin.errors import StorageError
from sandbox_pin.shell.mounts import MountTable, parse_mounts
from sandbox_pin.shell.path_walk import PathReader
from sandbox_pin.shell.placement import gather_item, gather_tree

CONFIGURATION = ItemRole.CONFIGURATION


def reasons(path: Path, tree: Path, *, reader: PathReader) -> list[str]:
    """Why a launch with this tree could change the configuration at that path."""
    item = gather_item(CONFIGURATION, str(path), reader=reader)
    found = judge_placement([item], [gather_tree(str(tree), reader=reader)])
    return [violation.reason.value for violation in found]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder for launches, ``proj``, beside a safe one, ``safe``, with a file and a folder in each."""
    for name in ("proj", "safe"):
        (tmp_path / name / "deep").mkdir(parents=True)
        (tmp_path / name / "sandbox.toml").touch()
    return tmp_path


# What the kernel tells about mounts


def test_lines_of_another_shape_are_passed_over_and_escapes_undone() -> None:
    table = (
        b"22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
        b"23 22 8:1 /a\\040b\\134c /m\\011\\012n\\043 rw - ext4 x rw\n"
        b"\n"
        b"garbage\n"
        b"x 22 8:1 / /x rw - ext4 x rw\n"
        b"24 22 0:4 net:[4026531833] /run/netns/\xff\x0c\xc2\x85 rw - nsfs nsfs rw\n"
        b"25 24 8:2 / /short"
    )
    assert [(mount.identifier, mount.root, mount.point) for mount in parse_mounts(table)] == [
        (22, "/", "/"),
        (23, "/a b\\c", "/m\t\nn#"),
        (24, "net:[4026531833]", "/run/netns/\udcff\x0c\x85"),
        (25, "/", "/short"),
    ]


def test_only_what_hangs_in_the_folder_s_own_mount_is_below_it() -> None:
    mounts = parse_mounts(
        b"1 1 8:1 / / rw\n"
        b"2 1 8:1 /etc /srv/proj/hidden rw\n"
        b"3 1 0:9 / /srv/proj rw\n"
        b"5 4 8:3 / /srv/proj/sub/deep rw\n"
        b"4 3 8:2 / /srv/proj/sub rw\n"
        b"6 3 8:2 / /srv/proj rw\n"
        b"7 1 8:2 / /srv/proj-other rw\n"
    )
    table = MountTable(mounts)
    assert [mount.identifier for mount in table.below(mounts[2], "/srv/proj")] == [4, 5]
    assert {mount.identifier for mount in table.below(mounts[0], "/")} == {2, 3, 4, 5, 6, 7}
    assert table.by_path("/srv/proj") == mounts[5]
    assert table.by_path("/srv/proj-others") == mounts[0]


def test_without_the_list_of_mounts_nothing_is_guessed(work: Path) -> None:
    with pytest.raises(StorageError, match="list of mounts can't be read"):
        PathReader(str(work / "nothing"))
    (work / "mountinfo").write_text("garbage\n")
    with pytest.raises(StorageError, match="no mount is listed"):
        PathReader(str(work))


@pytest.mark.parametrize("told", [True, False])
def test_where_the_kernel_does_not_tell_the_mount_the_path_does(work: Path, *, told: bool) -> None:
    (work / "mountinfo").write_text(f"1 0 8:1 / / rw\n2 1 8:1 {work}/safe/deep {work}/proj/deep rw\n")
    if told:
        # A kernel that names descriptors, but leaves the mount out.
        (work / "fdinfo").mkdir()
        for number in range(100):
            (work / f"fdinfo/{number}").write_text("pos:\t0\nflags:\t012400000\n")
        (work / "fd").symlink_to("/proc/self/fd")
    reader = PathReader(str(work))
    assert reasons(work / "proj/deep/x", work / "safe", reader=reader) == ["bind_mount"]
    assert reasons(work / "safe/deep/x", work / "proj", reader=reader) == ["mount_below"]
    assert reasons(work / "safe/sandbox.toml", work / "proj", reader=reader) == []


def test_a_mount_that_is_not_listed_is_refused(work: Path) -> None:
    (work / "mountinfo").write_text("1 0 8:1 / /nowhere rw\n")
    with pytest.raises(StorageError, match="not listed") as raised:
        gather_item(CONFIGURATION, str(work / "x"), reader=PathReader(str(work)))
    assert raised.value.file == str(work / "x")
    (work / "fd").symlink_to("/proc/self/fd")
    (work / "fdinfo").symlink_to("/proc/self/fdinfo")
    with pytest.raises(StorageError, match="not listed"):
        gather_item(CONFIGURATION, str(work / "x"), reader=PathReader(str(work)))


# Real mounts

_JUDGE = """
import json, subprocess, sys
from sandbox_pin.core.placement import ItemRole, judge_placement
from sandbox_pin.shell.path_walk import PathReader
from sandbox_pin.shell.placement import gather_item, gather_tree
early = PathReader()
done = subprocess.run(["sh", "-euc", sys.argv[1]], cwd=sys.argv[2], capture_output=True, text=True)
if done.returncode:
    sys.exit(done.stderr)
answers = []
for path, tree in json.loads(sys.argv[3]):
    for reader in (early, PathReader()):
        item = gather_item(ItemRole.CONFIGURATION, path, reader=reader)
        found = judge_placement([item], [gather_tree(tree, reader=reader)])
    answers.append([violation.reason.value for violation in found])
print(json.dumps(answers))
"""


@pytest.fixture(scope="session")
def own_namespace() -> list[str]:
    """The words that run a command in a mount namespace of its own, where mounting is allowed."""
    command = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]
    probe = subprocess.run([*command, "true"], capture_output=True, text=True, timeout=30, check=False)
    if probe.returncode:
        pytest.skip(f"no mount namespace can be made here: {probe.stderr.strip()}")
    return command


def reasons_after(
    namespace: list[str], mounting: str, work: Path, *questions: tuple[str, str]
) -> list[list[str]]:
    """What is found for each (configuration, tree), with the mounts that a script made in ``work``."""
    asked = [(str(work / path), str(work / tree)) for path, tree in questions]
    done = subprocess.run(
        [*namespace, sys.executable, "-c", _JUDGE, mounting, str(work), json.dumps(asked)],
        env={
            **os.environ,
            "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin",
            "PYTHONPATH": str(Path(sandbox_pin.__file__).parents[1]),
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode:
        if "mount:" in done.stderr or "not found" in done.stderr:
            pytest.skip(f"this mount can't be made here: {done.stderr.strip()}")
        pytest.fail(done.stderr)
    answers: list[list[str]] = json.loads(done.stdout)
    return answers


def test_the_safe_folder_is_a_mount_of_the_tree(own_namespace: list[str], work: Path) -> None:
    assert reasons_after(
        own_namespace,
        "mount --bind proj/deep safe/deep",
        work,
        ("safe/deep/x", "proj"),
        ("safe/deep/x", "proj/deep"),
        ("safe/deep/x", "safe"),
        ("safe/sandbox.toml", "proj"),
        ("proj/deep/x", "safe"),
        ("proj/sandbox.toml", "safe"),
    ) == [["bind_mount"], ["in_tree"], ["in_tree"], [], ["mount_below"], []]


def test_the_tree_is_a_mount_of_the_safe_folder(own_namespace: list[str], work: Path) -> None:
    (work / "safe/deep/x").touch()
    assert reasons_after(
        own_namespace,
        "mount --bind safe proj",
        work,
        ("safe/sandbox.toml", "proj"),
        ("safe/deep/x", "proj"),
        ("safe/deep/x", "proj/deep"),
        ("safe/sandbox.toml", "proj/deep"),
    ) == [["in_tree"], ["in_tree"], ["in_tree"], []]


def test_a_mount_of_a_folder_above(own_namespace: list[str], work: Path) -> None:
    (work / "view").mkdir()
    assert reasons_after(
        own_namespace,
        "mount --bind . view",
        work,
        ("view/proj/sandbox.toml", "proj"),
        ("proj/sandbox.toml", "view/proj"),
        ("view/safe/sandbox.toml", "proj"),
        ("view/proj/deep/x", "proj/deep"),
    ) == [["in_tree"], ["in_tree"], [], ["in_tree"]]


def test_a_single_file_is_a_mount(own_namespace: list[str], work: Path) -> None:
    assert reasons_after(
        own_namespace,
        "mount --bind proj/sandbox.toml safe/sandbox.toml",
        work,
        ("safe/sandbox.toml", "proj"),
        ("proj/sandbox.toml", "safe"),
        ("safe/sandbox.toml", "proj/deep"),
        ("safe/other.toml", "proj"),
    ) == [["bind_mount"], ["mount_below"], [], []]


def test_mounts_in_mounts_below_the_tree(own_namespace: list[str], work: Path) -> None:
    (work / "conf").mkdir()
    assert reasons_after(
        own_namespace,
        "mount -t tmpfs none proj/deep; mkdir proj/deep/er; mount --bind conf proj/deep/er",
        work,
        ("conf/x", "proj"),
        ("conf/x", "proj/deep"),
        ("proj/deep/er/x", "proj"),
        ("safe/sandbox.toml", "proj"),
    ) == [["mount_below"], ["mount_below"], ["in_tree"], []]


def test_a_mount_that_another_one_covers_is_not_below(own_namespace: list[str], work: Path) -> None:
    (work / "conf").mkdir()
    assert reasons_after(
        own_namespace,
        "mount --bind conf proj/deep; mount -t tmpfs none proj; touch proj/x",
        work,
        ("conf/x", "proj"),
        ("proj/x", "proj"),
        ("safe/sandbox.toml", "proj"),
    ) == [[], ["in_tree"], []]


def test_stacked_mounts_show_the_topmost(own_namespace: list[str], work: Path) -> None:
    assert reasons_after(
        own_namespace,
        "mount --bind proj safe; mount -t tmpfs none safe; mkdir safe/deep",
        work,
        ("safe/deep/x", "proj"),
        ("safe/deep/x", "safe"),
    ) == [[], ["in_tree"]]


def test_mount_points_with_odd_names(own_namespace: list[str], work: Path) -> None:
    (work / "a b\\c\n").mkdir()
    assert reasons_after(
        own_namespace,
        "mount --bind proj/deep 'a b\\c\n'",
        work,
        ("a b\\c\n/x", "proj"),
        ("proj/deep/x", "a b\\c\n"),
    ) == [["bind_mount"], ["in_tree"]]


def test_another_file_system_with_the_same_paths(own_namespace: list[str], work: Path) -> None:
    (work / "disk").mkdir()
    inside = f"disk{work}/proj"
    assert reasons_after(
        own_namespace,
        f"mount -t tmpfs none disk; mkdir -p {inside}",
        work,
        (f"{inside}/x", "proj"),
        (f"{inside}/x", inside),
    ) == [[], ["in_tree"]]


def test_a_file_system_that_ignores_case(own_namespace: list[str], work: Path) -> None:
    (work / "disk").mkdir()
    assert reasons_after(
        own_namespace,
        "truncate -s 16M image; mkfs.ext4 -q -O casefold image; mount -o loop image disk; "
        "mkdir disk/Folder; chattr +F disk/Folder; mkdir -p disk/Folder/Proj/Part disk/view; "
        "touch disk/Folder/Proj/x; mount --bind disk/Folder/pROJ/pART disk/view",
        work,
        ("disk/Folder/PROJ/X", "disk/Folder/proj"),
        ("disk/Folder/PROJ/new", "disk/Folder/proj"),
        ("disk/view/new", "disk/Folder/PROj"),
        ("disk/Folder/other", "disk/Folder/proj"),
    ) == [["in_tree"], ["in_tree"], ["bind_mount"], []]


def test_in_a_chroot_nothing_is_guessed(own_namespace: list[str], work: Path) -> None:
    script = (
        "import os, sys\n"
        "from sandbox_pin.errors import StorageError\n"
        "from sandbox_pin.shell.placement import gather_tree\n"
        "os.chroot(sys.argv[1])\n"
        "try: gather_tree('/proj')\n"
        "except StorageError as error: print(error)\n"
    )
    mounting = 'mount --bind /proc "$1/proc"; exec "$2" -c "$3" "$1"'
    (work / "proc").mkdir()
    done = subprocess.run(
        [*own_namespace, "sh", "-euc", mounting, "sh", str(work), sys.executable, script],
        env={
            **os.environ,
            "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin",
            "PYTHONPATH": str(Path(sandbox_pin.__file__).parents[1]),
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode and "mount:" in done.stderr:
        pytest.skip(f"this mount can't be made here: {done.stderr.strip()}")
    assert "not listed" in done.stdout, done.stderr
