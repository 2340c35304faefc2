"""What the placement rule finds, and how that is told to the operator (design: "Placement")."""

from collections.abc import Sequence
from enum import StrEnum
from typing import assert_never

from msgspec import Struct

from sandbox_pin.core.placement_facts import ItemRole
from sandbox_pin.text import shown


class Reason(StrEnum):
    """Why a launch could change an item."""

    IN_TREE = "in_tree"
    """It lies in the tree, or would be made there."""

    THROUGH_TREE = "through_tree"
    """It lies elsewhere, but a name on the way to it is looked up in the tree: a launch can swap it."""

    BIND_MOUNT = "bind_mount"
    """By its path it lies elsewhere, but a mount shows there what is a part of the tree."""

    MOUNT_BELOW = "mount_below"
    """A mount below the tree shows it, so it can be written from there."""

    HOLDS_TREE = "holds_tree"
    """It is a folder that decides with all of its content, and the tree is a part of that."""

    HARD_LINKS = "hard_links"
    """The file has several names, and any other one may lie where a launch can write."""


class Violation(Struct, frozen=True, kw_only=True):
    """One item that a launch could change.

    Attributes:
        role: what the item is to the sandbox.
        path: the item's path, as it was given.
        reason: why a launch could change it.
        tree: the launch tree's path, as it was given; ``None`` for hard links, where none is known.
        where: the folder, file or mount point that makes it so.
        link_count: how many names the file has, where those are the reason; else 1.
    """

    role: ItemRole
    path: str
    reason: Reason
    tree: str | None = None
    where: str
    link_count: int = 1


def describe_violation(violation: Violation) -> str:
    """One line for the operator: which item, why a launch could change it, and what to do about it."""
    return describe_violations([violation])[0]


def describe_violations(violations: Sequence[Violation]) -> list[str]:
    """As ``describe_violation``, for several: those with one remedy share a line, the first few named."""
    found: dict[str, list[str]] = {}
    for violation in violations:
        what = f"{_NAMES[violation.role]} {violation.path} {_why(violation)}"
        found.setdefault(_remedy(violation), []).append(what)
    lines: list[str] = []
    for remedy, whats in found.items():
        left = len(whats) - _NAMED
        more = f"; and {left} more of the kind" if left > 0 else ""
        lines.append(shown(f"{'; '.join(whats[:_NAMED])}{more}. {remedy}"))
    return lines


_NAMED = 2
_NAMES = {
    ItemRole.CONFIGURATION: "configuration file",
    ItemRole.STATE: "run state",
    ItemRole.RUN_LOG: "run log",
    ItemRole.SANDBOX_PROGRAM: "sandbox program",
    ItemRole.INTERPRETER: "Python interpreter",
    ItemRole.PACKAGE: "Python module path",
    ItemRole.LAUNCH_TREE: "writable folder",
}


def _why(violation: Violation) -> str:
    writable = f"{violation.tree}, which a launch can write"
    match violation.reason:
        case Reason.IN_TREE:
            return f"lies in {writable}"
        case Reason.THROUGH_TREE:
            return f"is reached through {violation.where} in {writable}: it can be pointed elsewhere"
        case Reason.BIND_MOUNT:
            return f"is, by a mount, a part of {writable}"
        case Reason.MOUNT_BELOW:
            return f"is what the mount {violation.where} shows below {writable}"
        case Reason.HOLDS_TREE:
            return f"holds {writable}"
        case Reason.HARD_LINKS:
            return (
                f"has {violation.link_count} hard links: "
                "its other names may lie where a launch can write, and each of them rewrites it"
            )
        case _:
            assert_never(violation.reason)


def _remedy(violation: Violation) -> str:
    if violation.reason is Reason.HARD_LINKS:
        return "Copy it to a fresh file, and put that in its place"
    match violation.role:
        case ItemRole.CONFIGURATION:
            return "Keep it, and every link to it, where no launch can write, and name it with --config"
        case ItemRole.STATE | ItemRole.RUN_LOG:
            return "Keep it where no launch can write (--runs DIR), or give launches a smaller folder"
        case ItemRole.SANDBOX_PROGRAM:
            return "Install it where no launch can write, and let PATH find that one first"
        case ItemRole.INTERPRETER | ItemRole.PACKAGE:
            return (
                "Install sandbox-pin where no launch can write, with pipx or `uv tool install`, "
                "and let neither PYTHONPATH nor `python -m` add such a folder"
            )
        case ItemRole.LAUNCH_TREE:
            return "Name the folder that is meant by its real path"
        case _:
            assert_never(violation.role)
