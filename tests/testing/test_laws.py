"""The laws that users hold their orchestrators to: a sound one keeps each, and each can be broken."""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_pin import (
    PinSource,
    PinV1,
    RunKind,
    SandboxMode,
    SandboxPin,
    SandboxRequest,
    StateError,
    Unpinned,
)
from sandbox_pin.core.event import Entry, LaunchEnded, PinAccepted
from sandbox_pin.shell import RunLog, encode_line
from sandbox_pin.testing import (
    LAWS,
    LawBroken,
    MakeOrchestrator,
    MemoryLog,
    build_entry,
    build_pin,
    build_request,
    check_accept_is_logged_first,
    check_as_strong_changes_nothing,
    check_consent_is_for_one_command,
    check_environment_accepts_nothing,
    check_pin_never_weaker,
    check_refused_changes_nothing,
    check_stronger_raises_the_pin,
    check_witness_holds,
)
from testing import orchestrators as made

Law = Callable[[MakeOrchestrator], None]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("make", [made.Sound, made.Remote, made.InFiles])
def test_a_sound_orchestrator_keeps_every_law(law: Law, make: MakeOrchestrator) -> None:
    law(make)


# The orchestrator, the law that it breaks, and words of the message.
BROKEN: Final[list[tuple[MakeOrchestrator, Law, str]]] = [
    (made.SavesFirst, check_accept_is_logged_first, "an accept that could not be logged is in the state"),
    (made.ForgetsToLog, check_accept_is_logged_first, "no entry pin_accepted"),
    (made.DropsTheWitness, check_witness_holds, "the state was put back to disabled"),
    (made.AsksTheEnvironment, check_environment_accepts_nothing, f"{made.VARIABLE}=yes accepted"),
    (made.WritesOnRefusal, check_refused_changes_nothing, "a refusal changed the state's pin"),
    (made.LogsRefusals, check_refused_changes_nothing, "a refusal changed the run log: from 1 entries to 2"),
    (made.RemembersConsent, check_consent_is_for_one_command, "the flag was given to an earlier command"),
    (made.NeverRises, check_stronger_raises_the_pin, "a stronger request did not raise the state's pin"),
    (made.RisesOnlyIfLogged, check_stronger_raises_the_pin, "could not be logged did not raise"),
    (made.NotesEachCommand, check_as_strong_changes_nothing, "as strong as the pin changed it"),
]


@pytest.mark.parametrize(("make", "law", "told"), BROKEN)
def test_a_broken_orchestrator_is_found_by_the_law_that_it_breaks(
    make: MakeOrchestrator, law: Law, told: str
) -> None:
    with pytest.raises(LawBroken, match=told):
        law(make)


@pytest.mark.parametrize(("make", "law", "told"), BROKEN)
def test_and_by_no_other(make: MakeOrchestrator, law: Law, told: str) -> None:
    """So that the name of a failed check says what is wrong."""
    del told
    for other in LAWS:
        if other is not law:
            other(make)


def test_each_law_can_be_broken() -> None:
    assert {law for _, law, _ in BROKEN} == set(LAWS)


def test_the_environment_is_as_it_was() -> None:
    before = dict(os.environ)
    check_environment_accepts_nothing(made.Sound, variables=["SOME_NAME"])
    assert dict(os.environ) == before
    assert type(os.environ).__name__ == "_Environ"


class AsksAChild(made.Sound):
    """A process of its own looks the variable up."""

    def command(self, request: SandboxRequest, /, *, accept_config_change: bool) -> bool:
        """Takes it further."""
        program = f"import os, sys; sys.exit(os.environ.get({made.VARIABLE!r}) != 'yes')"
        accepted = subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
        return super().command(request, accept_config_change=accept_config_change or accepted)


def test_a_variable_that_another_process_looks_up_is_named_by_the_caller() -> None:
    check_environment_accepts_nothing(AsksAChild)
    with pytest.raises(LawBroken, match=made.VARIABLE):
        check_environment_accepts_nothing(AsksAChild, variables=[made.VARIABLE])


