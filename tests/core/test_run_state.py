"""Our own state files: each field of its type, whatever else stands beside it."""

import json
from typing import Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from core.strategies import AT, foreign_values, kinds, pins, texts, times
from sandbox_pin import (
    ConfigurationError,
    PinSource,
    PinV1,
    RunKind,
    SandboxMode,
    SandboxPin,
    StateError,
    Unpinned,
)
from sandbox_pin.core.run_state import (
    NEWER,
    PROTOCOL,
    LaunchProcess,
    RunState,
    RunStatus,
    decode_own_fields,
    decode_run_state,
    encode_changes,
    encode_run_state,
)
from sandbox_pin.core.state import replace_members

PIN: Final = PinV1(mode=SandboxMode.REQUIRED, source=PinSource.CREATED, recorded_at=AT)
STATE: Final = RunState(
    protocol=PROTOCOL,
    run="r",
    kind=RunKind.LOCAL,
    status=RunStatus.READY,
    workspace="/work",
    created_at=AT,
)
RAW: Final = encode_run_state(STATE, PIN)

run_states: Final[SearchStrategy[RunState]] = st.builds(
    RunState,
    protocol=st.just(PROTOCOL),
    run=st.just("r"),
    kind=kinds,
    status=st.sampled_from(RunStatus),
    workspace=st.none() | texts,
    created_at=times,
    parent=st.none() | st.just("parent"),
    command=st.lists(texts, max_size=3).map(tuple),
    launch=st.none()
    | st.builds(LaunchProcess, pid=st.integers(1, 1 << 22), started=st.integers(0, 1 << 40), boot=texts),
)


def changed(**fields: object) -> bytes:
    """The state with these fields in place of its own; ``...`` leaves one out."""
    members = {**json.loads(RAW), **fields}
    return json.dumps({name: value for name, value in members.items() if value is not ...}).encode()


OLD: Final = changed(protocol=11, sandbox_pin=...)
"""A state from before pins."""


@given(run_states, pins)
def test_what_is_written_reads_back_equal(state: RunState, pin: SandboxPin) -> None:
    raw = encode_run_state(state, pin)
    assert raw.endswith(b"}\n")
    assert decode_run_state(raw, run="r") == (state, pin)


@given(run_states, run_states, pins)
def test_changes_are_those_fields_alone_and_lead_to_the_changed_state(
    state: RunState, after: RunState, pin: SandboxPin
) -> None:
    changes = encode_changes(state, after)
    for name in RunState.__struct_fields__:
        assert (name in changes) == (getattr(state, name) != getattr(after, name))
    raw = replace_members(encode_run_state(state, pin), changes)
    assert decode_run_state(raw, run="r") == (after, pin)


@given(st.lists(st.tuples(st.sampled_from(["a", "Run", "statuses", "é"]), foreign_values), max_size=3))
def test_whatever_else_stands_in_it_is_not_looked_at(others: list[tuple[str, str]]) -> None:
    """Repeated keys, numbers of no end and half a surrogate pair, as long as they are not in our fields."""
    beside = "".join(f",{json.dumps(key, ensure_ascii=False)}:{value}" for key, value in others)
    raw = RAW.rstrip()[:-1] + f"{beside}}}".encode()
    assert decode_run_state(raw, run="r") == (STATE, PIN)


def test_a_state_from_before_pins_has_none() -> None:
    assert decode_run_state(OLD, run="r")[1] == Unpinned()


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"protocol": ...}, "protocol"),
        ({"protocol": "12"}, "protocol"),
        ({"protocol": 0}, "protocol"),
        ({"run": ...}, "run"),
        ({"run": ""}, "run"),
        ({"run": "another"}, "run"),
        ({"kind": ...}, "kind"),
        ({"kind": "Local"}, "kind"),
        ({"kind": None}, "kind"),
        ({"status": "done"}, "status"),
        ({"status": 1}, "status"),
        ({"workspace": 1}, "workspace"),
        ({"workspace": ...}, "workspace"),
        ({"created_at": ""}, "created_at"),
        ({"parent": 1}, "parent"),
        ({"command": "true"}, "command"),
        ({"command": [1]}, "command"),
        ({"launch": {}}, "launch"),
        ({"launch": {"pid": 0, "started": 1, "boot": "b"}}, "launch.pid"),
        ({"launch": {"pid": 1, "started": -1, "boot": "b"}}, "launch.started"),
        ({"launch": {"pid": 1, "started": 1, "boot": "b", "name": "x"}}, "launch.name"),
        ({"sandbox_pin": ...}, "sandbox_pin"),
        ({"sandbox_pin": {}}, "sandbox_pin"),
        ({"sandbox_pin": None}, "sandbox_pin"),
    ],
)
def test_a_field_of_another_type_is_named(fields: dict[str, object], field: str) -> None:
    with pytest.raises(StateError) as caught:
        decode_run_state(changed(**fields), run="r")
    assert (caught.value.field or "").startswith(field)
    assert field.split(".", maxsplit=1)[0] in str(caught.value)


@pytest.mark.parametrize(
    ("whole", "name"),
    [
        *((RAW, name) for name in ("run", "kind", "status", "launch", "protocol", "sandbox_pin")),
        *((OLD, name) for name in ("run", "kind", "status", "launch", "protocol")),
    ],
)
def test_a_field_of_ours_given_twice_is_refused(whole: bytes, name: str) -> None:
    """Which of the two a reader takes differs from reader to reader."""
    value = msgspec.json.encode(json.loads(whole).get(name)).decode()
    twice = whole.rstrip()[:-1] + f',"{name}":{value}}}'.encode()
    with pytest.raises(StateError, match="twice|2 times"):
        decode_run_state(twice, run="r")


@pytest.mark.parametrize("name", ["pid", "started", "boot"])
def test_a_key_of_the_launch_given_twice_is_refused(name: str) -> None:
    """Two readers must not take two processes for the one that makes a run busy."""
    process = LaunchProcess(pid=1, started=1, boot="b")
    raw = encode_run_state(msgspec.structs.replace(STATE, launch=process), PIN)
    assert decode_run_state(raw, run="r")[0].launch == process
    (before,) = (line for line in raw.splitlines() if line.strip().startswith(f'"{name}"'.encode()))
    twice = raw.replace(before, before.rstrip(b",") + b"," + before)
    for decode in (decode_run_state, decode_own_fields):
        with pytest.raises(StateError, match=f"{name}: given twice"):
            decode(twice, run="r")


def test_a_newer_protocol_is_no_damage() -> None:
    """It is told apart, so that nobody recovers a state that is whole."""
    with pytest.raises(StateError, match="newer") as caught:
        decode_own_fields(changed(protocol=PROTOCOL + 1), run="r")
    assert (caught.value.field, caught.value.remedy) == ("protocol", NEWER)


@pytest.mark.parametrize(
    "raw", [b"", b"[]", b"null", b"\xff", b"{", RAW[:-3], RAW + b"x", b"\xef\xbb\xbf" + RAW]
)
def test_what_is_no_object_is_damage(raw: bytes) -> None:
    with pytest.raises(StateError):
        decode_run_state(raw, run="r")


def test_half_a_surrogate_pair_can_t_be_written() -> None:
    """An argument of a command that is not UTF-8 is such a text; no other error leaves the core."""
    odd = msgspec.structs.replace(STATE, command=("printf", "\udcff"))
    with pytest.raises(ConfigurationError, match="can't be written"):
        encode_run_state(odd, PIN)
    with pytest.raises(ConfigurationError, match="can't be written"):
        encode_changes(STATE, odd)
