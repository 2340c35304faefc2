"""The pin inside a whole state: read exactly, put back alone."""

from typing import Final

import pytest
from hypothesis import example, given, settings

from core.strategies import (
    AT,
    BuiltState,
    Members,
    Refused,
    oracle_json,
    oracle_record,
    pins,
    refused,
    states,
)
from sandbox_pin import (
    ConfigurationError,
    PinSource,
    PinV1,
    PinV2,
    RunKind,
    SandboxMode,
    SandboxPin,
    StateError,
    Unpinned,
    encode_pin,
    read_pin,
    replace_pin,
)
from sandbox_pin.core.state import read_kind, read_protocol, replace_members

PIN: Final = PinV1(mode=SandboxMode.REQUIRED, source=PinSource.CREATED, recorded_at=AT)
RAW: Final = encode_pin(PIN).decode()
OTHER: Final = PinV2(mode=SandboxMode.DISABLED, source=PinSource.ACCEPTED, recorded_at=AT, backend="b")


def outcome(state: bytes, *, pinned_since: int | None = None) -> SandboxPin | Unpinned | Refused:
    """What reading gives; any exception but ``StateError`` goes through and fails the test."""
    try:
        return read_pin(state, pinned_since=pinned_since)
    except StateError as error:
        return refused(error)


def oracle(raw: bytes) -> SandboxPin | Unpinned | Refused:
    """What the design says of the pin in a state that tells nothing of its age."""
    value = oracle_json(raw)
    if not isinstance(value, Members):
        return Refused()
    found = [inner for key, inner in value if key == "sandbox_pin"]
    if len(found) > 1:
        return Refused()
    return (oracle_record(found[0]) if found else None) or Unpinned()


@settings(max_examples=100)
@given(states())
@example(BuiltState(b'{"\\u0073andbox_pin":{}}', []))
@example(BuiltState(b'{"sandbox_pin":{},"sandbox\\u005Fpin":{}}', []))
@example(BuiltState(b'{"a\\"sandbox_pin":1,"sandbox_pin":{}}', []))
def test_the_pin_is_what_the_standard_library_finds(state: BuiltState) -> None:
    """Whatever stands beside it, and however its key is spelled; a refusal is for the pin alone."""
    assert outcome(state.raw) == oracle(state.raw)


@settings(max_examples=60)
@given(states(), pins)
def test_replacing_keeps_every_other_byte(state: BuiltState, pin: SandboxPin) -> None:
    """The value's bytes are exchanged, or one member is added last; the result has the pin."""
    own = [part for part in state.parts if part.key == "sandbox_pin"]
    if len(own) > 1:
        with pytest.raises(StateError, match="given 2 times"):
            _ = replace_pin(state.raw, pin)
        return
    result = replace_pin(state.raw, pin)
    if own:
        assert result == state.raw[: own[0].start] + encode_pin(pin) + state.raw[own[0].end :]
    else:
        added = (b"," if state.parts else b"") + b'"sandbox_pin":' + encode_pin(pin)
        close = state.raw.rindex(b"}")
        assert result == state.raw[:close] + added + state.raw[close:]
    assert read_pin(result) == pin
    assert replace_pin(result, pin) == result


FOREIGN: Final = [
    pytest.param(rb'"\ud800"', id="lone surrogate"),
    pytest.param(b"NaN", id="NaN"),
    pytest.param(b"9" * 5000, id="5000 digits"),
    pytest.param(rb'"\u0073andbox_pin"', id="escaped key as a value"),
    pytest.param(b'"\xff"', id="not UTF-8"),
    pytest.param(b'"\xff\\u0061"', id="not UTF-8, with an escape"),
    pytest.param(b'["\xff",NaN]', id="not UTF-8, with NaN"),
    pytest.param(b"[" * 300 + b"]" * 300, id="300 deep"),
]


@pytest.mark.parametrize("value", FOREIGN)
def test_what_stands_elsewhere_decides_nothing_on_reading(value: bytes) -> None:
    """A foreign state is refused only for its pin, so that the two ways to read it must agree."""
    assert outcome(b'{"a":%b,"sandbox_pin":%b}' % (value, RAW.encode())) == PIN
    assert outcome(b'{"a":%b}' % value) == Unpinned()
    assert outcome(b'{"a":%b,"protocol":11}' % value, pinned_since=12) == Unpinned()


