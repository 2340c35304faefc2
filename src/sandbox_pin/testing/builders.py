"""Pins, requests and entries with a default for every part, so that a test names only what it is about."""

from typing import Final

from sandbox_pin.core.event import RunCreated
from sandbox_pin.core.modes import RunKind, SandboxMode
from sandbox_pin.core.record import PinSource, SandboxPin, make_pin
from sandbox_pin.core.request import FromProgram, Provenance, SandboxRequest

AT: Final = "2026-01-01T00:00:00Z"
_FROM_PROGRAM: Final = FromProgram()


def build_pin(
    *,
    mode: SandboxMode = SandboxMode.REQUIRED,
    source: PinSource = PinSource.CREATED,
    recorded_at: str = AT,
    backend: str | None = None,
) -> SandboxPin:
    """A pin; of schema 2 where it has a backend.

    Args:
        mode: the mode that the run is held to.
        source: how the pin came to be.
        recorded_at: when, 1 to 64 characters.
        backend: the backend that the run is held to; ``None``: the record has no such fact.
    """
    return make_pin(mode=mode, source=source, recorded_at=recorded_at, backend=backend)


def build_request(
    *,
    mode: SandboxMode = SandboxMode.REQUIRED,
    mode_from: Provenance = _FROM_PROGRAM,
    backend: str | None = None,
    backend_from: Provenance = _FROM_PROGRAM,
) -> SandboxRequest:
    """A request.

    Args:
        mode: the mode that is asked for.
        mode_from: where it came from.
        backend: the backend that is asked for; ``None``: no opinion.
        backend_from: where that came from.
    """
    return SandboxRequest(mode=mode, mode_from=mode_from, backend=backend, backend_from=backend_from)


def build_entry(
    *,
    pin: SandboxPin | None = None,
    run: str = "r",
    kind: RunKind = RunKind.LOCAL,
    at: str = AT,
    workspace: str = "/work",
    operator: str = "somebody",
) -> RunCreated:
    """A run's first log entry.

    Args:
        pin: the pin that holds from it on; ``None``: ``build_pin()``.
        run: the run's id.
        kind: the run's kind.
        at: when, 1 to 64 characters.
        workspace: the folder that its launches work in.
        operator: the login name of the user who made it.
    """
    held = build_pin() if pin is None else pin
    return RunCreated(
        at=at,
        run=run,
        kind=kind,
        pin=held,
        workspace=workspace,
        parent=None,
        request=build_request(mode=held.mode),
        operator=operator,
    )
