"""This orchestrator held to the laws of the pin, through one adapter: run ``pytest`` in this folder."""

import sqlite3
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import orchestrator as mine
import pytest
from msgspec.structs import replace

from sandbox_pin import SandboxMode, SandboxPin, SandboxRequest, Unpinned
from sandbox_pin.shell import Entry, Garbage, decode_line
from sandbox_pin.testing import LAWS, MakeOrchestrator, check_pin_never_weaker


# region adapter
class Adapter:
    """A fresh folder with one task."""

    settle = staticmethod(mine.settle)

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp())

    def start(self, request: SandboxRequest, /) -> None:
        """Starts the task."""
        with mine.opened(self.root) as store:
            mine.start(store, mine.Task(name="t", workspace="/w", command=("true",)), request.mode)

    def command(self, request: SandboxRequest, /, *, accept_config_change: bool) -> bool:
        """Settles what would be launched."""
        with mine.opened(self.root) as store:
            return self.settle(store, "t", request.mode, accept=accept_config_change) is not None

    def read_pin(self) -> SandboxPin | Unpinned:
        """The pin in the task's file."""
        with mine.opened(self.root) as store:
            return store.load("t")[1]

    def read_log(self) -> Sequence[Entry]:
        """The entries in the table."""
        with closing(sqlite3.connect(self.root / "log.db")) as database:
            rows: list[tuple[bytes]] = database.execute("SELECT entry FROM log ORDER BY id").fetchall()
        return [entry for row in rows if not isinstance(entry := decode_line(row[0]), Garbage)]

    def put_pin(self, pin: SandboxPin | Unpinned, /) -> None:
        """Puts a pin into the task's file."""
        with mine.opened(self.root) as store:
            task, _ = store.load("t")
            store.save(replace(task, sandbox_pin=None if isinstance(pin, Unpinned) else pin))

    def break_log(self) -> None:
        """Lets the table take no more rows."""
        with closing(sqlite3.connect(self.root / "log.db")) as database:
            trigger = "CREATE TRIGGER t BEFORE INSERT ON log BEGIN SELECT RAISE(ABORT, 'full'); END"
            _ = database.execute(trigger)


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
