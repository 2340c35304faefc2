"""Opens folders below another, each through the one before, so that no link leads out of the tree."""

import errno
import os
import stat
from collections.abc import Sequence

from sandbox_pin.errors import StateError, StorageError
from sandbox_pin.shell.audit_walk import FOLDER


class Folders:
    """Folders below some roots, of which the last one stays open.

    Args:
        roots: the roots' paths and descriptors.
    """

    def __init__(self, roots: Sequence[tuple[str, int]]) -> None:
        self._roots = roots
        self._last: tuple[int, str] | None = None
        self._folder = -1

    def close(self) -> None:
        """Closes the folder that was entered last."""
        if self._folder >= 0:
            os.close(self._folder)
        self._folder, self._last = -1, None

    def enter(self, root: int, way: str, *, again: bool) -> int:
        """A folder's descriptor, which is good until the next one is entered.

        Args:
            root: which root it lies below.
            way: its path below that; empty: the root itself.
            again: whether to open it even where it is the one that was entered last.

        Raises:
            FileNotFoundError: it is not there.
            StateError: it, or a folder on the way, is a link or no folder.
            StorageError: the system could not open it.
        """
        if not again and self._last == (root, way):
            return self._folder
        self.close()
        shown_as, descriptor = self._roots[root]
        if not way:
            return descriptor
        for name in way.split("/"):
            shown_as = f"{shown_as}/{name}"
            try:
                below = os.open(name, FOLDER, dir_fd=descriptor)
            except FileNotFoundError:
                self.close()
                raise
            except OSError as error:
                problem = _not_entered(error, descriptor, name, shown_as)
                self.close()
                raise problem from None
            self.close()
            self._folder = descriptor = below
        self._last = (root, way)
        return descriptor


def _not_entered(error: OSError, above: int, name: str, shown_as: str) -> StateError | StorageError:
    if error.errno not in {errno.ENOTDIR, errno.ELOOP}:
        return StorageError(f"could not be opened: {error.strerror}", file=shown_as)
    try:
        is_link = stat.S_ISLNK(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode)
    except OSError:
        is_link = False
    found = "it is a link, and not followed" if is_link else "it is no folder"
    return StateError(found, file=shown_as, expected="a folder")
