"""Facts about files, made out of any bytes; and the placement rule once more, in its simplest form."""

from collections.abc import Iterator
from typing import Final
from zlib import crc32

from sandbox_pin.core.placement import (
    FileObject,
    Identity,
    Item,
    ItemRole,
    LaunchTree,
    MountBelow,
    Place,
)

# Few names and devices, so that what is drawn often meets.
_NAMES: Final = ("srv", "proj", "proj-other", "a", "\n\u202e")
_DEVICES: Final = ("8:1", "0:42")
_ROLES: Final = tuple(role for role in ItemRole if role is not ItemRole.LAUNCH_TREE)


class _Draw:
    """Small numbers out of bytes; nothing but 0 when they are used up."""

    def __init__(self, data: bytes) -> None:
        self._data: Iterator[int] = iter(data)

    def below(self, end: int) -> int:
        return next(self._data, 0) % end

    def path(self) -> str:
        return "/" + "/".join(_NAMES[self.below(len(_NAMES))] for _ in range(self.below(5)))

    def place(self) -> Place:
        return Place(_DEVICES[self.below(len(_DEVICES))], self.path())

    def file(self, *, folder: bool) -> FileObject:
        place = self.place()
        # Mostly the identity follows from the place, as in a real file system; at times it is another's.
        inode = self.below(40) if self.below(4) == 0 else crc32(f"{place.device} {place.path}".encode())
        return FileObject(
            path=self.path() if self.below(4) == 0 else place.path,
            identity=Identity(self.below(2), inode),
            place=place,
            is_folder=folder,
            link_count=1 + self.below(3),
        )

    def folders(self) -> tuple[FileObject, ...]:
        return tuple(self.file(folder=True) for _ in range(self.below(4)))

    def item(self) -> Item:
        exists = self.below(3) > 0
        return Item(
            role=_ROLES[self.below(len(_ROLES))],
            path=self.path(),
            folders=self.folders(),
            end=self.file(folder=self.below(2) == 0) if exists else None,
            exists=exists,
            holds=self.below(2) == 0,
        )

    def tree(self) -> LaunchTree:
        return LaunchTree(
            path=self.path(),
            root=self.file(folder=True),
            folders=self.folders(),
            mounts=tuple(MountBelow(self.path(), self.place()) for _ in range(self.below(3))),
        )


def facts_in(data: bytes) -> tuple[list[Item], list[LaunchTree]]:
    """Some items and some trees."""
    draw = _Draw(data)
    items = [draw.item() for _ in range(draw.below(4))]
    trees = [draw.tree() for _ in range(draw.below(4))]
    return items, trees


def is_violated(item: Item, tree: LaunchTree) -> bool:
    """Whether a launch with this tree could change the item: by object, or by place."""
    shown = [tree.root.place, *(mount.place for mount in tree.mounts)]
    way = [*item.folders, *([item.end] if item.end else [])]
    on_the_way = any(
        file.identity == tree.root.identity or any(_lies_in(file.place, place) for place in shown)
        for file in way
    )
    inside = item.holds and item.end is not None and any(_lies_in(place, item.end.place) for place in shown)
    return on_the_way or inside


def _lies_in(place: Place, other: Place) -> bool:
    """Whether a place is another, or below it."""
    names, above = place.path.split("/"), other.path.rstrip("/").split("/")
    return place.device == other.device and names[: len(above)] == above
