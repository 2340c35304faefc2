"""Placement on real folders and links. Mounts have a file of their own."""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sandbox_pin
from sandbox_pin.core.placement import ItemRole, Reason, describe_violation, judge_placement
from sandbox_pin.errors import PlacementError, StorageError, UsageError
from sandbox_pin.shell.path_walk import MAX_LINKS, PathReader
from sandbox_pin.shell.placement import gather_item, gather_tree, interpreter_and_package

CONFIGURATION = ItemRole.CONFIGURATION


def reasons(path: Path | str, *trees: Path | str, reader: PathReader | None = None) -> list[str]:
    """Why launches with these trees could change the configuration at that path."""
    reader = reader or PathReader()
    item = gather_item(CONFIGURATION, str(path), reader=reader)
    return [
        violation.reason.value
        for violation in judge_placement([item], [gather_tree(str(tree), reader=reader) for tree in trees])
    ]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder for launches, ``proj``, beside a safe one, ``safe``, with a file in each."""
    for name in ("proj", "safe"):
        (tmp_path / name / "deep").mkdir(parents=True)
        (tmp_path / name / "sandbox.toml").touch()
    return tmp_path


@pytest.fixture(scope="module")
def top() -> Iterator[Path]:
    """A folder straight in the system's folder for temporary files, which everybody may search."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder).resolve()


# Without links


def test_a_file_lies_in_the_trees_above_it(work: Path) -> None:
    assert reasons(work / "proj/sandbox.toml", work / "proj") == ["in_tree"]
    assert reasons(work / "proj/sandbox.toml", work, "/") == ["in_tree", "in_tree"]
    assert reasons(work / "safe/sandbox.toml", work / "proj") == []


def test_a_tree_may_lie_in_the_configuration_s_folder(work: Path) -> None:
    assert reasons(work / "proj/sandbox.toml", work / "proj/deep") == []


def test_a_longer_name_is_another_folder(work: Path) -> None:
    (work / "proj-other").mkdir()
    (work / "proj-other/sandbox.toml").touch()
    assert reasons(work / "proj-other/sandbox.toml", work / "proj") == []
    assert reasons(work / "proj/sandbox.toml", work / "proj-other") == []


@pytest.mark.parametrize("spelling", ["proj/new.toml", "proj/new/folder/x.toml", "proj/new/../x.toml"])
def test_what_is_not_there_yet_is_judged_by_the_folder_it_would_be_made_in(work: Path, spelling: str) -> None:
    assert not gather_item(CONFIGURATION, f"{work}/{spelling}").exists
    assert reasons(f"{work}/{spelling}", work / "proj") == ["in_tree"]
    assert reasons(f"{work}/{spelling}", work / "proj/deep") == []


@pytest.mark.parametrize(
    "spelling",
    [
        "proj//sandbox.toml",
        "./proj/./sandbox.toml",
        "safe/../proj/sandbox.toml",
        "proj/deep/../sandbox.toml",
        "../../../../../../../../../../../..{}/proj/sandbox.toml",
    ],
)
@pytest.mark.parametrize("relative", [True, False])
def test_spellings_do_not_matter(
    work: Path, spelling: str, monkeypatch: pytest.MonkeyPatch, *, relative: bool
) -> None:
    monkeypatch.chdir(work)
    path = spelling.format(work) if relative else f"{work}/{spelling.format(work)}"
    assert gather_item(CONFIGURATION, path).exists
    for tree in ("proj", "proj/", "./proj//", "safe/../proj/.", f"{work}/proj"):
        assert reasons(path, tree) == ["in_tree"]
        assert reasons("safe/sandbox.toml", tree) == []


def test_going_up_out_of_the_tree_is_safe_unless_a_name_was_looked_up_in_it(work: Path) -> None:
    assert reasons(f"{work}/proj/../safe/sandbox.toml", work / "proj") == []
    assert reasons(f"{work}/proj/deep/../../safe/sandbox.toml", work / "proj") == ["through_tree"]


