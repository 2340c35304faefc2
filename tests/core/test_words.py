"""The words to the letter: files, logs and other programs hold them, so that another spelling is a break."""

from enum import StrEnum
from typing import Final

import pytest
from msgspec import Struct

from sandbox_pin.core.audit import Finding as AuditFinding
from sandbox_pin.core.doctor import Fate
from sandbox_pin.core.doctor_finding import Severity, Subject
from sandbox_pin.core.facts import Fact
from sandbox_pin.core.json_schema import Document
from sandbox_pin.core.modes import RunKind, SandboxMode
from sandbox_pin.core.placement import ItemRole, Reason
from sandbox_pin.core.record import PinSource
from sandbox_pin.core.request import FromDefault, FromFile, FromFlag, FromProgram
from sandbox_pin.core.run_state import RunStatus
from sandbox_pin.core.timeline import OpenEnd

WORDS: Final[dict[type[StrEnum], str]] = {
    SandboxMode: "disabled preferred required",
    RunKind: "local remote",
    PinSource: "created upgraded strengthened accepted",
    Fact: "mode backend",
    RunStatus: "ready running blocked",
    ItemRole: "configuration state run_log sandbox_program interpreter package launch_tree",
    Reason: "in_tree through_tree bind_mount mount_below holds_tree hard_links",
    Severity: "ok warning error",
    Subject: "host placement run_root file_system leftover",
    Fate: "left cleared kept",
    OpenEnd: "open running lost unknown",
    AuditFinding: "pinned unpinned disputed damaged unreadable vanished",
    Document: "pin log",
}
"""Of each enumeration, in its order."""

PROVENANCES: Final[dict[type[Struct], str]] = {
    FromFlag: "flag",
    FromFile: "file",
    FromDefault: "default",
    FromProgram: "program",
}


@pytest.mark.parametrize("words", WORDS)
def test_a_word_is_never_respelled(words: type[StrEnum]) -> None:
    """Each member is named after its word too."""
    assert [word.value for word in words] == WORDS[words].split()
    assert all(word.name.lower() == word.value for word in words)


@pytest.mark.parametrize("provenance", PROVENANCES)
def test_a_log_tells_where_a_value_came_from_by_its_word(provenance: type[Struct]) -> None:
    assert provenance.__struct_config__.tag_field == "from"
    assert provenance.__struct_config__.tag == PROVENANCES[provenance]
