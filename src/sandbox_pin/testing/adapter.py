"""An orchestrator under test, as the laws see it, and how a broken law is told."""

from collections.abc import Callable, Iterable
from typing import Protocol, TypeAlias

from sandbox_pin.core.record import SandboxPin, Unpinned
from sandbox_pin.core.request import SandboxRequest


class LawBroken(AssertionError):  # noqa: N818 - the words that a person reads first
    """The orchestrator broke the law that this says; every test framework takes it for a failed test."""


class OrchestratorUnderTest(Protocol):
    """One run of the orchestrator that is tested; some 20 lines of yours make it.

    Each method does what the orchestrator itself does, through its own code and its own files. Where its
    state is a JSON file, ``StateInFile`` has two of them.
    """

    def start(self, request: SandboxRequest, /) -> None:
        """Starts the run, pinned to this request."""

    def command(self, request: SandboxRequest, /, *, accept_config_change: bool) -> bool:
        """Takes the run one command further: ``True`` where it was launched, ``False`` where it was refused.

        Any failure may be raised, of whatever type: the law that provokes one expects it.
        """
        ...

    def read_pin(self) -> SandboxPin | Unpinned:
        """The pin that the state holds now."""
        ...

    def read_log(self) -> Iterable[bytes]:
        """The text of every entry in the run log, the oldest first; entries of your own kinds left out."""
        ...

    def put_pin(self, pin: SandboxPin | Unpinned, /) -> None:
        """Puts this pin into the state and leaves the log alone, as an old copy put back would."""

    def break_log(self) -> None:
        """From now on no entry can be added to the log; those that are in it can be read."""


MakeOrchestrator: TypeAlias = Callable[[], OrchestratorUnderTest]
"""Makes a fresh one, with no run yet; a law makes as many as it needs."""
