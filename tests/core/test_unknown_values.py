"""A value that nobody handles is a failure that names it: a new decision must not pass unseen."""

from collections.abc import Callable
from typing import Any, Final, cast

import pytest

from sandbox_pin import (
    PinSource,
    PinV1,
    PinV2,
    Refuse,
    RunKind,
    SandboxMode,
    SandboxRequest,
    StateError,
    Unpinned,
    create_pin,
    decide,
    decode_pin,
    mode_strength,
    pin_in_force,
)
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


@pytest.mark.parametrize("kind", RunKind)
@pytest.mark.parametrize("mode", SandboxMode)
def test_a_plain_word_is_taken_for_the_mode_or_the_kind_that_it_names(
    mode: SandboxMode, kind: RunKind
) -> None:
    """What JSON or an argument has is a plain word; it must be neither weaker nor change later answers."""
    words = cast("tuple[Any, Any]", (str(mode), str(kind)))
    assert mode_strength(*words) is mode_strength(mode, kind)
    request = SandboxRequest(mode=mode, backend="b")
    held = PinV2(mode=SandboxMode.REQUIRED, source=PinSource.CREATED, recorded_at="t", backend="a")
    plain = PinV1(mode=words[0], source=PinSource.CREATED, recorded_at="t")
    for pin in (held, plain, Unpinned()):
        asked = decide(pin, request, kind=kind, accept_config_change=True, at="t")
        assert decide(pin, request, kind=words[1], accept_config_change=True, at="t") == asked
        assert pin_in_force(pin, held, kind=words[1]) == pin_in_force(pin, held, kind=kind)
    assert create_pin(request, kind=words[1], at="t") == create_pin(request, kind=kind, at="t")


def test_a_word_that_names_no_kind_is_a_failure() -> None:
    """It would be taken for one of the two, and might be the weaker."""
    request = SandboxRequest(mode=SandboxMode.PREFERRED)
    pin = PinV1(mode=SandboxMode.PREFERRED, source=PinSource.CREATED, recorded_at="t")
    with pytest.raises(AssertionError, match="Remote"):
        _ = decide(pin, request, kind=cast("Any", "Remote"), accept_config_change=False, at="t")


@pytest.mark.parametrize("consent", ["no", "yes", 1, [False]])
def test_nothing_but_true_is_consent(consent: object) -> None:
    pin = PinV1(mode=SandboxMode.REQUIRED, source=PinSource.CREATED, recorded_at="t")
    request = SandboxRequest(mode=SandboxMode.DISABLED)
    decision = decide(pin, request, kind=RunKind.LOCAL, accept_config_change=cast("Any", consent), at="t")
    assert isinstance(decision, Refuse)


@pytest.mark.parametrize("buffer", [bytearray, memoryview])
def test_a_record_in_another_buffer_is_read_as_its_bytes_are(buffer: Callable[[bytes], Any]) -> None:
    """Some drivers of databases hand those out."""
    raw = b'{"schema":1,"mode":"required","source":"created","recorded_at":"t"}'
    assert decode_pin(buffer(raw)) == decode_pin(raw)
    with pytest.raises(StateError, match="given twice"):
        _ = decode_pin(buffer(raw.replace(b'"mode"', b'"mode":"disabled","mode"')))
