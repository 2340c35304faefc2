"""Pins a coding agent's run to the sandbox mode that it began with.

This package is the core: bytes and values in, values out. What touches files and processes is in
``sandbox_pin.shell``; the command ``sandbox-pin`` is in ``sandbox_pin.cli``. Importing this imports neither.
"""

from sandbox_pin.core.decision import (
    Accept,
    Decision,
    PinChange,
    Refuse,
    Strengthen,
    Unchanged,
    Upgrade,
    WeakerFact,
)
from sandbox_pin.core.facts import Fact
from sandbox_pin.core.modes import RunKind, SandboxMode, Strength, mode_strength
from sandbox_pin.core.record import (
    Disputed,
    PinSource,
    PinV1,
    PinV2,
    SandboxPin,
    Unpinned,
    decode_pin,
    describe_pin,
    encode_pin,
)
from sandbox_pin.core.request import (
    FromDefault,
    FromFile,
    FromFlag,
    FromProgram,
    Provenance,
    SandboxRequest,
)
from sandbox_pin.core.rule import create_pin, decide, pin_in_force
from sandbox_pin.core.state import read_pin, replace_pin
from sandbox_pin.errors import (
    BusyError,
    ConfigurationError,
    PlacementError,
    SandboxPinError,
    StateError,
    StorageError,
    UncertainStorageError,
    UsageError,
)

__all__ = [
    "Accept",
    "BusyError",
    "ConfigurationError",
    "Decision",
    "Disputed",
    "Fact",
    "FromDefault",
    "FromFile",
    "FromFlag",
    "FromProgram",
    "PinChange",
    "PinSource",
    "PinV1",
    "PinV2",
    "PlacementError",
    "Provenance",
    "Refuse",
    "RunKind",
    "SandboxMode",
    "SandboxPin",
    "SandboxPinError",
    "SandboxRequest",
    "StateError",
    "StorageError",
    "Strength",
    "Strengthen",
    "UncertainStorageError",
    "Unchanged",
    "Unpinned",
    "Upgrade",
    "UsageError",
    "WeakerFact",
    "create_pin",
    "decide",
    "decode_pin",
    "describe_pin",
    "encode_pin",
    "mode_strength",
    "pin_in_force",
    "read_pin",
    "replace_pin",
]