@pytest.mark.parametrize(
    "name", ["with space", "line\nbreak", "\\040", "\u202eright", "\udcff\udc80", "ü", "#\t"]
)
def test_any_name_will_do(work: Path, name: str) -> None:
    folder = work / name
    folder.mkdir()
    (folder / "x").touch()
    (work / "link").symlink_to(folder)
    (violation,) = judge_placement(
        [gather_item(CONFIGURATION, str(work / "link/x"))], [gather_tree(str(folder))]
    )
    assert violation.reason is Reason.IN_TREE
    assert violation.where == str(folder / "x")
    assert describe_violation(violation).isprintable()


def test_a_deep_path_is_walked_and_one_that_is_too_long_is_an_error(work: Path) -> None:
    deep = work / "proj" / "/".join(["d" * 200] * 18)
    deep.mkdir(parents=True)
    assert reasons(deep / "x", work / "proj") == ["in_tree"]
    with pytest.raises(StorageError, match="File name too long"):
        gather_item(CONFIGURATION, f"{deep}/{'x/' * 400}")
    with pytest.raises(StorageError, match="File name too long"):
        gather_item(CONFIGURATION, f"{work}/{'x' * 300}")


@pytest.mark.parametrize("path", ["", "a\0b", "\ud800"])
def test_what_can_be_no_path_is_a_usage_error(path: str) -> None:
    with pytest.raises(UsageError, match="can't be a path"):
        gather_item(CONFIGURATION, path)
    with pytest.raises(UsageError, match="can't be a path"):
        gather_tree(path)


# Links


def test_a_link_in_a_safe_folder_into_the_tree(work: Path) -> None:
    (work / "safe/link.toml").symlink_to("../proj/sandbox.toml")
    assert reasons(work / "safe/link.toml", work / "proj") == ["in_tree"]


def test_a_link_in_the_tree_to_a_safe_file(work: Path) -> None:
    (work / "proj/deep/link.toml").symlink_to(work / "safe/sandbox.toml")
    (violation,) = judge_placement(
        [gather_item(CONFIGURATION, str(work / "proj/deep/link.toml"))], [gather_tree(str(work / "proj"))]
    )
    assert (violation.reason, violation.where) == (Reason.THROUGH_TREE, str(work / "proj/deep"))


def test_a_folder_that_is_a_link(work: Path) -> None:
    (work / "proj/out").symlink_to("../safe")
    (work / "safe/in").symlink_to("../proj/deep")
    assert reasons(work / "proj/out/sandbox.toml", work / "proj") == ["through_tree"]
    assert reasons(work / "safe/in/new.toml", work / "proj") == ["in_tree"]
    assert reasons(work / "proj/out/in/../sandbox.toml", work / "proj") == ["in_tree"]


def test_a_chain_that_only_passes_through_the_tree(work: Path) -> None:
    (work / "safe/one").symlink_to("../proj/two")
    (work / "proj/two").symlink_to(work / "safe/three")
    (work / "safe/three").symlink_to("sandbox.toml")
    assert reasons(work / "safe/one", work / "proj") == ["through_tree"]
    assert reasons(work / "safe/three", work / "proj") == []


def test_a_dangling_link_is_judged_by_where_it_points(work: Path) -> None:
    (work / "safe/link").symlink_to("../proj/not/yet")
    (work / "proj/link").symlink_to("../safe/not-yet")
    assert not gather_item(CONFIGURATION, str(work / "safe/link")).exists
    assert reasons(work / "safe/link", work / "proj") == ["in_tree"]
    assert reasons(work / "proj/link", work / "proj") == ["through_tree"]


