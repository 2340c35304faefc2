"""A value that nobody handles is a failure that names it: a new decision must not pass unseen."""

from collections.abc import Callable
from typing import Any, Final, cast

import pytest

from sandbox_pin import PinV1, RunKind, mode_strength
from sandbox_pin.core.describe import describe_decision, describe_gate, describe_host
from sandbox_pin.core.doctor import Leftover, judge_leftovers
from sandbox_pin.core.doctor_host import HostSettings, judge_host
from sandbox_pin.core.event import change_entry
from sandbox_pin.core.json_schema import json_schema
from sandbox_pin.core.placement import Violation, describe_violation
from sandbox_pin.core.record import pinned_backend
from sandbox_pin.core.request import describe_provenance
from sandbox_pin.shell.apply import apply_decision


class Strange:
    """What no ``match`` knows; it has every attribute."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __getattr__(self, _: str) -> "Strange":
        """Any attribute is as strange, and another thing: a failure must not name a part for the whole."""
        return Strange("a part of it")

    def __repr__(self) -> str:
        """For the failure's message."""
        return f"<{self.what}>"


STRANGE: Final = cast("Any", Strange("something strange"))


class Log:
    """A log and a state that nothing may reach."""

    def append(self, _: object, /) -> None:
        """Adds an entry."""
        pytest.fail("logged")

    def last_entry(self) -> None:
        """The last one."""


@pytest.mark.parametrize(
    "handle",
    [
        describe_decision,
        describe_gate,
        describe_host,
        describe_provenance,
        json_schema,
        pinned_backend,
        lambda strange: judge_host(strange, HostSettings(), program="/bwrap"),
        lambda strange: judge_leftovers([Leftover(path="/p", fate=strange)]),
        lambda strange: mode_strength(strange, RunKind.LOCAL),
        lambda strange: change_entry(strange, run="r", operator="o"),
        lambda strange: describe_violation(
            Violation(role=cast("Any", "state"), path="/p", reason=strange, where="/w")
        ),
        lambda strange: apply_decision(
            strange,
            state=cast("PinV1", strange),
            log=Log(),
            save=lambda _: pytest.fail("saved"),
            run="r",
            operator="o",
        ),
    ],
)
def test_what_nobody_handles_is_a_failure(handle: Callable[[Any], object]) -> None:
    with pytest.raises(AssertionError, match="something strange"):
        handle(STRANGE)