@pytest.mark.parametrize("value", FOREIGN)
def test_what_stands_elsewhere_decides_nothing_on_writing(value: bytes) -> None:
    """The same on writing, with and without the key."""
    assert read_pin(replace_pin(b'{"a":%b,"sandbox_pin":{}}' % value, PIN)) == PIN
    assert replace_pin(b'{"a":%b}' % value, PIN) == b'{"a":%b,"sandbox_pin":%b}' % (value, RAW.encode())


PROTOCOLS: Final = {
    "11": '"protocol":11,',
    "12": '"protocol":12,',
    "13": '"protocol":13,',
    "0": '"protocol":0,',
    "-1": '"protocol":-1,',
    "-0": '"protocol":-0,',
    "true": '"protocol":true,',
    "1.0": '"protocol":1.0,',
    "a text": '"protocol":"11",',
    "null": '"protocol":null,',
    "1e1": '"protocol":1e1,',
    "30 digits": f'"protocol":{"9" * 30},',
    "5000 digits": f'"protocol":{"9" * 5000},',
    "missing": "",
    "twice": '"protocol":11,"protocol":11,',
    "twice, escaped": '"protocol":11,"\\u0070rotocol":11,',
}
FOUND: Final = {
    "missing": "",
    "{}": '"sandbox_pin":{},',
    "{ }": '"sandbox_pin": { } ,',
    "null": '"sandbox_pin":null,',
    "empty text": '"sandbox_pin":"",',
    "[]": '"sandbox_pin":[],',
    "spaces": '"sandbox_pin":   ,',
    "a valid pin": f'"sandbox_pin": {RAW} ,',
}


@pytest.mark.parametrize("pinned_since", [12, None])
@pytest.mark.parametrize("found", FOUND)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_protocol_table(protocol: str, found: str, pinned_since: int | None) -> None:
    """A missing pin is "old" only where the state itself says so in one clear whole number."""
    state = f'{{{PROTOCOLS[protocol]}{FOUND[found]}"z":0}}'.encode()
    if found == "a valid pin":
        assert read_pin(state, pinned_since=pinned_since) == PIN
        return
    absent = found in {"missing", "{}", "{ }"}
    if absent and (pinned_since is None or protocol == "11"):
        assert read_pin(state, pinned_since=pinned_since) == Unpinned()
        return
    with pytest.raises(StateError) as caught:
        _ = read_pin(state, pinned_since=pinned_since)
    if found == "spaces":
        assert "not JSON" in caught.value.problem
    elif absent and protocol not in {"12", "13", "30 digits"}:
        assert caught.value.field == "protocol"
    else:
        assert caught.value.field == "sandbox_pin"


def test_each_way_to_have_no_pin_has_its_own_message() -> None:
    """Missing, ``{}``, null, an empty text, a list and another type are different findings."""
    messages = set()
    values = ["", *(f'"sandbox_pin":{value},' for value in ["{}", "null", '""', "[]", "1", "true", "1.5"])]
    for value in values:
        with pytest.raises(StateError) as caught:
            _ = read_pin(f'{{{value}"protocol":12}}'.encode())
        messages.add(str(caught.value))
    assert len(messages) == len(values)


@pytest.mark.parametrize("pinned_since", [1, 2, 12, 13, 100])
def test_the_first_protocol_with_a_pin_is_the_border(pinned_since: int) -> None:
    """Below it a missing pin is old; from it on, damage."""
    for protocol in range(1, 102):
        found = outcome(b'{"protocol":%d}' % protocol, pinned_since=pinned_since)
        assert isinstance(found, Unpinned) == (protocol < pinned_since)
        assert read_protocol(b'{"protocol":%d}' % protocol) == protocol


def test_an_error_in_the_pin_names_the_whole_path() -> None:
    """A field of the pin is told with the pin's own name before it."""
    with pytest.raises(StateError) as caught:
        _ = read_pin(b'{"sandbox_pin":{"schema":9}}')
    assert caught.value.field == "sandbox_pin.schema"


@pytest.mark.parametrize("state", [b"", b"[]", b"null", b"{", b'{"a":1}x', b"\xef\xbb\xbf{}", b"\0" * 9])
def test_what_is_no_object_is_no_state(state: bytes) -> None:
    """Neither read nor written, whatever is known of its age."""
    for pinned_since in (12, None):
        with pytest.raises(StateError):
            _ = read_pin(state, pinned_since=pinned_since)
    with pytest.raises(StateError):
        _ = replace_pin(state, PIN)


