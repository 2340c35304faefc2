"""Finds what there is to audit below a folder, one after another, and follows no link on the way.

Folders are opened through their parent's descriptor and read as a stream: nothing is listed whole.
"""

import contextlib
import fnmatch
import os
import re
from collections.abc import Callable, Generator, Iterator
from typing import Final, NamedTuple

from sandbox_pin.errors import UsageError
from sandbox_pin.shell.runs import STATE_NAME, is_run_id

FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW
ANY_FOLDERS: Final = "**"


class Place(NamedTuple):
    """A state file to look at.

    Attributes:
        root: which of the folders that the operator named it lies in.
        way: the path of its folder in that.
        name: its name; empty: that folder itself is to be told, as it can't be entered.
    """

    root: int
    way: str
    name: str


def walk_runs(root: int, descriptor: int) -> Iterator[Place]:
    """The run folders of a run root, in the order in which the file system has them.

    What has no run's name is passed over, as ``list`` does.
    """
    with os.scandir(descriptor) as entries:
        for entry in entries:
            if is_run_id(entry.name):
                yield Place(root, entry.name, STATE_NAME)


class Glob:
    """A pattern of paths below a folder.

    ``*``, ``?`` and ``[...]`` stand for parts of one name, also of a hidden one; ``**`` for any number of
    folders.

    Args:
        pattern: relative, its names parted by ``/``.

    Raises:
        UsageError: it is empty, absolute, or leads upwards.
    """

    def __init__(self, pattern: str) -> None:
        names = pattern.split("/")
        if any(name in {"", ".", ".."} for name in names):
            raise UsageError(
                f"found {pattern!r}", field="--glob", expected="a relative pattern such as '*/state.json'"
            )
        self._parts = [None if name == ANY_FOLDERS else _matcher(name) for name in names]
        self.begin: frozenset[int] = self._entered({0})

    def follow(self, positions: frozenset[int], name: str) -> frozenset[int]:
        """Where in the pattern one stands behind this name, from any of these positions."""
        behind: set[int] = set()
        for position in positions:
            if position == len(self._parts):
                continue
            part = self._parts[position]
            if part is None:
                behind.add(position)
            elif part.fullmatch(name):
                behind.add(position + 1)
        return self._entered(behind)

    def is_whole(self, positions: frozenset[int]) -> bool:
        """Whether the whole pattern is behind."""
        return len(self._parts) in positions

    def goes_on(self, positions: frozenset[int]) -> bool:
        """Whether a folder here may hold what matches."""
        return any(position < len(self._parts) for position in positions)

    def names(self, positions: frozenset[int]) -> bool:
        """Whether the pattern names a folder here, rather than passing through any."""
        return any(
            0 < position < len(self._parts) and self._parts[position - 1] is not None
            for position in positions
        )

    def _entered(self, positions: set[int]) -> frozenset[int]:
        """With the positions behind each ``**`` that is reached, as it may stand for no folder at all."""
        for position, part in enumerate(self._parts):
            if part is None and position in positions:
                positions.add(position + 1)
        return frozenset(positions)


def _matcher(name: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(name))


class _Opened(NamedTuple):
    """A folder that is being read, and where in the pattern that is."""

    folder: int
    entries: Iterator[os.DirEntry[str]]
    close: Callable[[], None]
    way: str
    positions: frozenset[int]


def walk_glob(root: int, descriptor: int, pattern: Glob) -> Generator[Place]:
    """The files below a folder that match, links and FIFOs included: whoever looks at them tells those.

    A folder that can't be entered is given as a place without a name; so is a link where the pattern names a
    folder. ``**`` passes links over.
    """
    with contextlib.ExitStack() as stack:
        opened: list[_Opened] = []

        def enter(folder: int, way: str, positions: frozenset[int]) -> None:
            try:
                listed = os.scandir(folder)
            except OSError:
                os.close(folder)
                raise
            opened.append(_Opened(folder, listed, listed.close, way, positions))

        def leave() -> None:
            left = opened.pop()
            left.close()
            os.close(left.folder)

        @stack.callback
        def leave_all() -> None:
            while opened:
                leave()

        enter(os.dup(descriptor), "", pattern.begin)
        while opened:
            folder, entries, _, way, positions = opened[-1]
            entry = next(entries, None)
            if entry is None:
                leave()
                continue
            behind = pattern.follow(positions, entry.name)
            below = f"{way}/{entry.name}" if way else entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            if pattern.is_whole(behind) and not is_folder:
                yield Place(root, way, entry.name)
            elif is_folder and pattern.goes_on(behind):
                try:
                    enter(os.open(entry.name, FOLDER, dir_fd=folder), below, behind)
                except OSError:
                    yield Place(root, below, "")
            elif entry.is_symlink() and pattern.names(behind):
                yield Place(root, below, "")
