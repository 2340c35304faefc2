"""What the tests of an orchestrator need: builders, a log in memory, and the laws that it must keep.

Write one adapter (``OrchestratorUnderTest``) and hold your orchestrator to every law, in any test framework::

    @pytest.mark.parametrize("law", LAWS)
    def test_my_orchestrator_keeps_the_law(law):
        law(MyAdapter)

Nothing here is imported by the library itself, and nothing of a test framework is imported here.
"""

from sandbox_pin.testing.adapter import LawBroken, MakeOrchestrator, OrchestratorUnderTest
from sandbox_pin.testing.builders import build_entry, build_pin, build_request
from sandbox_pin.testing.laws import (
    LAWS,
    check_accept_is_logged_first,
    check_as_strong_changes_nothing,
    check_consent_is_for_one_command,
    check_environment_accepts_nothing,
    check_refused_changes_nothing,
    check_stronger_raises_the_pin,
    check_witness_holds,
)
from sandbox_pin.testing.memory_log import MemoryLog
from sandbox_pin.testing.state_in_file import StateInFile
from sandbox_pin.testing.whole_log import check_pin_never_weaker

__all__ = [
    "LAWS",
    "LawBroken",
    "MakeOrchestrator",
    "MemoryLog",
    "OrchestratorUnderTest",
    "StateInFile",
    "build_entry",
    "build_pin",
    "build_request",
    "check_accept_is_logged_first",
    "check_as_strong_changes_nothing",
    "check_consent_is_for_one_command",
    "check_environment_accepts_nothing",
    "check_pin_never_weaker",
    "check_refused_changes_nothing",
    "check_stronger_raises_the_pin",
    "check_witness_holds",
]
