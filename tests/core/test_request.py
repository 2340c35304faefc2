"""What a command would run under: the flag before the file, the file before the default, each told."""

import msgspec
import pytest

from sandbox_pin.core.configuration import Configuration
from sandbox_pin.core.modes import SandboxMode
from sandbox_pin.core.request import (
    DEFAULT_MODE,
    FromDefault,
    FromFile,
    FromFlag,
    FromProgram,
    Provenance,
    SandboxRequest,
    describe_provenance,
    make_request,
)

FILE = "/etc/orchestrator.toml"
FLAG = FromFlag(flag="--mode")
SAID_NOTHING = FromDefault(file=FILE)


def configured(mode: SandboxMode | None = None, backend: str | None = None) -> Configuration:
    """What a file says."""
    return Configuration(file=FILE, mode=mode, backend=backend)


@pytest.mark.parametrize(
    ("configuration", "flag", "mode", "mode_from"),
    [
        (None, None, DEFAULT_MODE, FromDefault()),
        (None, SandboxMode.REQUIRED, SandboxMode.REQUIRED, FLAG),
        (configured(), None, DEFAULT_MODE, SAID_NOTHING),
        (configured(), SandboxMode.PREFERRED, SandboxMode.PREFERRED, FLAG),
        (configured(SandboxMode.REQUIRED), None, SandboxMode.REQUIRED, FromFile(path=FILE)),
        # The default's own word, said by the file, is still the file's.
        (configured(SandboxMode.DISABLED), None, SandboxMode.DISABLED, FromFile(path=FILE)),
        (configured(SandboxMode.REQUIRED), SandboxMode.DISABLED, SandboxMode.DISABLED, FLAG),
    ],
)
def test_the_mode_is_the_flags_then_the_files_then_the_default(
    configuration: Configuration | None, flag: SandboxMode | None, mode: SandboxMode, mode_from: Provenance
) -> None:
    """And its provenance says which of the three it was."""
    request = make_request(configuration, mode_flag=flag)
    assert (request.mode, request.mode_from) == (mode, mode_from)


@pytest.mark.parametrize(
    ("configuration", "backend", "backend_from"),
    [
        (None, None, FromDefault()),
        (configured(SandboxMode.REQUIRED), None, SAID_NOTHING),
        (configured(backend="bubblewrap"), "bubblewrap", FromFile(path=FILE)),
    ],
)
@pytest.mark.parametrize("flag", [None, SandboxMode.REQUIRED])
def test_the_backend_is_the_files_or_nobodys(
    configuration: Configuration | None,
    backend: str | None,
    backend_from: Provenance,
    flag: SandboxMode | None,
) -> None:
    """The mode's flag has no say in it."""
    request = make_request(configuration, mode_flag=flag)
    assert (request.backend, request.backend_from) == (backend, backend_from)


def test_without_a_word_from_anybody_the_mode_is_disabled() -> None:
    """The built-in default is the weakest mode, which is why silence needs a witness."""
    assert DEFAULT_MODE is SandboxMode.DISABLED


@pytest.mark.parametrize(
    ("provenance", "told"),
    [
        (FLAG, "--mode"),
        (FromFile(path=FILE), FILE),
        (FromDefault(), "the built-in default, as no --config was given"),
        (SAID_NOTHING, f"the built-in default, as {FILE} has no sandbox.mode"),
        (FromProgram(), "the calling program"),
    ],
)
def test_each_provenance_is_told_and_survives_json(provenance: Provenance, told: str) -> None:
    """Messages name it, and the run log keeps it."""
    assert describe_provenance(provenance) == told
    request = SandboxRequest(mode=SandboxMode.REQUIRED, mode_from=provenance, backend_from=provenance)
    assert msgspec.json.decode(msgspec.json.encode(request), type=SandboxRequest) == request