def test_a_tree_is_judged_by_where_its_path_leads(work: Path) -> None:
    (work / "link").symlink_to("proj")
    (work / "above").symlink_to(work.parent)
    (work / "proj/to-safe").symlink_to("../safe")
    for tree in ("link", "link/", "link/.", "link/deep/.."):
        assert reasons(work / "proj/sandbox.toml", f"{work}/{tree}") == ["in_tree"]
    assert reasons(work / "safe/sandbox.toml", work / "above") == ["in_tree"]
    assert reasons(work / "safe/sandbox.toml", work / "proj/to-safe") == ["in_tree"]
    assert gather_tree(str(work / "link")).root.path == str(work / "proj")


def test_a_tree_that_was_swapped_for_a_link_in_another_tree_is_told(work: Path) -> None:
    workspace, out = gather_tree(str(work / "proj")), work / "proj/out"
    out.mkdir()
    assert judge_placement([], [workspace, gather_tree(str(out))]) == ()
    out.rmdir()
    out.symlink_to(work / "safe")
    (violation,) = judge_placement([], [workspace, gather_tree(str(out))])
    assert (violation.role, violation.where) == (ItemRole.LAUNCH_TREE, str(work / "proj"))


def test_links_in_a_circle_are_refused(work: Path) -> None:
    (work / "one").symlink_to("two")
    (work / "two").symlink_to("one")
    for call in (
        lambda: gather_item(CONFIGURATION, str(work / "one")),
        lambda: gather_tree(str(work / "two/x")),
    ):
        with pytest.raises(PlacementError, match=f"more than {MAX_LINKS} links"):
            call()


def test_as_many_links_as_the_kernel_follows(work: Path) -> None:
    (work / "link0").symlink_to("safe/sandbox.toml")
    for count in range(1, MAX_LINKS + 1):
        (work / f"link{count}").symlink_to(f"link{count - 1}")
    assert gather_item(CONFIGURATION, str(work / f"link{MAX_LINKS - 1}")).exists
    with pytest.raises(PlacementError, match=f"more than {MAX_LINKS} links"):
        gather_item(CONFIGURATION, str(work / f"link{MAX_LINKS}"))


def test_a_link_of_proc_that_is_more_than_its_text_is_refused(work: Path) -> None:
    read_end, write_end = os.pipe()
    try:
        with pytest.raises(PlacementError, match="a link of /proc"):
            gather_item(CONFIGURATION, f"/proc/self/fd/{read_end}")
    finally:
        os.close(read_end)
        os.close(write_end)


# What a path leads to


def test_hard_links(work: Path) -> None:
    os.link(work / "safe/sandbox.toml", work / "proj/second.toml")
    assert reasons(work / "safe/sandbox.toml", work / "proj") == ["hard_links"]
    assert reasons(work / "proj/second.toml", work / "proj") == ["hard_links", "in_tree"]
    (work / "proj/second.toml").unlink()
    assert reasons(work / "safe/sandbox.toml", work / "proj") == []
    assert reasons(work / "safe", work / "proj") == []


@pytest.mark.parametrize("below", ["", "/", "/.", "/x", "/../x"])
def test_below_a_file_there_is_nothing_but_the_file_counts(work: Path, below: str) -> None:
    item = gather_item(ItemRole.PACKAGE, f"{work}/proj/sandbox.toml{below}")
    assert item.exists is (below == "")
    assert item.end is not None
    assert item.end.path == str(work / "proj/sandbox.toml")


def test_the_file_that_was_read_must_be_the_one_that_is_judged(work: Path) -> None:
    path = work / "safe/sandbox.toml"
    with path.open() as opened:
        found = os.fstat(opened.fileno())
        identity = (found.st_dev, found.st_ino)
        assert gather_item(CONFIGURATION, str(path), identity=identity).exists
        path.rename(work / "safe/old")
        for _ in range(2):
            with pytest.raises(PlacementError, match="changed while it was read"):
                gather_item(CONFIGURATION, str(path), identity=identity)
            path.touch()


