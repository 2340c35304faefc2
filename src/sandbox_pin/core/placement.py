"""The placement rule: what decides about the sandbox lies where no launch can write.

Design: "Placement". The shell gathers the facts (``shell/placement.py``), this module judges them. A
spelling is never judged: folders are compared by device and inode and, because a bind mount shows one
folder in two places, by where they lie inside their file system. Both are needed. A tree that is itself a
bind mount has the identity of the folder that it shows; what is reached through a bind mount of a *part*
of the tree has only its place in common with it.
"""

from collections.abc import Iterator, Sequence

from sandbox_pin.core.placement_facts import (
    FileObject,
    Identity,
    Item,
    ItemRole,
    LaunchTree,
    MountBelow,
    Place,
)
from sandbox_pin.core.placement_violation import (
    Reason,
    Violation,
    describe_violation,
    describe_violations,
)

__all__ = [
    "FileObject",
    "Identity",
    "Item",
    "ItemRole",
    "LaunchTree",
    "MountBelow",
    "Place",
    "Reason",
    "Violation",
    "describe_violation",
    "describe_violations",
    "judge_placement",
]

_ONE_NAME_ONLY = frozenset({ItemRole.CONFIGURATION, ItemRole.STATE, ItemRole.RUN_LOG})
"""A second name of one of these is refused; programs and packages are hard-linked by ordinary installers."""


def judge_placement(items: Sequence[Item], trees: Sequence[LaunchTree]) -> tuple[Violation, ...]:
    """Every way in which a launch with these trees could change one of these items; empty: all is well.

    An item has at most one violation for each tree, and one for hard links. One more tree, or one more
    item, never takes a violation away. The trees are held against each other as well: one that is reached
    through another, but lies outside of it, may be where an earlier launch has pointed it.

    Args:
        items: what decides about the sandbox, from ``gather_item`` and ``interpreter_and_package``.
        trees: the folders that the launch may write, from ``gather_tree``.
    """
    extents = [_Extent(tree) for tree in trees]
    return (
        *(violation for item in items for violation in _judge_item(item, extents)),
        *(violation for tree in trees for violation in _judge_tree(tree, extents)),
    )


class _Extent:
    """All that can be written from one tree, prepared for many questions."""

    def __init__(self, tree: LaunchTree) -> None:
        self.tree = tree
        # By device and path, as a host may have thousands of mounts: whether something lies at or below one
        # of them is one look-up for each folder above it.
        self._points: dict[str, dict[str, str | None]] = {}
        for mount in tree.mounts:
            self._points.setdefault(mount.place.device, {})[mount.place.path] = mount.point
        self._points.setdefault(tree.root.place.device, {})[tree.root.place.path] = None

    def is_root(self, file: FileObject) -> bool:
        """Whether it is the tree's root itself, as some parent of everything in the tree is."""
        return file.identity == self.tree.root.identity

    def touches(self, file: FileObject) -> bool:
        """Whether it can be written from the tree, as far as it can tell for itself."""
        return self.is_root(file) or self._shown_by(file.place) is not None

    def mount_point(self, file: FileObject) -> str | None:
        """The mount below the tree that shows it, ``None`` where the tree itself does, or neither."""
        path = self._shown_by(file.place)
        return None if path is None else self._points[file.place.device][path]

    def _shown_by(self, place: Place) -> str | None:
        points = self._points.get(place.device)
        return next((path for path in _upwards(place.path) if path in points), None) if points else None

    def lies_in(self, place: Place) -> bool:
        """Whether some of what can be written from the tree lies at or below a place."""
        return any(place.path in _upwards(path) for path in self._points.get(place.device, ()))


def _judge_item(item: Item, extents: Sequence[_Extent]) -> Iterator[Violation]:
    end = item.end
    if end and not end.is_folder and end.link_count > 1 and item.role in _ONE_NAME_ONLY:
        yield Violation(
            role=item.role,
            path=item.path,
            reason=Reason.HARD_LINKS,
            where=end.path,
            link_count=end.link_count,
        )
    for extent in extents:
        found = _held_against(item, extent)
        if found:
            reason, where = found
            yield Violation(role=item.role, path=item.path, reason=reason, tree=extent.tree.path, where=where)


def _held_against(item: Item, extent: _Extent) -> tuple[Reason, str] | None:
    # What is not there yet is judged by the folder in which it would be made, the last one looked in.
    way = item.folders if item.end is None else (*item.folders, item.end)
    touched = [file for file in way if extent.touches(file)]
    if not touched:
        if item.holds and item.end and extent.lies_in(item.end.place):
            return Reason.HOLDS_TREE, item.end.path
        return None
    last = touched[-1]
    if last is not way[-1]:
        return Reason.THROUGH_TREE, last.path
    if any(extent.is_root(file) for file in touched):
        return Reason.IN_TREE, last.path
    point = extent.mount_point(last)
    return (Reason.BIND_MOUNT, last.path) if point is None else (Reason.MOUNT_BELOW, point)


def _judge_tree(tree: LaunchTree, extents: Sequence[_Extent]) -> Iterator[Violation]:
    for extent in extents:
        touched = [folder for folder in tree.folders if extent.touches(folder)]
        if touched and not extent.touches(tree.root):
            yield Violation(
                role=ItemRole.LAUNCH_TREE,
                path=tree.path,
                reason=Reason.THROUGH_TREE,
                tree=extent.tree.path,
                where=touched[-1].path,
            )


def _upwards(path: str) -> Iterator[str]:
    """The path and all above it, by whole names: ``/srv/proj-other`` is not below ``/srv/proj``."""
    yield path
    while path != "/":
        path = path.rpartition("/")[0] or "/"
        yield path