# A whole log

REQUIRED: Final = build_pin()
DISABLED: Final = build_pin(mode=SandboxMode.DISABLED)
ON_ONE: Final = build_pin(backend="one")
ON_OTHER: Final = build_pin(backend="other")


def ended(pin: SandboxPin, *, kind: RunKind = RunKind.LOCAL, run: str = "r") -> LaunchEnded:
    """An entry that changes no pin."""
    return LaunchEnded(at="x", run=run, kind=kind, pin=pin, ran=True, exit_code=0, signal=None)


def accepted(pin: SandboxPin, *, kind: RunKind = RunKind.LOCAL) -> PinAccepted:
    """An accept."""
    return PinAccepted(
        at="x",
        run="r",
        kind=kind,
        pin=pin,
        before=None,
        disputed=None,
        request=build_request(mode=pin.mode),
        operator="somebody",
    )


REMOTE: Final = RunKind.REMOTE
LOGS: Final[list[tuple[list[Entry], str | None]]] = [
    ([], None),
    ([build_entry(pin=REQUIRED), ended(REQUIRED)], None),
    ([build_entry(pin=DISABLED), ended(REQUIRED)], None),
    ([build_entry(pin=REQUIRED), accepted(DISABLED), ended(DISABLED)], None),
    ([build_entry(pin=REQUIRED), ended(DISABLED)], "entry 2 weakens the pin from required .* to disabled"),
    ([build_entry(pin=REQUIRED), accepted(DISABLED), ended(REQUIRED), ended(DISABLED)], "entry 4 weakens"),
    ([build_entry(pin=ON_ONE, kind=REMOTE), ended(ON_OTHER, kind=REMOTE)], "entry 2 weakens"),
    ([build_entry(pin=ON_ONE, kind=REMOTE), ended(REQUIRED, kind=REMOTE)], "entry 2 weakens"),
    ([build_entry(pin=REQUIRED, kind=REMOTE), ended(ON_ONE, kind=REMOTE)], None),
    ([build_entry(pin=ON_ONE, kind=REMOTE), accepted(ON_OTHER, kind=REMOTE)], None),
    ([build_entry(pin=ON_ONE), ended(ON_OTHER)], None),
    (
        [build_entry(), ended(REQUIRED, run="s")],
        "entry 2 is of the local run s, the one before it of the local",
    ),
    ([build_entry(), ended(REQUIRED, kind=REMOTE)], "entry 2 is of the remote run r"),
]


@pytest.mark.parametrize(("entries", "broken"), LOGS)
def test_a_log_s_pins_never_get_weaker_but_by_an_accept(entries: list[Entry], broken: str | None) -> None:
    lines = [encode_line(entry) for entry in entries]
    if broken is None:
        check_pin_never_weaker(lines)
    else:
        with pytest.raises(LawBroken, match=broken):
            check_pin_never_weaker(lines)


def test_a_torn_line_of_a_whole_log_is_passed_over() -> None:
    lines = [encode_line(build_entry(pin=REQUIRED)), b'{"event": "launch_en', encode_line(ended(REQUIRED))]
    check_pin_never_weaker(lines)
    with pytest.raises(LawBroken, match="entry 2 weakens"):
        check_pin_never_weaker([*lines[:2], encode_line(ended(DISABLED))])
    with pytest.raises(LawBroken, match="damaged line"):
        check_pin_never_weaker([*lines, b'{"event": "unknown"}'])