def test_a_pin_that_would_not_read_back_is_not_put_into_a_state() -> None:
    """Writing a state is writing a pin."""
    with pytest.raises(ConfigurationError):
        _ = replace_pin(b"{}", PinV1(mode=SandboxMode.REQUIRED, source=PinSource.CREATED, recorded_at=""))


@pytest.mark.parametrize(
    "state",
    [
        '{"sandbox_pin":HERE}',
        '{ "sandbox_pin" : HERE , "x":1}',
        '{"sandbox_pin":HERE,"x":{"sandbox_pin":PIN}}',
        '{"x":{"sandbox_pin":PIN},"sandbox_pin":HERE}',
        '{"x":[{"sandbox_pin":PIN}],"sandbox_pin":HERE,"y":[{"sandbox_pin":PIN}]}',
        '{"sandbox\\u005fpin":HERE,"x":{"sandbox_pin":PIN}}',
        '{"x":{"sandbox_pin":PIN},"sandbox\\u005fpin":HERE}',
        '{"sandbox_pin":HERE,"say \\"sandbox_pin":PIN}',
        '{"sandbox_pin":HERE,"say \\\\":{"sandbox_pin":PIN}}',
        '{"sandbox_pin":HERE,"x":PIN}',
        '{"x":PIN,"sandbox_pin":HERE}',
        '{"sandbox_pin":HERE,"x":"sandbox_pin"}',
        '{"sandbox_pin":HERE,"x":["sandbox_pin",PIN]}',
        '{"sandbox_pin":HERE,"x":NaN}',
        '{"x":NaN,"sandbox_pin":HERE}',
        '{"x":"\\ud800","y":{"sandbox_pin":PIN},"sandbox_pin":HERE,"z":{"sandbox_pin":PIN}}',
    ],
)
def test_no_other_place_that_looks_like_the_pin_is_replaced(state: str) -> None:
    """A nested key, a text, a key that ends alike: only the state's own member is the pin."""
    old, new = encode_pin(PIN), encode_pin(OTHER)
    before = state.replace("HERE", old.decode()).replace("PIN", old.decode()).encode()
    after = state.replace("HERE", new.decode()).replace("PIN", old.decode()).encode()
    assert replace_pin(before, OTHER) == after
    assert read_pin(after, pinned_since=None) == OTHER


@pytest.mark.parametrize(
    "state", ['{"x":"sandbox_pin"}', '{"x":{"sandbox_pin":1}}', "{}", '{"sandbox_pinned":1}']
)
def test_a_state_without_a_pin_gets_it_behind_its_last_member(state: str) -> None:
    """Whatever else in it looks like one."""
    comma = "" if state == "{}" else ","
    assert replace_pin(state.encode(), PIN) == f'{state[:-1]}{comma}"sandbox_pin":{RAW}}}'.encode()


def test_members_are_set_one_by_one() -> None:
    """A known member is exchanged, a new one goes last, and a repeated one is refused."""
    assert replace_members(b'{ "a" : 1 }', {"a": b"2", "b": b"[]"}) == b'{ "a" : 2 ,"b":[]}'
    assert replace_members(b"{}", {"a": b"1"}) == b'{"a":1}'
    assert replace_members(b"{}", {}) == b"{}"
    with pytest.raises(StateError, match="a: given 2 times"):
        _ = replace_members(b'{"a":1,"a":2}', {"a": b"3"})


def test_a_kind_is_read_where_a_state_says_one_and_nothing_else() -> None:
    assert read_kind(b'{"kind":"remote"}') is RunKind.REMOTE
    assert read_kind(rb'{"k\u0069nd":"l\u006fcal"}') is RunKind.LOCAL
    for other in (b"{}", b'{"kind":"task"}', b'{"kind":1}', b'{"a":{"kind":"local"}}'):
        assert read_kind(other) is None
    with pytest.raises(StateError, match="kind: given 2 times"):
        _ = read_kind(b'{"kind":"local","kind":"remote"}')


def test_a_key_repeated_endlessly_is_refused_as_one_repeated_once() -> None:
    """A state of some megabytes takes no more time for it: one that took minutes would hang an audit."""
    many = 300_000
    state = b"{" + b'"sandbox_pin":1,' * many + b'"a":1}'
    with pytest.raises(StateError, match=f"given {many} times"):
        _ = read_pin(state)