def test_a_reader_that_saw_something_else_before_says_so(work: Path) -> None:
    reader, path = PathReader(), work / "safe/sandbox.toml"
    assert reasons(path, reader=reader) == []
    path.rename(work / "safe/old")
    with pytest.raises(PlacementError, match="the path changed"):
        gather_item(CONFIGURATION, str(path), reader=reader)


def test_a_folder_that_was_swapped_is_not_asked_for_its_mounts(work: Path) -> None:
    root = gather_tree(str(work / "proj/deep")).root
    (work / "proj/deep").rename(work / "proj/old")
    with pytest.raises(StorageError, match="No such file"):
        PathReader().mounts_below(root)
    (work / "proj/deep").mkdir()
    with pytest.raises(PlacementError, match="the path changed"):
        PathReader().mounts_below(root)


def test_what_this_process_may_not_search_is_not_there(top: Path) -> None:
    tree = top / "tree"
    closed = tree / "closed"
    closed.mkdir(parents=True)
    for folder in (top, tree):
        folder.chmod(0o755)
    closed.chmod(0)
    # Root may search every folder, so it gives that up meanwhile; the kernel then also hides from the process
    # which mount a descriptor is in.
    user = os.geteuid()
    os.seteuid(user or 65534)
    try:
        item = gather_item(CONFIGURATION, str(closed / "x"))
        with pytest.raises(UsageError, match="can't be searched"):
            gather_tree(str(closed / "x"))
    finally:
        os.seteuid(user)
        closed.chmod(0o700)
    assert (item.exists, item.end) == (False, None)
    (violation,) = judge_placement([item], [gather_tree(str(tree))])
    assert (violation.reason, violation.where) == (Reason.IN_TREE, str(closed))


def test_a_tree_must_be_a_folder_that_is_there(work: Path) -> None:
    (work / "dangling").symlink_to("nothing")
    for name in ("nothing", "nothing/x", "dangling"):
        with pytest.raises(UsageError, match="there is no such folder") as raised:
            gather_tree(str(work / name))
        assert raised.value.file == str(work / name)
    with pytest.raises(UsageError, match="this is not a folder"):
        gather_tree(str(work / "proj/sandbox.toml"))
    (work / "proj/deep").rmdir()
    with pytest.raises(UsageError, match="there is no such folder"):
        gather_tree(str(work / "proj/deep"))


