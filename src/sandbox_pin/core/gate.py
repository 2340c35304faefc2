"""The gate: what the host can enforce against what the mode demands, at each launch (design: "The gate").

The gate never moves a pin: the pin holds configuration, enforcement is asked anew each time.
"""

from typing import TypeAlias

from msgspec import Struct

from sandbox_pin.core.modes import RunKind, SandboxMode, Strength, mode_strength


class Capable(Struct, frozen=True, kw_only=True, tag_field="host", tag="capable"):
    """The host enforced a trial launch with the very arguments of the launch to come.

    Attributes:
        backend: the name of the backend that did.
        program: the path of its program.
    """

    backend: str
    program: str


class Incapable(Struct, frozen=True, kw_only=True, tag_field="host", tag="incapable"):
    """The host can't enforce here and now.

    Attributes:
        missing: what is missing, in the host's or the backend's own words.
        remedy: what the operator can do about it.
    """

    missing: str
    remedy: str


HostCapability: TypeAlias = Capable | Incapable


class Enforce(Struct, frozen=True, kw_only=True, tag_field="gate", tag="enforce"):
    """The launch runs inside the sandbox."""

    asked: SandboxMode
    backend: str
    program: str


class RunUnenforced(Struct, frozen=True, kw_only=True, tag_field="gate", tag="run_unenforced"):
    """The launch runs with logical isolation only.

    Attributes:
        why: why nothing is enforced, for the terminal and the run log.
    """

    asked: SandboxMode
    why: str


class RefuseLaunch(Struct, frozen=True, kw_only=True, tag_field="gate", tag="refuse_launch"):
    """Nothing is launched: the mode never lets a launch run unenforced, and the host can't enforce.

    Attributes:
        missing: what is missing.
        remedy: what the operator can do about it.
    """

    asked: SandboxMode
    missing: str
    remedy: str


GateDecision: TypeAlias = Enforce | RunUnenforced | RefuseLaunch


def needs_host(mode: SandboxMode, kind: RunKind) -> bool:
    """Whether the gate depends on what the host can do, so that it must be probed."""
    return mode_strength(mode, kind) is not Strength.LOGICAL


def pass_gate(
    mode: SandboxMode, host: HostCapability | None, *, kind: RunKind, backend: str | None = None
) -> GateDecision:
    """What becomes of one launch.

    Args:
        mode: the mode that the launch runs under.
        host: what the probe found; ``None``: it was not probed. That is no finding, so that a mode which
            depends on it launches nothing.
        kind: the run's kind.
        backend: the backend that the run is pinned to; another one does not stand in for it. Of a
            local run it is no fact.
    """
    strength = mode_strength(mode, kind)
    if strength is Strength.LOGICAL:
        return RunUnenforced(asked=mode, why=f"the mode is {mode}")
    if host is None:
        return RefuseLaunch(asked=mode, missing="the host was not probed", remedy="Probe it first.")
    pinned = backend if kind == RunKind.REMOTE else None
    if isinstance(host, Capable) and pinned is not None and pinned != host.backend:
        host = Incapable(
            missing=f"the run is pinned to the backend {pinned}, and this host has {host.backend}",
            remedy=f"Go on where {pinned} is, or name another backend with --accept-config-change.",
        )
    if isinstance(host, Capable):
        return Enforce(asked=mode, backend=host.backend, program=host.program)
    if strength is Strength.ALWAYS:
        return RefuseLaunch(asked=mode, missing=host.missing, remedy=host.remedy)
    return RunUnenforced(asked=mode, why=host.missing)
