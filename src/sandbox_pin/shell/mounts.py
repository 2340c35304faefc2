"""The mounts that this process sees, out of ``/proc/self/mountinfo`` (proc(5)).

The kernel hands out a large table in several reads, so a mount made at that very moment may be missed: like
all of placement this is a snapshot.
"""

import os
import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from sandbox_pin.core.placement import Place
from sandbox_pin.errors import StorageError

_LONGEST_NUMBER: Final = 19
"""In digits: what the kernel counts mounts with."""


class Mount(NamedTuple):
    """One mount. Paths hold surrogate escapes where the kernel's bytes are not UTF-8.

    Attributes:
        identifier: the number that ``/proc/self/fdinfo`` calls ``mnt_id``.
        parent: the identifier of the mount that this one hangs in.
        device: the file system, as ``major:minor``.
        root: the path inside the file system that the mount shows.
        point: the path that it is mounted at.
    """

    identifier: int
    parent: int
    device: str
    root: str
    point: str

    def place(self, path: str) -> Place:
        """Where an object of this mount lies in its file system, by its real path at or below the point."""
        below = path if self.point == "/" else path[len(self.point) :]
        return Place(self.device, (self.root.rstrip("/") + below).rstrip("/") or "/")


class MountTable:
    """All the mounts that this process sees."""

    def __init__(self, mounts: Iterable[Mount]) -> None:
        self._by_identifier = {mount.identifier: mount for mount in mounts}

    def get(self, identifier: int) -> Mount | None:
        """The mount of that number, if it is listed."""
        return self._by_identifier.get(identifier)

    def by_path(self, path: str) -> Mount | None:
        """The mount whose point is nearest above a real path; of several there the last, so topmost."""
        found = None
        for mount in self._by_identifier.values():
            if is_at_or_below(path, mount.point) and (not found or len(mount.point) >= len(found.point)):
                found = mount
        return found

    def below(self, top: Mount, path: str) -> list[Mount]:
        """The mounts that can be reached from a folder of a mount, by that folder's real path.

        Only what hangs in that very mount: what a later mount covers can't be reached from the folder, and a
        recursive bind mount doesn't take it along.
        """
        hanging: dict[int, list[Mount]] = {}
        prefix = path.rstrip("/") + "/"
        for mount in self._by_identifier.values():
            if mount.point.startswith(prefix) and mount.point != path:
                hanging.setdefault(mount.parent, []).append(mount)
        found: list[Mount] = []
        parents = [top.identifier]
        while parents:
            children = hanging.pop(parents.pop(), [])
            found += children
            parents += [mount.identifier for mount in children]
        return found


def is_at_or_below(path: str, folder: str) -> bool:
    """Whether a real path is a folder's, or lies in it: whole names are compared."""
    return folder in {"/", path} or path.startswith(folder + "/")


def read_mounts(file: str) -> MountTable:
    """Read the table.

    Raises:
        StorageError: it can't be read, or lists nothing. Without it a bind mount can't be told from an
            ordinary folder, and a guess would be in the agent's favour.
    """
    try:
        with open(file, "rb") as table:
            content = table.read()
    except OSError as error:
        raise StorageError(
            f"the list of mounts can't be read ({error.strerror}), so what a launch can write is not known",
            file=file,
            remedy="Run where /proc is mounted",
        ) from error
    mounts = parse_mounts(content)
    if not mounts:
        raise StorageError("no mount is listed, so what a launch can write is not known", file=file)
    return MountTable(mounts)


def parse_mounts(content: bytes) -> list[Mount]:
    """The mounts in a table's bytes; a line of another shape is passed over.

    A mount on the way to an item that is passed over here is refused later, as one that is not listed.
    """
    mounts: list[Mount] = []
    # By "\n" alone: names may hold whatever else `splitlines` takes for the end of a line.
    for line in os.fsdecode(content).split("\n"):
        match line.split(" ", 5):
            case [identifier, parent, device, root, point, *_] if _are_numbers(identifier, parent):
                mounts.append(
                    Mount(int(identifier), int(parent), device, _unescaped(root), _unescaped(point))
                )
            case _:
                pass
    return mounts


def _are_numbers(*fields: str) -> bool:
    # `int` takes other alphabets' digits, and refuses, with an error of its own, what has thousands of them.
    return all(field.isascii() and field.isdigit() and len(field) <= _LONGEST_NUMBER for field in fields)


def _unescaped(field: str) -> str:
    r"""Undo the kernel's octal escapes, such as ``\040`` for a space."""
    if "\\" not in field:
        return field
    return re.sub(r"\\([0-7]{3})", lambda escape: chr(int(escape[1], 8)), field)
