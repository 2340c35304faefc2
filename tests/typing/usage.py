"""Typed usage of the public names: checked, never run. No checker may find anything here (``check.py``)."""

# pyright: reportUnusedCallResult=false
# What assert_type returns is of no use here.

from collections.abc import Sequence
from pathlib import Path
from typing import assert_never, assert_type

from sandbox_pin import (
    Accept,
    Decision,
    Disputed,
    Fact,
    FromDefault,
    FromFile,
    FromFlag,
    FromProgram,
    PinChange,
    PinV1,
    PinV2,
    Provenance,
    Refuse,
    RunKind,
    SandboxMode,
    SandboxPin,
    SandboxRequest,
    StateError,
    Strength,
    Strengthen,
    Unchanged,
    Unpinned,
    Upgrade,
    WeakerFact,
    create_pin,
    decide,
    decode_pin,
    describe_pin,
    encode_pin,
    mode_strength,
    pin_in_force,
    read_pin,
    replace_pin,
)
from sandbox_pin.shell import (
    Applied,
    Capable,
    ConfigurationFile,
    Enforce,
    Entry,
    FileRunLog,
    Garbage,
    GateDecision,
    HostCapability,
    Incapable,
    Item,
    ItemRole,
    LaunchTree,
    Profile,
    RefuseLaunch,
    Report,
    RunLog,
    RunUnenforced,
    SavePin,
    Violation,
    apply_decision,
    apply_request,
    create_logged_pin,
    decode_line,
    describe_decision,
    describe_held,
    describe_violation,
    encode_line,
    find_bubblewrap,
    gather_item,
    gather_tree,
    interpreter_and_package,
    judge_placement,
    launch_arguments,
    load_configuration,
    now,
    open_memory,
    operator_name,
    pass_gate,
    probe_host,
    read_report,
    write_file,
)
from sandbox_pin.testing import (
    LAWS,
    LawBroken,
    MakeOrchestrator,
    MemoryLog,
    OrchestratorUnderTest,
    StateInFile,
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

LOCAL = RunKind.LOCAL


def the_core(raw: bytes, text: str) -> None:
    """The pure calls."""
    request = assert_type(SandboxRequest(mode=SandboxMode.REQUIRED), SandboxRequest)
    pin = assert_type(create_pin(request, kind=LOCAL, at="2026-01-01T00:00:00Z"), SandboxPin)
    assert_type(create_pin(request, kind=RunKind.REMOTE, at="x", parent=(pin, LOCAL)), SandboxPin)
    assert_type(mode_strength(SandboxMode.REQUIRED, LOCAL), Strength)
    assert_type(decode_pin(raw), SandboxPin | None)
    assert_type(decode_pin(text), SandboxPin | None)
    assert_type(encode_pin(pin), bytes)
    assert_type(encode_pin(None), bytes)
    assert_type(describe_pin(pin), str)
    state = assert_type(read_pin(raw), SandboxPin | Unpinned)
    assert_type(read_pin(raw, pinned_since=None), SandboxPin | Unpinned)
    assert_type(replace_pin(raw, pin), bytes)
    in_force = assert_type(pin_in_force(state, pin, kind=LOCAL), SandboxPin | Disputed | Unpinned)
    assert_type(pin_in_force(state, None, kind=LOCAL), SandboxPin | Disputed | Unpinned)
    assert_type(decide(in_force, request, kind=LOCAL, accept_config_change=False, at="x"), Decision)
    assert_type(StateError("found").located(file="f"), StateError)


def after(made: Decision) -> SandboxPin | Disputed:
    """A match over all decisions is exhaustive; what each of them holds."""
    match made:
        case Refuse(weaker=weaker, kind=kind):
            assert_type(weaker, tuple[WeakerFact, ...])
            assert_type(kind, RunKind)
            assert_type(weaker[0].fact, Fact)
            assert_type(weaker[0].requested_from, Provenance)
            return assert_type(made.pin, SandboxPin | Disputed)
        case Accept(before=accepted):
            assert_type(accepted, SandboxPin | Disputed)
            assert_type(made.entry, PinChange)
            return assert_type(made.pin, SandboxPin)
        case Strengthen(before=lower):
            return assert_type(lower, SandboxPin)
        case Upgrade(before=before):
            assert_type(before, SandboxPin | Unpinned)
            return assert_type(made.pin, SandboxPin)
        case Unchanged(pin=pin):
            return assert_type(pin, SandboxPin)
        case _:
            assert_never(made)


def backend_of(pin: SandboxPin) -> str | None:
    """The two schemas are told apart by their types."""
    match pin:
        case PinV1():
            return None
        case PinV2(backend=backend):
            return assert_type(backend, str)
        case _:
            assert_never(pin)


def told(provenance: Provenance) -> str | None:
    """The four kinds of provenance."""
    match provenance:
        case FromFlag(flag=flag):
            return flag
        case FromFile(path=path):
            return path
        case FromDefault(file=file):
            return assert_type(file, str | None)
        case FromProgram():
            return None
        case _:
            assert_never(provenance)


def the_rule_in_the_shell(log: RunLog, save: SavePin, state: SandboxPin | Unpinned, made: Decision) -> None:
    """A decision carried out, in both styles, over anybody's log."""
    request = SandboxRequest(mode=SandboxMode.REQUIRED)
    assert_type(
        apply_decision(made, state=state, log=log, save=save, run="r", operator=operator_name()),
        Applied | None,
    )
    assert_type(
        apply_request(
            request, state=state, log=log, save=save, kind=LOCAL, run="r", accept_config_change=False
        ),
        Decision,
    )
    assert_type(create_logged_pin(request, log=log, kind=LOCAL, run="r", workspace="/w"), SandboxPin)
    file_log: RunLog = FileRunLog(3, "log", shown_as="log")
    memory_log: RunLog = MemoryLog()
    for each in (file_log, memory_log):
        assert_type(each.last_entry(), Entry | None)
    assert_type(decode_line(b"{}"), Entry | Garbage)
    assert_type(encode_line(build_entry()), bytes)
    assert_type(describe_decision(made), str)
    assert_type(describe_held(state), str)
    assert_type(now(), str)
    write_file("f", b"")


def the_launch(state: SandboxPin, configuration: ConfigurationFile) -> list[str] | None:
    """Placement, host, gate, and the arguments of one launch."""
    profile = Profile(workspace="/w")
    program = assert_type(find_bubblewrap(), str | None)
    host = assert_type(probe_host(program, profile), HostCapability)
    match host:
        case Capable(backend=backend):
            assert_type(backend, str)
        case Incapable(missing=missing):
            assert_type(missing, str)
        case _:
            assert_never(host)
    gate = assert_type(pass_gate(state.mode, host, kind=LOCAL), GateDecision)
    with open_memory("status") as status:
        assert_type(read_report(status), Report)
    tree = assert_type(gather_tree("/w"), LaunchTree)
    item = assert_type(gather_item(ItemRole.STATE, "/s"), Item)
    assert_type(interpreter_and_package(), tuple[Item, ...])
    for violation in assert_type(judge_placement([item], [tree]), tuple[Violation, ...]):
        assert_type(describe_violation(violation), str)
    assert_type(load_configuration("sandbox.toml"), ConfigurationFile)
    assert_type(configuration.configuration.mode, SandboxMode | None)
    match gate:
        case Enforce() | RunUnenforced():
            return assert_type(launch_arguments(gate, ["/bin/true"], profile), list[str])
        case RefuseLaunch():
            return None
        case _:
            assert_never(gate)


class Adapter:
    """An adapter needs no base class."""

    def start(self, request: SandboxRequest, /) -> None:
        """Starts."""

    def command(self, request: SandboxRequest, /, *, accept_config_change: bool) -> bool:
        """Refuses."""
        return accept_config_change and request.mode is SandboxMode.REQUIRED

    def read_pin(self) -> SandboxPin | Unpinned:
        """None."""
        return Unpinned()

    def read_log(self) -> Sequence[bytes]:
        """Nothing."""
        return MemoryLog().lines

    def put_pin(self, pin: SandboxPin | Unpinned, /) -> None:
        """Puts."""

    def break_log(self) -> None:
        """Breaks."""


class InAFile(StateInFile, Adapter):
    """One of a state in a file."""

    state = Path("state.json")


def the_testing_module(make: MakeOrchestrator) -> None:
    """Builders, log and laws."""
    assert_type(build_pin(), SandboxPin)
    assert_type(build_pin(mode=SandboxMode.DISABLED, backend="bubblewrap"), SandboxPin)
    assert_type(build_request(mode=SandboxMode.DISABLED), SandboxRequest)
    assert_type(MemoryLog().entries, tuple[Entry, ...])
    for law in LAWS:
        law(make)
        law(Adapter)
        law(InAFile)
    assert_type(make(), OrchestratorUnderTest)
    check_refused_changes_nothing(Adapter)
    check_as_strong_changes_nothing(Adapter)
    check_stronger_raises_the_pin(Adapter)
    check_accept_is_logged_first(Adapter)
    check_consent_is_for_one_command(Adapter)
    check_witness_holds(Adapter)
    check_environment_accepts_nothing(Adapter, variables=["NAME"])
    try:
        check_pin_never_weaker([encode_line(build_entry())])
    except LawBroken as error:
        assert_type(error, LawBroken)
