"""The placement rule on facts made by hand: no file system is touched."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_pin.core.placement import (
    FileObject,
    Identity,
    Item,
    ItemRole,
    LaunchTree,
    MountBelow,
    Place,
    Reason,
    Violation,
    describe_violation,
    judge_placement,
)

DISK = "8:1"
"""The file system that everything lies in where a test says nothing else, mounted at ``/``."""


def file_object(path: str, *, place: Place | None = None, links: int = 1, folder: bool = True) -> FileObject:
    """An object whose identity follows from its place, as it does in a real file system."""
    place = place or Place(DISK, path)
    identity = Identity(int(place.device.partition(":")[2]), int.from_bytes(place.path.encode()))
    return FileObject(path=path, identity=identity, place=place, is_folder=folder, link_count=links)


def parents(path: str) -> tuple[FileObject, ...]:
    """The folders looked in for a path without links: ``/`` and ``/srv`` for ``/srv/proj``."""
    names = path.split("/")[1:]
    return tuple(file_object("/" + "/".join(names[:count])) for count in range(len(names)))


def item(path: str, *, role: ItemRole = ItemRole.CONFIGURATION, links: int = 1) -> Item:
    """A file that is reached without any link."""
    return Item(role=role, path=path, folders=parents(path), end=file_object(path, links=links, folder=False))


def missing(path: str) -> Item:
    """A file that isn't there yet, in a folder that is."""
    return Item(role=ItemRole.STATE, path=path, folders=parents(path), exists=False)


def module_path(path: str, *, holds: bool = True) -> Item:
    """A folder with code."""
    return Item(role=ItemRole.PACKAGE, path=path, folders=parents(path), end=file_object(path), holds=holds)


def tree(path: str, *mounts: MountBelow) -> LaunchTree:
    """A folder that a launch may write, reached without any link."""
    return LaunchTree(
        path=path, root=file_object(path), folders=parents(path) if path != "/" else (), mounts=mounts
    )


def reasons(*items: Item, trees: list[LaunchTree]) -> list[Reason]:
    return [violation.reason for violation in judge_placement(items, trees)]


@pytest.mark.parametrize(
    ("path", "tree_path", "lies_in_it"),
    [
        ("/srv/proj/sandbox.toml", "/srv/proj", True),
        ("/srv/proj/deep/er/sandbox.toml", "/srv/proj", True),
        ("/srv/proj/sandbox.toml", "/", True),
        ("/srv/proj/sandbox.toml", "/srv/proj/work", False),
        ("/srv/proj-other/sandbox.toml", "/srv/proj", False),
        ("/srv/pro/sandbox.toml", "/srv/proj", False),
        ("/srv/sandbox.toml", "/srv/proj", False),
        ("/sandbox.toml", "/srv", False),
    ],
)
def test_a_file_lies_in_the_folders_above_it_alone(path: str, tree_path: str, *, lies_in_it: bool) -> None:
    expected = [Reason.IN_TREE] if lies_in_it else []
    assert reasons(item(path), trees=[tree(tree_path)]) == expected
    assert reasons(missing(path), trees=[tree(tree_path)]) == expected


def test_a_folder_that_is_the_tree_lies_in_it() -> None:
    assert reasons(module_path("/srv/proj"), trees=[tree("/srv/proj")]) == [Reason.IN_TREE]


def test_every_violation_is_told_in_the_order_asked() -> None:
    items = [item("/srv/proj/a", links=2), item("/etc/b"), item("/srv/proj/work/c", role=ItemRole.RUN_LOG)]
    found = judge_placement(items, [tree("/srv/proj"), tree("/srv/proj/work")])
    assert [(violation.path, violation.tree, violation.reason) for violation in found] == [
        ("/srv/proj/a", None, Reason.HARD_LINKS),
        ("/srv/proj/a", "/srv/proj", Reason.IN_TREE),
        ("/srv/proj/work/c", "/srv/proj", Reason.IN_TREE),
        ("/srv/proj/work/c", "/srv/proj/work", Reason.IN_TREE),
    ]


def test_a_link_in_the_tree_that_leads_to_a_safe_file_can_be_swapped() -> None:
    path = "/srv/proj/links/sandbox.toml"
    through = Item(
        role=ItemRole.CONFIGURATION,
        path=path,
        folders=(*parents(path), *parents("/etc/sandbox.toml")),
        end=file_object("/etc/sandbox.toml", folder=False),
    )
    (violation,) = judge_placement([through], [tree("/srv/proj")])
    assert (violation.reason, violation.where) == (Reason.THROUGH_TREE, "/srv/proj/links")


