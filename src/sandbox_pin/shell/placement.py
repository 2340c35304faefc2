"""Gathers the facts that the placement rule judges (design: "Placement", and ``core/placement.py``).

They are a snapshot. Gather them in the command that goes by them, after the configuration was opened and
before anything is written, with one ``PathReader`` for all of them.
"""

import os
import site
import sys

import msgspec

from sandbox_pin.core.placement import Identity, Item, ItemRole, LaunchTree
from sandbox_pin.errors import PlacementError, UsageError
from sandbox_pin.shell.path_walk import PathReader


def gather_item(
    role: ItemRole,
    path: str,
    *,
    identity: tuple[int, int] | None = None,
    holds: bool = False,
    reader: PathReader | None = None,
) -> Item:
    """How the path of something that decides about the sandbox is resolved.

    Args:
        role: what it is to the sandbox.
        path: as the operator or the system names it; it need not exist yet.
        identity: device and inode of the descriptor that its content was read from.
        holds: whether all that lies below it decides as well.
        reader: what the command has seen so far; by default the file system is looked at anew.

    Raises:
        UsageError: this can't be a path.
        PlacementError: the path changes; or another file is there than the one that was read, so what was
            judged would not be what was parsed.
        StorageError: the path, or the list of mounts, can't be read.
    """
    way = (reader or PathReader()).follow(path)
    found = way.end.identity if way.exists and way.end else None
    if identity is not None and found != Identity(*identity):
        raise PlacementError("the file changed while it was read", file=path, remedy="Try again")
    return Item(role=role, path=path, folders=way.folders, end=way.end, exists=way.exists, holds=holds)


def gather_tree(path: str, *, reader: PathReader | None = None) -> LaunchTree:
    """What a launch that is given a folder could write.

    Bind ``root.path``, not ``path``: by then a link on the way may lead elsewhere.

    Args:
        path: the folder, possibly through links.
        reader: as for ``gather_item``.

    Raises:
        UsageError: there is no such folder.
        PlacementError: the path changes.
        StorageError: the path, or the list of mounts, can't be read.
    """
    reader = reader or PathReader()
    # The dot makes the kernel look into the folder, so that one mounted on demand is there to be seen.
    way = reader.follow(path and f"{path}/.")
    if way.end is None or not way.exists:
        raise UsageError(
            "there is no such folder, or it can't be searched" if way.end is None else "this is not a folder",
            file=path,
            expected="a folder for launches to write in",
        )
    return LaunchTree(
        path=path,
        root=way.end,
        folders=way.folders,
        mounts=reader.mounts_below(way.end),
    )


def interpreter_and_package(*, reader: PathReader | None = None) -> tuple[Item, ...]:
    """What runs this very program, and would run the next command: each of it could be made to say anything.

    The interpreter is its program, the environment it belongs to (``pyvenv.cfg`` says where its library is)
    and its standard library. The package is this one, msgspec, and every folder that Python imports from: a
    module planted in any of them is imported in another's place. Among them are folders that don't exist
    but are on the path, and the user's own, on the path as soon as somebody makes it.

    Args:
        reader: as for ``gather_item``.

    Raises:
        UsageError: an entry of Python's path can't be a path.
        PlacementError: a path changes.
        StorageError: a path, the working folder, or the list of mounts can't be read.
    """
    reader = reader or PathReader()
    standard_library = _folder_of(os.__file__)
    found = [
        gather_item(ItemRole.INTERPRETER, sys.executable or "/proc/self/exe", reader=reader),
        gather_item(ItemRole.INTERPRETER, sys.prefix, reader=reader),
        gather_item(ItemRole.INTERPRETER, standard_library, holds=True, reader=reader),
    ]
    # What lies below a folder that is only searched does not decide: a workspace may well lie below it.
    holding = dict.fromkeys([os.path.dirname(os.path.dirname(__file__)), _folder_of(msgspec.__file__)], True)
    searched = [entry or "." for entry in map(os.fsdecode, sys.path)]
    if sys.pycache_prefix:
        searched.append(sys.pycache_prefix)
    if site.ENABLE_USER_SITE:
        searched.append(site.getusersitepackages())
    for entry in searched:
        if entry not in holding and entry != standard_library:
            holding[entry] = entry.endswith(("/site-packages", "/dist-packages"))
    found += [
        gather_item(ItemRole.PACKAGE, path, holds=holds, reader=reader) for path, holds in holding.items()
    ]
    return tuple(found)


def _folder_of(file: str) -> str:
    return os.path.dirname(file)