@given(
    st.lists(st.tuples(st.sampled_from(SandboxMode), st.booleans())),
    st.sampled_from([made.Sound, made.Remote]),
)
def test_what_the_one_call_logs_keeps_the_law(
    commands: list[tuple[SandboxMode, bool]], make: type[made.Sound]
) -> None:
    """Whatever is asked for, in whatever order, with or without the flag."""
    run = make()
    run.start(build_request(mode=SandboxMode.PREFERRED))
    for mode, accepts in commands:
        run.command(build_request(mode=mode), accept_config_change=accepts)
    check_pin_never_weaker(run.read_log())
    assert run.log.entries[-1].pin == run.read_pin()


# The builders and the log


def test_builders_make_whole_values_by_default() -> None:
    assert build_pin().source is PinSource.CREATED
    assert build_pin() == REQUIRED != DISABLED
    assert build_request().mode is SandboxMode.REQUIRED
    assert build_entry(pin=DISABLED).pin == DISABLED
    assert build_entry().pin == build_pin()


def test_the_log_in_memory_is_a_run_log_that_reads_back_what_was_added() -> None:
    memory = MemoryLog()
    log: RunLog = memory
    assert log.last_entry() is None
    log.append(build_entry())
    assert log.last_entry() == build_entry()
    assert memory.entries == (build_entry(),)
    assert memory.lines == (encode_line(build_entry()),)


@pytest.mark.parametrize("pin", [DISABLED, Unpinned()])
def test_a_pin_that_is_put_into_a_file_leaves_all_else_in_it(pin: SandboxPin | Unpinned) -> None:
    """As an old copy would; from before pins it has no such key at all."""
    run = made.InFiles()
    run.start(build_request())
    run.put_pin(pin)
    assert run.read_pin() == pin
    state = run.state.read_bytes()
    assert b"1.50" in state
    assert (b"sandbox_pin" in state) == isinstance(pin, PinV1)
    run.put_pin(pin)
    assert run.state.read_bytes() == state


OTHERS = b'"a": NaN, "b": "\\ud800", "c": 1.50, "c": 2'


@pytest.mark.parametrize(
    "state", [b"{%s, %p}", b"{%p , %s}", b'{"first": {"sandbox_pin": 1}, %p, %s }', b"{ %p }", b"{%s}", b"{}"]
)
def test_a_pin_is_put_into_whatever_the_core_reads(state: bytes) -> None:
    """What another writer's JSON has besides is no concern of the law: it is read as the core reads it."""
    run = made.InFiles()
    _ = run.state.write_bytes(state.replace(b"%s", OTHERS).replace(b"%p", b'"sandbox_pin" : {}'))
    rest = [piece for piece in (b"first", OTHERS) if piece in run.state.read_bytes()]
    for pin in (DISABLED, Unpinned(), build_pin(), Unpinned()):
        run.put_pin(pin)
        assert run.read_pin() == pin
        assert all(piece in run.state.read_bytes() for piece in rest)
        assert (b'"schema"' in run.state.read_bytes()) == isinstance(pin, PinV1)


@pytest.mark.parametrize("pin", [DISABLED, Unpinned()])
@pytest.mark.parametrize("state", [b"[]", b"", b'{"sandbox_pin": {}, "sandbox_pin": {}}'])
def test_a_state_that_the_core_can_not_read_is_damage_to_put_pin_too(
    state: bytes, pin: SandboxPin | Unpinned
) -> None:
    run = made.InFiles()
    _ = run.state.write_bytes(state)
    with pytest.raises(StateError):
        run.put_pin(pin)
    assert run.state.read_bytes() == state


def test_the_testing_module_needs_no_test_framework() -> None:
    program = "import sys, sandbox_pin.testing; print('\\n'.join(sys.modules))"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {"pytest", "hypothesis", "click"} & set(told.stdout.split())


def test_an_unpinned_state_is_no_start() -> None:
    """A law names a start that did not pin, and goes no further."""

    class Forgets(made.Sound):
        def start(self, request: SandboxRequest, /) -> None:
            del request

    assert Forgets().read_pin() == Unpinned()
    with pytest.raises(LawBroken, match="a new run is not pinned to its request"):
        check_refused_changes_nothing(Forgets)
