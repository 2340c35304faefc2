"""What a command would run under, each value with its provenance (design: "request").

A request reader turns bytes into one ``SandboxRequest``. Ours reads the table ``sandbox`` of an
orchestrator's configuration file; readers for other agents' settings come beside it.
"""

from typing import TypeAlias

from msgspec import Struct

from sandbox_pin.core.modes import SandboxMode


class _From(Struct, frozen=True, forbid_unknown_fields=True, tag_field="from"):
    """What the kinds of provenance share: JSON tells them apart by ``from``."""


class FromFlag(_From, frozen=True, kw_only=True, tag="flag"):
    """The value was given on this command's own command line."""

    flag: str


class FromFile(_From, frozen=True, kw_only=True, tag="file"):
    """The value was read from a configuration file."""

    path: str


class FromDefault(_From, frozen=True, kw_only=True, tag="default"):
    """Nobody gave a value: the built-in default applies.

    ``file`` is the configuration file that was read and said nothing, ``None`` where none was named.
    """

    file: str | None = None


class FromProgram(_From, frozen=True, kw_only=True, tag="program"):
    """The value was handed in by the program that calls this library."""


Provenance: TypeAlias = FromFlag | FromFile | FromDefault | FromProgram


class SandboxRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What this command would run under. ``SandboxRequest(mode=SandboxMode.REQUIRED)`` is whole.

    ``backend=None`` is no opinion: whatever backend the run is pinned to is kept.
    """

    mode: SandboxMode
    mode_from: Provenance = FromProgram()
    backend: str | None = None
    backend_from: Provenance = FromProgram()


def describe_provenance(provenance: Provenance) -> str:
    """Where a value came from, for a message: ``--mode``, ``a file's path``, ``the built-in default``."""
    match provenance:
        case FromFlag(flag=flag):
            return flag
        case FromFile(path=path):
            return path
        case FromDefault(file=None):
            return "the built-in default, as no --config was given"
        case FromDefault(file=file):
            return f"the built-in default, as {file} has no sandbox.mode"
        case FromProgram():
            return "the calling program"