def test_a_safe_link_into_the_tree_does_not_help() -> None:
    into = Item(
        role=ItemRole.CONFIGURATION,
        path="/etc/sandbox.toml",
        folders=(*parents("/etc/sandbox.toml"), *parents("/srv/proj/x.toml")),
        end=file_object("/srv/proj/x.toml", folder=False),
    )
    (violation,) = judge_placement([into], [tree("/srv/proj")])
    assert (violation.reason, violation.where) == (Reason.IN_TREE, "/srv/proj/x.toml")


def test_only_the_identity_tells_where_the_spelling_differs() -> None:
    # On a file system that ignores case, the kernel may spell one folder in two ways at two times.
    root = file_object("/srv/proj")
    spelled = FileObject(
        path="/srv/PROJ",
        identity=root.identity,
        place=Place(DISK, "/srv/PROJ"),
        is_folder=True,
        link_count=1,
    )
    configuration = Item(
        role=ItemRole.CONFIGURATION, path="/srv/PROJ/x", folders=(file_object("/"), spelled), exists=False
    )
    assert reasons(configuration, trees=[tree("/srv/proj")]) == [Reason.IN_TREE]


def test_a_bind_mount_of_a_part_of_the_tree_is_a_part_of_it() -> None:
    shown = file_object("/mnt/part", place=Place(DISK, "/srv/proj/part"))
    end = file_object("/mnt/part/x", place=Place(DISK, "/srv/proj/part/x"), folder=False)
    configuration = Item(
        role=ItemRole.CONFIGURATION,
        path="/mnt/part/x",
        folders=(file_object("/"), file_object("/mnt"), shown),
        end=end,
    )
    (violation,) = judge_placement([configuration], [tree("/srv/proj")])
    assert (violation.reason, violation.where) == (Reason.BIND_MOUNT, "/mnt/part/x")
    assert reasons(configuration, trees=[tree("/srv/proj-other")]) == []


def test_the_same_path_in_another_file_system_is_another_place() -> None:
    other = Item(
        role=ItemRole.CONFIGURATION,
        path="/mnt/disk/srv/proj/x",
        folders=(file_object("/"), file_object("/mnt/disk/srv/proj", place=Place("8:2", "/srv/proj"))),
        exists=False,
    )
    assert reasons(other, trees=[tree("/srv/proj")]) == []


def test_what_a_mount_below_the_tree_shows_can_be_written_from_there() -> None:
    mount = MountBelow("/srv/proj/conf", Place(DISK, "/etc/conf"))
    (violation,) = judge_placement([item("/etc/conf/x")], [tree("/srv/proj", mount)])
    assert (violation.reason, violation.where) == (Reason.MOUNT_BELOW, "/srv/proj/conf")
    assert reasons(item("/etc/conf-other/x"), item("/etc/x"), trees=[tree("/srv/proj", mount)]) == []


def test_a_root_inside_of_a_mount_that_is_no_path_is_compared_as_it_is() -> None:
    mount = MountBelow("/srv/proj/net", Place("0:4", "net:[4026531833]"))
    assert reasons(item("/etc/x"), trees=[tree("/srv/proj", mount)]) == []


@pytest.mark.parametrize("role", ItemRole)
def test_hard_links_are_refused_where_a_file_is_one_person_s_only(role: ItemRole) -> None:
    found = judge_placement([item("/etc/x", role=role, links=3)], [])
    if role in {ItemRole.CONFIGURATION, ItemRole.STATE, ItemRole.RUN_LOG}:
        assert found == (
            Violation(role=role, path="/etc/x", reason=Reason.HARD_LINKS, where="/etc/x", link_count=3),
        )
    else:
        assert found == ()


def test_an_item_is_there_and_has_one_name_where_nothing_else_is_said() -> None:
    assert item("/etc/x").exists
    (violation,) = judge_placement([item("/srv/proj/x")], [tree("/srv/proj")])
    assert violation.link_count == 1


def test_the_links_of_a_folder_are_not_meant() -> None:
    folder = Item(
        role=ItemRole.STATE, path="/etc", folders=(file_object("/"),), end=file_object("/etc", links=9)
    )
    assert judge_placement([folder], []) == ()


def test_a_tree_in_a_package_rewrites_the_package() -> None:
    package = "/opt/python/site-packages"
    inside = tree(f"{package}/click")
    (violation,) = judge_placement([module_path(package)], [inside])
    assert (violation.reason, violation.where) == (Reason.HOLDS_TREE, package)
    assert reasons(module_path(package, holds=False), trees=[inside]) == []
    assert reasons(module_path(package), trees=[tree(f"{package}-other/click")]) == []
    assert reasons(module_path(package), trees=[tree("/srv/proj")]) == []


def test_a_mount_below_the_tree_may_show_a_part_of_a_package() -> None:
    mount = MountBelow("/srv/proj/click", Place("8:2", "/site-packages/click"))
    package = Item(
        role=ItemRole.PACKAGE,
        path="/opt/site-packages",
        folders=(file_object("/"), file_object("/opt", place=Place("8:2", "/"))),
        end=file_object("/opt/site-packages", place=Place("8:2", "/site-packages")),
        holds=True,
    )
    assert reasons(package, trees=[tree("/srv/proj", mount)]) == [Reason.HOLDS_TREE]


