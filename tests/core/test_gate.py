"""The gate, exhaustively: every mode, kind, host and pinned backend."""

from itertools import product
from typing import Final

import msgspec
import pytest

from sandbox_pin import RunKind, SandboxMode
from sandbox_pin.core.gate import (
    Capable,
    Enforce,
    GateDecision,
    HostCapability,
    Incapable,
    RefuseLaunch,
    RunUnenforced,
    needs_host,
    pass_gate,
)

HOSTS: Final[dict[str, HostCapability | None]] = {
    "capable": Capable(backend="bubblewrap", program="/usr/bin/bwrap"),
    "incapable": Incapable(missing="user namespaces", remedy="Allow them."),
    "not probed": None,
}
# What a launch gets of a host that can, and of one that can't.
TABLE: Final[dict[tuple[str, str], tuple[type, type]]] = {
    ("disabled", "local"): (RunUnenforced, RunUnenforced),
    ("disabled", "remote"): (RunUnenforced, RunUnenforced),
    ("preferred", "local"): (Enforce, RunUnenforced),
    ("preferred", "remote"): (Enforce, RefuseLaunch),
    ("required", "local"): (Enforce, RefuseLaunch),
    ("required", "remote"): (Enforce, RefuseLaunch),
}
BACKENDS: Final = (None, "bubblewrap", "other")
ALL: Final = list(product(SandboxMode, RunKind, HOSTS, BACKENDS))


@pytest.mark.parametrize(("mode", "kind", "host", "backend"), ALL)
def test_gate_table(mode: SandboxMode, kind: RunKind, host: str, backend: str | None) -> None:
    """Only a host that can, with the backend that a remote run is pinned to, enforces anything.

    A host that nobody probed is no finding: a mode that depends on it launches nothing.
    """
    found = HOSTS[host]
    decision = pass_gate(mode, found, kind=kind, backend=backend)
    another = kind is RunKind.REMOTE and backend == "other"
    can = isinstance(found, Capable) and not another
    right = TABLE[mode, kind][0 if can else 1]
    if found is None and mode is not SandboxMode.DISABLED:
        right = RefuseLaunch
    assert type(decision) is right
    assert decision.asked is mode
    match decision:
        case Enforce():
            assert isinstance(found, Capable)
            assert (decision.backend, decision.program) == (found.backend, found.program)
        case RunUnenforced() if mode is SandboxMode.DISABLED:
            assert "disabled" in decision.why
        case RunUnenforced():
            assert decision.why == (found.missing if isinstance(found, Incapable) else decision.why) != ""
        case RefuseLaunch():
            assert decision.missing
            assert decision.remedy
            if isinstance(found, Incapable):
                assert (decision.missing, decision.remedy) == (found.missing, found.remedy)
            if isinstance(found, Capable):
                assert "other" in decision.missing
                assert found.backend in decision.missing


@pytest.mark.parametrize(("mode", "kind"), list(product(SandboxMode, RunKind)))
def test_the_host_matters_exactly_where_it_is_probed(mode: SandboxMode, kind: RunKind) -> None:
    """A mode that needs no probe is decided alike on every host, and one that needs it is not."""
    decisions = {pass_gate(mode, host, kind=kind) for host in HOSTS.values()}
    assert needs_host(mode, kind) == (len(decisions) > 1)


@pytest.mark.parametrize(("mode", "kind", "host", "backend"), ALL)
def test_a_gate_decision_is_a_frozen_value_without_truth(
    mode: SandboxMode, kind: RunKind, host: str, backend: str | None
) -> None:
    """JSON shows which decision it is; it can be a key, can't be changed, and is neither true nor false."""
    decision: GateDecision = pass_gate(mode, HOSTS[host], kind=kind, backend=backend)
    tags = {Enforce: "enforce", RunUnenforced: "run_unenforced", RefuseLaunch: "refuse_launch"}
    assert msgspec.json.decode(msgspec.json.encode(decision))["gate"] == tags[type(decision)]
    assert hash(decision) == hash(pass_gate(mode, HOSTS[host], kind=kind, backend=backend))
    assert not hasattr(decision, "__bool__")
    assert not hasattr(decision, "__len__")
    for name in decision.__struct_fields__:
        with pytest.raises(AttributeError):
            setattr(decision, name, None)
