"""An orchestrator in memory that keeps every law, and others that each break one."""

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from sandbox_pin import (
    Accept,
    Decision,
    Refuse,
    RunKind,
    SandboxPin,
    SandboxRequest,
    Strengthen,
    Unchanged,
    Unpinned,
    decide,
    read_pin,
    replace_pin,
)
from sandbox_pin.core.event import change_entry
from sandbox_pin.shell import apply_decision, apply_request, create_logged_pin, now
from sandbox_pin.testing import MemoryLog, StateInFile

VARIABLE: Final = "MY_ORCHESTRATOR_ACCEPTS"


class Sound:
    """One run, and the adapter to it in one."""

    kind: RunKind = RunKind.LOCAL

    def __init__(self) -> None:
        self.pin: SandboxPin | Unpinned = Unpinned()
        self.log = MemoryLog()

    def start(self, request: SandboxRequest, /) -> None:
        """Starts the run."""
        self.pin = create_logged_pin(request, log=self.log, kind=self.kind, run="r", workspace="/work")

    def command(self, request: SandboxRequest, /, *, accept_config_change: bool) -> bool:
        """Takes it further."""
        return not isinstance(self._decided(request, accepts=accept_config_change), Refuse)

    def _decided(self, request: SandboxRequest, *, accepts: bool) -> Decision:
        """The rule, in one call."""
        return apply_request(
            request,
            state=self.pin,
            log=self.log,
            save=self.put_pin,
            kind=self.kind,
            run="r",
            accept_config_change=accepts,
        )

    def by_the_state_alone(self, request: SandboxRequest, *, accepts: bool) -> Decision:
        """The decision, without the witness."""
        return decide(self.pin, request, kind=self.kind, accept_config_change=accepts, at=now())

    def read_pin(self) -> SandboxPin | Unpinned:
        """The state's pin."""
        return self.pin

    def read_log(self) -> Iterable[bytes]:
        """The log's entries."""
        return self.log.lines

    def put_pin(self, pin: SandboxPin | Unpinned, /) -> None:
        """Puts a pin into the state."""
        self.pin = pin

    def break_log(self) -> None:
        """Breaks the log."""
        self.log.broken = True


class InFiles(StateInFile):
    """Its state in a file, with a field of its own; the log in memory."""

    def __init__(self) -> None:
        folder = tempfile.mkdtemp()
        _ = weakref.finalize(self, shutil.rmtree, folder)
        self.state = Path(folder) / "state.json"
        self.log = MemoryLog()

    def start(self, request: SandboxRequest, /) -> None:
        """Starts the run."""
        _ = self.state.write_bytes(b'{"steps": 1.50}')
        pin = create_logged_pin(request, log=self.log, kind=RunKind.LOCAL, run="r", workspace="/work")
        self.save(pin)

    def save(self, pin: SandboxPin) -> None:
        """Saves as this orchestrator does."""
        _ = self.state.write_bytes(replace_pin(self.state.read_bytes(), pin))

    def command(self, request: SandboxRequest, /, *, accept_config_change: bool) -> bool:
        """Takes it further."""
        decision = apply_request(
            request,
            state=read_pin(self.state.read_bytes(), pinned_since=None),
            log=self.log,
            save=self.save,
            kind=RunKind.LOCAL,
            run="r",
            accept_config_change=accept_config_change,
        )
        return not isinstance(decision, Refuse)

    def read_log(self) -> Iterable[bytes]:
        """The log's entries."""
        return self.log.lines

    def break_log(self) -> None:
        """Breaks the log."""
        self.log.broken = True


class Remote(Sound):
    """The same, of a remote run."""

    kind = RunKind.REMOTE


class SavesFirst(Sound):
    """Saves an accept, then logs it."""

    def _decided(self, request: SandboxRequest, *, accepts: bool) -> Decision:
        decision = self.by_the_state_alone(request, accepts=accepts)
        if isinstance(decision, Accept):
            self.pin = decision.pin
            self.log.append(change_entry(decision, run="r", operator="somebody"))
            return decision
        return super()._decided(request, accepts=accepts)


class ForgetsToLog(Sound):
    """Saves an accept, and logs nothing; what the log says it knows by heart, from its own last save."""

    def _decided(self, request: SandboxRequest, *, accepts: bool) -> Decision:
        decision = self.by_the_state_alone(request, accepts=accepts)
        if accepts and isinstance(decision, Accept):
            self.pin = decision.pin
            return decision
        return super()._decided(request, accepts=accepts)


class DropsTheWitness(Sound):
    """Asks the state alone."""

    def _decided(self, request: SandboxRequest, *, accepts: bool) -> Decision:
        decision = self.by_the_state_alone(request, accepts=accepts)
        applied = apply_decision(
            decision, state=self.pin, log=self.log, save=self.put_pin, run="r", operator="somebody"
        )
        if applied is not None and applied.not_logged is not None:
            raise applied.not_logged
        return decision


class AsksTheEnvironment(Sound):
    """Takes the flag from a variable."""

    def _decided(self, request: SandboxRequest, *, accepts: bool) -> Decision:
        return super()._decided(request, accepts=accepts or os.environ.get(VARIABLE) == "yes")


class WritesOnRefusal(Sound):
    """Notes the time of a refusal in the pin."""

    def _decided(self, request: SandboxRequest, *, accepts: bool) -> Decision:
        decision = super()._decided(request, accepts=accepts)
        if isinstance(decision, Refuse) and not isinstance(self.pin, Unpinned):
            self.pin = replace(self.pin, recorded_at="refused")
        return decision


class LogsRefusals(Sound):
    """Logs a refusal as what came before it once more."""

    def _decided(self, request: SandboxRequest, *, accepts: bool) -> Decision:
        decision = super()._decided(request, accepts=accepts)
        last = self.log.last_entry()
        if isinstance(decision, Refuse) and last is not None:
            self.log.append(last)
        return decision


class RemembersConsent(Sound):
    """Takes the flag for every later command too."""

    accepted = False

    def _decided(self, request: SandboxRequest, *, accepts: bool) -> Decision:
        self.accepted = self.accepted or accepts
        return super()._decided(request, accepts=self.accepted)


class NeverRises(Sound):
    """Takes a stronger request for one as strong."""

    def _decided(self, request: SandboxRequest, *, accepts: bool) -> Decision:
        decision = self.by_the_state_alone(request, accepts=accepts)
        if isinstance(decision, Strengthen) and self.log.entries[-1].pin == self.pin:
            return Unchanged(pin=decision.before)
        return super()._decided(request, accepts=accepts)


class RisesOnlyIfLogged(Sound):
    """Gives a strengthening up where it can't be logged."""

    def _decided(self, request: SandboxRequest, *, accepts: bool) -> Decision:
        decision = self.by_the_state_alone(request, accepts=accepts)
        if isinstance(decision, Strengthen):
            self.log.append(change_entry(decision, run="r", operator="somebody"))
            self.pin = decision.pin
            return decision
        return super()._decided(request, accepts=accepts)


class NotesEachCommand(Sound):
    """Writes the time of each command into the pin."""

    def _decided(self, request: SandboxRequest, *, accepts: bool) -> Decision:
        decision = super()._decided(request, accepts=accepts)
        if isinstance(decision, Unchanged):
            self.pin = replace(decision.pin, recorded_at="now")
        return decision
