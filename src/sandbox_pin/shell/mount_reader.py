"""Asks the kernel which mount an object lies in (proc(5), ``fdinfo``), exactly rather than by path."""

import os

from sandbox_pin.core.placement import Identity
from sandbox_pin.errors import PlacementError, StorageError
from sandbox_pin.shell.mounts import Mount, read_mounts

CHANGED = "the path changed while it was resolved, or passes through a link of /proc that is not what it says"


class MountReader:
    """One reading of the mounts that this process sees.

    Args:
        process: the folder of ``/proc`` that tells about this process.

    Raises:
        StorageError: the list of mounts can't be read.
    """

    def __init__(self, process: str) -> None:
        self._process = process
        self._table = read_mounts(f"{process}/mountinfo")

    def locate(self, path: str, identity: Identity) -> tuple[str, Mount]:
        """The kernel's spelling of a real path, and the mount that the object lies in.

        The spellings differ where the file system ignores case.

        Raises:
            OSError: the object can't be opened.
            PlacementError: another object is there by now.
            StorageError: the mount is not listed.
        """
        descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if identity_of(os.fstat(descriptor)) != identity:
                raise PlacementError(CHANGED, file=path)
            try:
                spelled = os.readlink(f"{self._process}/fd/{descriptor}")
                identifier = _mount_identifier(f"{self._process}/fdinfo/{descriptor}")
            except (OSError, ValueError):
                # Not every kernel tells, and none tells a process that may not be traced.
                return path, _required(self._table.by_path(path))
            return spelled, self.get(identifier)
        finally:
            os.close(descriptor)

    def get(self, identifier: int) -> Mount:
        """The mount of that number.

        Raises:
            StorageError: it is not listed: what it shows lies outside of the root of this process, as that of
                a chroot's own root does, and where else that is to be seen can't be known.
        """
        mount = self._table.get(identifier)
        if mount is None:
            # Resolving a path may itself have mounted something on demand.
            self._table = read_mounts(f"{self._process}/mountinfo")
            mount = self._table.get(identifier)
        return _required(mount)

    def below(self, path: str, identity: Identity) -> list[Mount]:
        """The mounts that can be reached from the folder with that real path; raises as ``locate`` does."""
        spelled, mount = self.locate(path, identity)
        return self._table.below(mount, spelled)


def identity_of(found: os.stat_result) -> Identity:
    """Which object a stat is about."""
    return Identity(found.st_dev, found.st_ino)


def _required(mount: Mount | None) -> Mount:
    if mount is None:
        raise StorageError(
            "it lies in a mount that is not listed, so it can't be known who else can write there",
            remedy="Run outside of a chroot",
        )
    return mount


def _mount_identifier(file: str) -> int:
    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        told = os.read(descriptor, 4096)
    finally:
        os.close(descriptor)
    for line in told.splitlines():
        field, _, value = line.partition(b":")
        if field == b"mnt_id":
            return int(value)
    raise ValueError(file)
