"""This orchestrator held to the laws of the pin, through one adapter: run ``pytest`` in this folder."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import orchestrator as mine
import pytest

from sandbox_pin import SandboxMode, SandboxRequest
from sandbox_pin.testing import LAWS, MakeOrchestrator, StateInFile, check_pin_never_weaker


# region adapter
class Adapter(StateInFile):
    """A fresh folder with one task."""

    settle = staticmethod(mine.settle)

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp())
        self.state = self.root / "t.json"

    def start(self, request: SandboxRequest, /) -> None:
        """Starts the task."""
        with mine.opened(self.root) as store:
            mine.start(store, mine.Task(name="t", workspace="/w", command=("true",)), request.mode)

    def command(self, request: SandboxRequest, /, *, accept_config_change: bool) -> bool:
        """Settles what would be launched."""
        with mine.opened(self.root) as store:
            return self.settle(store, "t", request.mode, accept=accept_config_change) is not None

    def read_log(self) -> list[bytes]:
        """The entries in the table."""
        with mine.opened(self.root) as store:
            return [row[0] for row in store.database.execute("SELECT entry FROM log ORDER BY id")]

    def break_log(self) -> None:
        """Lets the table take no more rows."""
        full = "CREATE TRIGGER full BEFORE INSERT ON log BEGIN SELECT RAISE(ABORT, 'full'); END"
        with mine.opened(self.root) as store:
            _ = store.database.execute(full)


# endregion


class PureAdapter(Adapter):
    """The other style."""

    settle = staticmethod(mine.settle_purely)


# region laws
@pytest.mark.parametrize("make", [Adapter, PureAdapter])
@pytest.mark.parametrize("law", LAWS)
def test_this_orchestrator_keeps_the_law(
    law: Callable[[MakeOrchestrator], None], make: MakeOrchestrator
) -> None:
    """Each law, in both styles."""
    law(make)


# endregion


def test_a_log_that_it_wrote_keeps_the_law() -> None:
    """Raised, accepted lower, raised again."""
    run = Adapter()
    run.start(SandboxRequest(mode=SandboxMode.PREFERRED))
    for mode in ("required", "disabled", "required"):
        assert run.command(SandboxRequest(mode=SandboxMode(mode)), accept_config_change=True)
    check_pin_never_weaker(run.read_log())
