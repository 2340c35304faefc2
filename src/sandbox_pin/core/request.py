"""What a command would run under, each value with its provenance (design: "request").

A request reader turns bytes into one ``SandboxRequest``. Ours reads the table ``sandbox`` of an
orchestrator's configuration file; readers for other agents' settings come beside it.
"""

from typing import TypeAlias, assert_never

from msgspec import Struct
from msgspec.structs import replace

from sandbox_pin.core.configuration import Configuration
from sandbox_pin.core.modes import SandboxMode

DEFAULT_MODE = SandboxMode.DISABLED
"""What applies where neither a flag nor a file names a mode."""


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


class FromProgram(_From, frozen=True, tag="program"):
    """The value was handed in by the program that calls this library."""


Provenance: TypeAlias = FromFlag | FromFile | FromDefault | FromProgram
"""Where a value came from."""


class SandboxRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What this command would run under. ``SandboxRequest(mode=SandboxMode.REQUIRED)`` is whole.

    ``backend=None`` is no opinion: whatever backend the run is pinned to is kept.
    """

    mode: SandboxMode
    mode_from: Provenance = FromProgram()
    backend: str | None = None
    backend_from: Provenance = FromProgram()


def make_request(configuration: Configuration | None, *, mode_flag: SandboxMode | None) -> SandboxRequest:
    """What this command would run under: the flag before the file, the file before the default.

    Args:
        configuration: what the file named by ``--config`` says; ``None`` where none was named.
        mode_flag: the mode given by ``--mode``; ``None`` where it was not given.
    """
    default = FromDefault(file=configuration.file if configuration else None)
    request = SandboxRequest(mode=DEFAULT_MODE, mode_from=default, backend_from=default)
    if configuration:
        in_file = FromFile(path=configuration.file)
        if configuration.mode is not None:
            request = replace(request, mode=configuration.mode, mode_from=in_file)
        if configuration.backend is not None:
            request = replace(request, backend=configuration.backend, backend_from=in_file)
    if mode_flag is not None:
        request = replace(request, mode=mode_flag, mode_from=FromFlag(flag="--mode"))
    return request


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
        case _:
            assert_never(provenance)
