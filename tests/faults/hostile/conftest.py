"""Who the agent is, and the desk at which it is launched."""

import os
from collections.abc import Generator
from pathlib import Path

import pytest

from faults.hostile.support import ORDINARY, ROOT, Desk, Installation, Who, require_a_sandbox, scratch


@pytest.fixture(
    scope="session",
    params=[pytest.param(ROOT, marks=pytest.mark.faults), pytest.param(ORDINARY, marks=pytest.mark.faults)],
    ids=lambda who: str(who.name),
)
def who(request: pytest.FixtureRequest) -> Who:
    """Both users, one after the other."""
    chosen: Who = request.param
    if chosen is ROOT and os.getuid() != 0:
        pytest.skip("only root can be root")
    return chosen


@pytest.fixture(scope="session")
def tool(who: Who) -> Generator[Installation]:
    """The tool as this user has it."""
    require_a_sandbox(Path(__file__).parent)
    with scratch(who) as folder:
        yield Installation(folder / "installed", who)


@pytest.fixture
def desk(tool: Installation) -> Generator[Desk]:
    """This user's desk, with a run `a` that requires the sandbox."""
    with scratch(tool.who) as folder:
        desk = Desk(folder, tool)
        made = desk.run()
        assert made.status == 0, made
        yield desk