def test_a_package_that_is_not_there_holds_nothing() -> None:
    absent = Item(
        role=ItemRole.PACKAGE, path="/opt/lib/x", folders=parents("/opt/lib/x"), exists=False, holds=True
    )
    assert reasons(absent, trees=[tree("/srv/proj")]) == []


def test_a_tree_that_a_link_in_another_tree_leads_out_of_it_is_refused() -> None:
    led_out = LaunchTree(
        path="/srv/proj/out",
        root=file_object("/home/someone"),
        folders=(*parents("/srv/proj/out"), *parents("/home/someone")),
    )
    (violation,) = judge_placement([], [tree("/srv/proj"), led_out])
    assert violation == Violation(
        role=ItemRole.LAUNCH_TREE,
        path="/srv/proj/out",
        reason=Reason.THROUGH_TREE,
        tree="/srv/proj",
        where="/srv/proj",
    )


def test_trees_may_lie_in_one_another_and_beside_one_another() -> None:
    assert judge_placement([], [tree("/srv/proj"), tree("/srv/proj/out"), tree("/srv/other")]) == ()


@pytest.mark.parametrize("role", ItemRole)
@pytest.mark.parametrize("reason", Reason)
def test_a_message_is_one_line_that_names_item_and_tree_and_ends_in_advice(
    role: ItemRole, reason: Reason
) -> None:
    text = describe_violation(
        Violation(
            role=role,
            path="/etc/x\n\x1b[31m",
            reason=reason,
            tree="/srv/\u202eproj\udcff",
            where="/w",
            link_count=2,
        )
    )
    assert text.isprintable()
    assert "/etc/x\\n\\x1b[31m" in text
    assert ("/srv/\\u202eproj\\udcff" in text) is (reason is not Reason.HARD_LINKS)
    assert "None" not in text
    assert len(text.rpartition(". ")[2]) > 20


def test_the_messages_say_what_to_do() -> None:
    def message(role: ItemRole, reason: Reason = Reason.IN_TREE) -> str:
        return describe_violation(Violation(role=role, path="/p", reason=reason, tree="/t", where="/t"))

    assert message(ItemRole.CONFIGURATION).startswith(
        "configuration file /p lies in /t, which a launch can write"
    )
    assert "pipx or `uv tool install`" in message(ItemRole.INTERPRETER)
    assert "pipx or `uv tool install`" in message(ItemRole.PACKAGE)
    assert "--runs DIR" in message(ItemRole.STATE)
    assert "fresh file" in message(ItemRole.RUN_LOG, Reason.HARD_LINKS)


names = st.sampled_from(["a", "b", "a-b", "ab", "a b"])
paths = st.lists(names, min_size=1, max_size=4).map(lambda found: "/" + "/".join(found))
places = st.builds(Place, st.sampled_from([DISK, "8:2"]), paths)
trees = st.builds(
    lambda path, mounts: tree(path, *mounts),
    paths,
    st.lists(st.builds(MountBelow, paths, places), max_size=2),
)
items = st.builds(item, paths, links=st.integers(1, 2))


@given(st.lists(items, max_size=3), st.lists(trees, max_size=3), trees, items)
def test_more_trees_and_items_never_take_a_violation_away(
    some: list[Item], given_trees: list[LaunchTree], another: LaunchTree, one_more: Item
) -> None:
    found = set(judge_placement(some, given_trees))
    assert found <= set(judge_placement(some, [*given_trees, another]))
    assert found <= set(judge_placement([one_more, *some], given_trees))


@given(paths, paths)
def test_without_links_and_mounts_a_tree_is_its_path_on_the_borders_of_names(path: str, folder: str) -> None:
    inside = [*path.split("/")][: folder.count("/") + 1] == folder.split("/")
    assert bool(judge_placement([item(path)], [tree(folder)])) is inside


@given(paths, places)
def test_without_links_a_mount_below_shows_what_lies_at_its_place(path: str, place: Place) -> None:
    found = judge_placement([item(path)], [tree("/elsewhere", MountBelow("/elsewhere/m", place))])
    assert bool(found) is (place.device == DISK and f"{path}/".startswith(f"{place.path}/"))


@given(st.lists(items, max_size=3), st.lists(trees, max_size=3))
def test_each_item_has_one_violation_a_tree_at_most(some: list[Item], given_trees: list[LaunchTree]) -> None:
    for one in some:
        found = [
            found for found in judge_placement([one], given_trees) if found.reason is not Reason.HARD_LINKS
        ]
        assert len(found) <= len(given_trees)
