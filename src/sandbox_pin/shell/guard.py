"""Nothing that decides about the sandbox may lie where a launch can write (design: "Placement")."""

import os
from collections.abc import Callable
from typing import Final, TypeAlias

from msgspec import Struct

from sandbox_pin.core.decision import Decision
from sandbox_pin.core.describe import Difference
from sandbox_pin.core.modes import RunKind, Strength, mode_strength
from sandbox_pin.core.placement import (
    ItemRole,
    LaunchTree,
    Violation,
    describe_violations,
    judge_placement,
)
from sandbox_pin.core.record import Disputed, SandboxPin, Unpinned
from sandbox_pin.core.request import SandboxRequest
from sandbox_pin.errors import PlacementError
from sandbox_pin.shell.config import ConfigurationFile
from sandbox_pin.shell.path_walk import PathReader
from sandbox_pin.shell.placement import gather_item, gather_tree, interpreter_and_package

Notice: TypeAlias = str | Decision | Difference
"""What the operator must know; a value where it tells a time, so that a time can be told in the own zone."""

Tell: TypeAlias = Callable[[Notice], None]
"""Tells the operator one thing that matters, at once, on standard error."""

_OF_THE_PROGRAM: Final = {ItemRole.INTERPRETER, ItemRole.PACKAGE, ItemRole.SANDBOX_PROGRAM}


class Guarded(Struct, frozen=True, kw_only=True):
    """What a command judges before it writes anything.

    Attributes:
        configuration: the configuration that was read; ``None`` where none was named.
        state: the state's path.
        log: the run log's path.
        sandbox_program: the path of bwrap, where there is one.
        trees: the paths of the folders that a launch may write, the workspace first.
    """

    configuration: ConfigurationFile | None
    state: str
    log: str
    sandbox_program: str | None
    trees: tuple[str, ...]


def judge(guarded: Guarded) -> tuple[list[LaunchTree], tuple[Violation, ...]]:
    """The launch trees as the file system has them, and all that a launch could change of what decides.

    Raises:
        UsageError: a tree is no folder.
        PlacementError: the configuration is not the file any more that was read.
        StorageError: what the rule needs to know can't be read.
    """
    reader = PathReader()
    items = list(interpreter_and_package(reader=reader))
    if guarded.configuration is not None:
        read = guarded.configuration
        identity = (read.device, read.inode)
        path = read.configuration.file
        items.append(gather_item(ItemRole.CONFIGURATION, path, identity=identity, reader=reader))
    items.append(gather_item(ItemRole.STATE, guarded.state, reader=reader))
    items.append(gather_item(ItemRole.RUN_LOG, guarded.log, reader=reader))
    if guarded.sandbox_program is not None:
        items.append(gather_item(ItemRole.SANDBOX_PROGRAM, guarded.sandbox_program, reader=reader))
    # A message that says `.` helps nobody who reads it elsewhere.
    paths = [os.getcwd() if path == "." else path for path in guarded.trees]
    trees = [gather_tree(path, reader=reader) for path in paths]
    return trees, judge_placement(items, trees)


def grave_violations(
    violations: tuple[Violation, ...],
    *,
    held: SandboxPin | Disputed | Unpinned,
    request: SandboxRequest,
    kind: RunKind,
) -> tuple[Violation, ...]:
    """Those that refuse a command.

    Where the pin in force and the request both give logical isolation only, interpreter, package and sandbox
    program are only warned of: such a launch could rewrite them wherever they lie.
    """
    modes = {request.mode}
    if isinstance(held, Disputed):
        modes.add(held.witness.mode)
    elif not isinstance(held, Unpinned):
        modes.add(held.mode)
    if any(mode_strength(mode, kind) is not Strength.LOGICAL for mode in modes):
        return violations
    return tuple(found for found in violations if found.role not in _OF_THE_PROGRAM)


def enforce_placement(
    guarded: Guarded,
    *,
    held: SandboxPin | Disputed | Unpinned,
    request: SandboxRequest,
    kind: RunKind,
    tell: Tell,
) -> list[LaunchTree]:
    """Refuses a command whose launch could change what decides about its sandbox.

    Returns:
        The launch trees, links resolved: these very folders are what the launch must be given.

    Raises:
        PlacementError: it could; every way is told at once.
        UsageError: a tree is no folder.
        StorageError: what the rule needs to know can't be read.
    """
    trees, violations = judge(guarded)
    grave = grave_violations(violations, held=held, request=request, kind=kind)
    if grave:
        raise PlacementError(". Also: ".join(describe_violations(grave)))
    for line in describe_violations(violations):
        tell(f"warning: {line}")
    return trees