def test_a_working_folder_that_is_gone(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(work / "proj/deep")
    (work / "proj/deep").rmdir()
    with pytest.raises(StorageError, match="working folder"):
        gather_item(CONFIGURATION, "x.toml")


def test_pipes_and_devices_are_only_looked_at(work: Path) -> None:
    os.mkfifo(work / "proj/pipe")
    assert reasons(work / "proj/pipe", work / "proj") == ["in_tree"]
    assert gather_item(CONFIGURATION, "/dev/null").exists


def test_no_descriptor_is_left_open(work: Path) -> None:
    (work / "link").symlink_to("link")
    before = {entry.name for entry in Path("/proc/self/fd").iterdir()}
    with pytest.raises(PlacementError):
        gather_item(CONFIGURATION, str(work / "link"))
    reasons(work / "safe/sandbox.toml", work / "proj")
    interpreter_and_package()
    assert {entry.name for entry in Path("/proc/self/fd").iterdir()} == before


# The interpreter and the package


def test_this_very_program_is_among_the_items() -> None:
    items = interpreter_and_package()
    package = Path(sandbox_pin.__file__).parent
    assert {item.path for item in items if item.role is ItemRole.PACKAGE and item.holds} >= {
        str(package),
        str(Path(msgspec.__file__).parent),
    }
    assert {item.path for item in items if item.role is ItemRole.INTERPRETER} == {
        sys.executable,
        sys.prefix,
        str(Path(os.__file__).parent),
    }
    for tree in (package, package / "core", Path(sys.prefix) / "bin", Path(os.__file__).parent):
        assert judge_placement(items, [gather_tree(str(tree))]), tree


def test_a_tree_below_the_prefix_that_holds_no_code_is_fine(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(work))
    assert judge_placement(interpreter_and_package(), [gather_tree(str(work / "proj"))]) == ()


@pytest.mark.parametrize("entry", ["", "proj", "{}/proj", "{}/proj/x.zip/lib", "{}/proj/not-yet", "link"])
def test_every_place_that_modules_come_from_counts(
    work: Path, entry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(work / "proj" if entry == "" else work)
    (work / "proj/x.zip").touch()
    (work / "link").symlink_to("proj/deep")
    assert judge_placement(interpreter_and_package(), [gather_tree(str(work / "proj"))]) == ()
    monkeypatch.setattr(sys, "path", [*sys.path, entry.format(work)])
    (violation,) = judge_placement(interpreter_and_package(), [gather_tree(str(work / "proj"))])
    assert violation.role is ItemRole.PACKAGE


def test_compiled_modules_and_the_user_s_own_count(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.pycache_prefix", str(work / "proj/cache"))
    monkeypatch.setattr("site.ENABLE_USER_SITE", True)
    monkeypatch.setattr("site.USER_SITE", str(work / "proj/lib/site-packages"))
    found = judge_placement(interpreter_and_package(), [gather_tree(str(work / "proj"))])
    assert [violation.path for violation in found] == [
        str(work / "proj/cache"),
        str(work / "proj/lib/site-packages"),
    ]


def test_an_embedded_interpreter_has_a_program_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "")
    assert interpreter_and_package()[0].exists


# Against an oracle

_FOLDERS = ["tree", "tree/a", "other", "other/b"]
_names = st.sampled_from(["a", "b", "c", "..", "tree", "other", "."])
_targets = st.lists(_names, min_size=1, max_size=4).map("/".join)
_link_paths = st.sampled_from([f"{folder}/{name}" for folder in _FOLDERS for name in "lm"])
_links = st.dictionaries(_link_paths, _targets)
_questions = st.lists(
    st.sampled_from(["a", "b", "c", "l", "m", "..", "tree", "other"]), min_size=1, max_size=5
)


def _changeable(path: str, tree: str) -> bool:
    """Whether one who may write in ``tree`` alone can change what a path leads to, by the definition.

    The path is taken name by name; ``os.path.realpath`` tells where each folder really is.
    """
    folder = "/"
    names = path.split("/")
    for position, name in enumerate(names):
        if name == "..":
            folder = str(Path(folder).parent)
        elif name not in {"", "."}:
            if f"{folder}/".startswith(f"{tree}/"):
                return True
            entry = Path(folder) / name
            if entry.is_symlink():
                rest = "/".join([str(entry.readlink()), *names[position + 1 :]])
                return _changeable(rest if rest.startswith("/") else f"{folder}/{rest}", tree)
            if not entry.is_dir():
                return False
            folder = os.path.realpath(entry)
    return folder == tree


@settings(deadline=None, max_examples=150)
@given(links=_links, question=_questions)
def test_random_links_against_the_definition(links: dict[str, str], question: list[str], top: Path) -> None:
    with tempfile.TemporaryDirectory(dir=top) as name:
        base = Path(name)
        for folder in _FOLDERS:
            (base / folder).mkdir()
        for folder in _FOLDERS:
            (base / folder / "c").touch()
        for link, target in links.items():
            (base / link).symlink_to(target)
        path = f"{base}/{'/'.join(question)}"
        reader = PathReader()
        tree = gather_tree(f"{base}/tree", reader=reader)
        try:
            item = gather_item(CONFIGURATION, path, reader=reader)
        except PlacementError:
            with pytest.raises(OSError, match="Too many levels"):
                Path(path).stat()
            return
        found = judge_placement([item], [tree])
        assert bool(found) is _changeable(path, f"{base}/tree"), (item, found)
        assert item.exists is Path(path).exists()
        if item.exists:
            assert item.end is not None
            assert item.end.path == os.path.realpath(path)
