"""The facts that the placement rule judges, as the shell gathered them (design: "Placement")."""

from enum import StrEnum

from msgspec import Struct


class ItemRole(StrEnum):
    """What a path is to the sandbox: each of these, rewritten, could let an agent out."""

    CONFIGURATION = "configuration"
    STATE = "state"
    RUN_LOG = "run_log"
    SANDBOX_PROGRAM = "sandbox_program"
    INTERPRETER = "interpreter"
    PACKAGE = "package"
    LAUNCH_TREE = "launch_tree"
    """The name of a writable folder: swapped for a link, it would make another folder writable."""


class Identity(Struct, frozen=True):
    """Which object this is, whatever its name: the device and inode that stat(2) gives."""

    device: int
    inode: int


class Place(Struct, frozen=True):
    """Where an object lies inside its file system, wherever that is mounted (proc(5), "mountinfo").

    Attributes:
        device: the file system, as ``major:minor``.
        path: absolute, from that file system's own root.
    """

    device: str
    path: str


class FileObject(Struct, frozen=True, kw_only=True):
    """A file or folder that resolving a path came to.

    Attributes:
        path: its real path, free of links, as the kernel spells it.
        identity: which object it is.
        place: where it lies.
        is_folder: a link count says nothing about a folder.
        link_count: how many names it has.
    """

    path: str
    identity: Identity
    place: Place
    is_folder: bool
    link_count: int


class Item(Struct, frozen=True, kw_only=True):
    """Something that decides about the sandbox, and how its path is resolved.

    Attributes:
        role: what it is to the sandbox.
        path: as it was given.
        folders: every folder in which a name was looked up, in that order, for links on the way too:
            whoever can write one of them can swap the name. All real parents of each are among them.
        end: what the path leads to; ``None`` where nothing is there yet. Where the path goes on below
            a file (a module path into a zip file), that file.
        exists: whether the whole path leads to something.
        holds: the item is a folder, and whatever lies below it decides as well (a package).
    """

    role: ItemRole
    path: str
    folders: tuple[FileObject, ...]
    end: FileObject | None = None
    exists: bool = True
    holds: bool = False


class MountBelow(Struct, frozen=True):
    """A mount that hangs below a launch tree: the path it is mounted at, and the place it shows."""

    point: str
    place: Place


class LaunchTree(Struct, frozen=True, kw_only=True):
    """A folder that a launch may write, with all that is mounted below it: it is bound recursively.

    Attributes:
        path: as it was given.
        root: the folder that the path leads to.
        folders: every folder in which a name was looked up on the way to the root, as in ``Item``.
        mounts: the mounts below the root that can be reached from it.
    """

    path: str
    root: FileObject
    folders: tuple[FileObject, ...] = ()
    mounts: tuple[MountBelow, ...] = ()
