"""What every command that may launch settles before it decides: placement, the launch's folders, the host."""

import os

from msgspec import Struct

from sandbox_pin.core.gate import GateDecision, RunUnenforced, needs_host, pass_gate
from sandbox_pin.core.modes import RunKind, SandboxMode
from sandbox_pin.core.placement import LaunchTree
from sandbox_pin.core.record import Disputed, SandboxPin, Unpinned, pinned_backend
from sandbox_pin.errors import UsageError
from sandbox_pin.shell.asking import Asked, Requested
from sandbox_pin.shell.bubblewrap import Profile
from sandbox_pin.shell.guard import Guarded, Tell, enforce_placement
from sandbox_pin.shell.host import find_bubblewrap, probe_host
from sandbox_pin.shell.launch import wants_new_session


class Prepared(Struct, frozen=True, kw_only=True):
    """What a launch needs besides its command.

    Attributes:
        profile: where it works, and what it may write.
        sandbox_program: the path of bwrap; ``None`` where there is none.
    """

    profile: Profile
    sandbox_program: str | None

    def pass_gate(self, pin: SandboxPin, kind: RunKind) -> GateDecision:
        """Probes the host, where the mode depends on it, and asks the gate."""
        host = probe_host(self.sandbox_program, self.profile) if needs_host(pin.mode, kind) else None
        return pass_gate(pin.mode, host, kind=kind, backend=pinned_backend(pin))


def prepare(
    requested: Requested,
    asked: Asked,
    *,
    root: str,
    state: str,
    log: str,
    workspace: str,
    held: SandboxPin | Disputed | Unpinned,
    kind: RunKind,
    tell: Tell,
) -> Prepared:
    """Judges the placement of all that decides, before anything is written.

    Args:
        requested: the request, and the file that it was read from.
        asked: the operator's options.
        root: the folder of all runs, which no launch sees.
        state: the path of the run's state.
        log: the path of its log.
        workspace: the folder that it works in.
        held: the pin in force.
        kind: who owns the work.
        tell: told what is only worth a warning.

    Raises:
        PlacementError: a launch could change something that decides about its sandbox.
        UsageError: the workspace, or a writable folder, is none.
        StorageError: what the rule needs to know can't be read.
    """
    sandbox_program = find_bubblewrap()
    guarded = Guarded(
        configuration=requested.configuration,
        state=state,
        log=log,
        sandbox_program=sandbox_program,
        trees=(workspace, *asked.writable),
    )
    trees = enforce_placement(guarded, held=held, request=requested.request, kind=kind, tell=tell)
    for tree in trees:
        # State and log tell these paths, and are UTF-8: found now, before a pin has moved.
        try:
            _ = tree.root.path.encode()
        except UnicodeEncodeError:
            raise UsageError("its real path is not UTF-8", file=tree.root.path) from None
    return Prepared(profile=launch_profile(trees, root), sandbox_program=sandbox_program)


def launch_profile(trees: list[LaunchTree], root: str) -> Profile:
    """The profile of a launch that is given these folders, the workspace first, and never sees ``root``.

    The folders that were judged are those that are bound: their real paths, with no link on the way.
    """
    return Profile(
        workspace=trees[0].root.path,
        writable=tuple(tree.root.path for tree in trees[1:]),
        hidden=(os.path.realpath(root),),
        new_session=wants_new_session(),
    )


def tell_unenforced(gate: GateDecision, tell: Tell) -> None:
    """Says on the terminal that a launch goes on without the sandbox that was preferred."""
    if isinstance(gate, RunUnenforced) and gate.asked is not SandboxMode.DISABLED:
        tell(f"warning: NOT sandboxed: {gate.why}. The mode is {gate.asked}: logical isolation only")
