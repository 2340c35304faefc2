"""Resolves a path by hand, as the kernel would, to learn every folder that has a say in where it leads.

A walk is a snapshot: a moment later something else may be true. But an agent that still runs can't hide by
racing it. It can swap names only in folders that it may write, and each such folder is on record before the
first name is looked up in it.
"""

import errno
import os
import stat
from typing import NamedTuple

from sandbox_pin.core.placement import FileObject, Identity, MountBelow
from sandbox_pin.errors import PlacementError, StorageError, UsageError
from sandbox_pin.shell.mount_reader import CHANGED, MountReader, identity_of
from sandbox_pin.shell.mounts import is_at_or_below

MAX_LINKS = 40
"""How many links the kernel follows for one path (path_resolution(7))."""


class Way(NamedTuple):
    """How a path is resolved: facts of ``core.placement_facts.Item``, with the same meanings."""

    folders: tuple[FileObject, ...]
    end: FileObject | None
    exists: bool


class _Seen(NamedTuple):
    """What stood under a name. ``path`` is free of links, but may differ from the kernel's in case."""

    path: str
    identity: Identity
    is_folder: bool
    link_count: int
    target: str | None


class PathReader:
    """Resolves paths against one reading of the mounts, and looks at each name once.

    Make one for each command and drop it after that: it doesn't look again at what it has seen.

    Args:
        process: the folder of ``/proc`` that tells about this process.

    Raises:
        StorageError: the list of mounts can't be read.
    """

    def __init__(self, process: str = "/proc/self") -> None:
        self._mounts = MountReader(process)
        self._seen: dict[str, _Seen | None] = {}
        self._placed: dict[str, FileObject] = {}
        self._root = _look_at("/")

    def follow(self, path: str) -> Way:
        """Resolve a path, links at its end included; a relative one against the working folder.

        What lies in a folder that this process may not search is not there: it can't be used either.

        Raises:
            UsageError: this can't be a path: it is empty, or holds what no file name can.
            PlacementError: there are more links than the kernel follows, or the kernel comes to something
                else: the path changes, or passes through a link such as ``/proc/1/root``.
            StorageError: the path can't be resolved, the working folder is gone, or a mount is not listed.
        """
        absolute = _absolute(path)
        try:
            # First the kernel's own answer, as that also mounts whatever is mounted on demand.
            answer = _answer(absolute)
            way = self._walk(absolute)
        except OSError as error:
            raise StorageError(error.strerror or str(error), file=path) from error
        except (PlacementError, StorageError) as error:
            raise error.located(file=path) from error
        if answer != (way.end.identity if way.exists and way.end else None):
            raise PlacementError(CHANGED, file=path, remedy="Name it by its real path")
        return way

    def mounts_below(self, folder: FileObject) -> tuple[MountBelow, ...]:
        """The mounts that can be reached from a folder.

        Raises:
            PlacementError: another folder is there by now.
            StorageError: the folder can't be opened, or its mount is not listed.
        """
        try:
            mounts = self._mounts.below(folder.path, folder.identity)
        except OSError as error:
            raise StorageError(error.strerror or str(error), file=folder.path) from error
        return tuple(MountBelow(mount.point, mount.place(mount.point)) for mount in mounts)

    def _walk(self, absolute: str) -> Way:
        names = absolute.split("/")[::-1]
        standing = [self._root]  # the real folders from / to where the walk stands
        looked_in: list[str] = []
        links = 0
        exists = True
        while names and standing[-1].is_folder and exists:
            name = names.pop()
            if name in {"", "."}:
                continue
            if name == "..":
                self._place(standing)
                # Real folders all: the one before is the parent that the kernel goes to. That of / is /.
                del standing[max(1, len(standing) - 1) :]
                continue
            looked_in.append(standing[-1].path)
            found = self._look_up(standing[-1], name)
            if found is None:
                exists = False
            elif found.target is None:
                standing.append(found)
            else:
                links += 1
                if links > MAX_LINKS:
                    raise PlacementError(f"there are more than {MAX_LINKS} links on the way")
                self._place(standing)
                names += found.target.split("/")[::-1]
                if found.target.startswith("/"):
                    del standing[1:]
        self._place(standing)
        return Way(
            folders=tuple(self._placed[folder] for folder in looked_in),
            end=self._placed[standing[-1].path] if exists else None,
            exists=exists and not names,
        )

    def _look_up(self, folder: _Seen, name: str) -> _Seen | None:
        path = f"{folder.path.rstrip('/')}/{name}"
        if path not in self._seen:
            try:
                self._seen[path] = _look_at(path)
            except (FileNotFoundError, PermissionError):
                self._seen[path] = None
        return self._seen[path]

    def _place(self, standing: list[_Seen]) -> None:
        """Find out where these lie, each the parent of the next, with one question to the kernel for all."""
        if standing[-1].path in self._placed:
            return
        path, mount = self._mounts.locate(standing[-1].path, standing[-1].identity)
        for seen in reversed(standing):
            if seen.path in self._placed:
                return  # and so is all above it
            while not is_at_or_below(path, mount.point):
                mount = self._mounts.get(mount.parent)
            self._placed[seen.path] = FileObject(
                path=path,
                identity=seen.identity,
                place=mount.place(path),
                is_folder=seen.is_folder,
                link_count=seen.link_count,
            )
            path = path.rpartition("/")[0] or "/"


def _absolute(path: str) -> str:
    try:
        possible = path and b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        possible = False
    if not possible:
        raise UsageError("this can't be a path", file=path, expected="at least one character, and no NUL")
    if path.startswith("/"):
        return path
    try:
        return f"{os.getcwd()}/{path}"
    except OSError as error:
        raise StorageError("the working folder, from which the path starts, is gone", file=path) from error


def _answer(absolute: str) -> Identity | None:
    """What the kernel comes to; ``None`` for nothing, or where the walk will find out why."""
    try:
        # Not by `pathlib`, which would tidy the path before anything has looked at it.
        return identity_of(os.stat(absolute))
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP}:
            return None
        raise


def _look_at(path: str) -> _Seen:
    found = os.lstat(path)
    return _Seen(
        path=path,
        identity=identity_of(found),
        is_folder=stat.S_ISDIR(found.st_mode),
        link_count=found.st_nlink,
        target=os.readlink(path) if stat.S_ISLNK(found.st_mode) else None,
    )
