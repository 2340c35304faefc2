"""The run log's entries: one event, one line, and nothing torn that reads as another."""

import json
from typing import Final

import msgspec
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from core.strategies import (
    AT,
    ENTRY_STRATEGIES,
    LATER,
    LINE_ENDS,
    Members,
    Refused,
    entries,
    held_pins,
    kinds,
    oracle_json,
    refused,
    requests,
    texts,
)
from sandbox_pin import (
    Accept,
    ConfigurationError,
    Disputed,
    PinSource,
    PinV1,
    RunKind,
    SandboxMode,
    SandboxPin,
    SandboxRequest,
    StateError,
    Strengthen,
    Unpinned,
    Upgrade,
    decide,
    pin_in_force,
)
from sandbox_pin.core.event import (
    Entry,
    LaunchEnded,
    LaunchStarted,
    PinAccepted,
    PinStrengthened,
    PinUpgraded,
    change_entry,
)
from sandbox_pin.core.log_line import Garbage, decode_line, encode_line
from sandbox_pin.core.record import make_pin

PIN: Final = PinV1(mode=SandboxMode.REQUIRED, source=PinSource.CREATED, recorded_at=AT)
ENDED: Final = LaunchEnded(at=AT, run="r", kind=RunKind.LOCAL, pin=PIN, ran=True, exit_code=0, signal=None)
LINE: Final = encode_line(ENDED)


@pytest.mark.parametrize("event", ENTRY_STRATEGIES)
@given(data=st.data())
@settings(max_examples=15)
def test_an_entry_reads_back_equal(event: str, data: st.DataObject) -> None:
    """decode(encode(entry)) == entry for every event, and its JSON is tagged by it."""
    entry = data.draw(ENTRY_STRATEGIES[event])
    line = encode_line(entry)
    assert decode_line(line) == entry
    assert json.loads(line)["event"] == event


@given(entries)
def test_an_entry_is_one_line_for_every_reader_of_lines(entry: Entry) -> None:
    """Whatever its texts hold: a path can't forge a second entry."""
    line = encode_line(entry)
    assert line.splitlines() == [line]
    assert line.decode().splitlines() == [line.decode()]


@pytest.mark.parametrize("end", [*LINE_ENDS, "\r\n"], ids=ascii)
def test_each_line_end_in_a_path_is_escaped(end: str) -> None:
    """CR, LF, VT, FF, the separators of ASCII and of Unicode, one by one."""
    path = f"/a{end}{LINE.decode()}{end}"
    entry = LaunchStarted(
        at=AT,
        run="r",
        kind=RunKind.LOCAL,
        pin=PIN,
        asked=SandboxMode.REQUIRED,
        enforced=False,
        backend=None,
        why_not=path,
        program=path,
        workspace=path,
        writable=(path, end),
    )
    line = encode_line(entry)
    assert len(line.decode().splitlines()) == len(line.splitlines()) == 1
    assert decode_line(line) == entry


def test_what_ends_no_line_is_logged_as_it_is() -> None:
    """Whoever looks for a path in a log with a tool for text finds it."""
    path = "".join(map(chr, range(0x20, 0x7F))).replace('"', "").replace("\\", "") + "ä\u2027"
    entry = LaunchEnded(at=AT, run=path, kind=RunKind.LOCAL, pin=PIN, ran=True, exit_code=0, signal=path)
    assert encode_line(entry).count(path.encode()) == 2


def test_each_line_end_is_escaped_as_json_does_it() -> None:
    run = "".join(LINE_ENDS)
    line = encode_line(msgspec.structs.replace(ENDED, run=run))
    assert line == LINE.replace(b'"r"', json.dumps(run).encode())


def test_a_run_s_name_has_at_least_one_character_and_255_at_the_most() -> None:
    """As many as a folder's name may have bytes on the common file systems."""
    longest = msgspec.structs.replace(ENDED, run="r" * 255)
    assert decode_line(encode_line(longest)) == longest
    for name in ("", "r" * 256):
        with pytest.raises(StateError, match="run: "):
            _ = decode_line(LINE.replace(b'"r"', f'"{name}"'.encode()))


def outcome(line: bytes) -> Entry | Garbage | Refused:
    """What reading gives; any exception but ``StateError`` goes through and fails the test."""
    try:
        return decode_line(line)
    except StateError as error:
        return refused(error)


@settings(max_examples=8)
@given(entries)
def test_a_torn_line_is_never_an_entry(entry: Entry) -> None:
    """Cut anywhere it is garbage, and so it is with a whole entry glued behind the cut."""
    line = encode_line(entry)
    for end in range(len(line)):
        assert isinstance(outcome(line[:end]), Garbage | Refused)
        if end:
            assert isinstance(outcome(line[:end] + LINE), Garbage | Refused)


@given(st.binary(max_size=60))
def test_any_bytes_are_an_entry_garbage_or_damage(line: bytes) -> None:
    """No input makes the decoder raise anything else."""
    assert isinstance(outcome(line), Garbage | Refused)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b" \t", id="spaces"),
        pytest.param(b"\0" * 512, id="zeros"),
        pytest.param(LINE[:-1], id="cut"),
        pytest.param(LINE[1:], id="cut in front"),
        pytest.param(b"\0" * 8 + LINE, id="zeros in front"),
        pytest.param(LINE + LINE, id="two in one"),
        pytest.param(b"[]", id="list"),
        pytest.param(b"null", id="null"),
        pytest.param(b'"text"', id="text"),
        pytest.param(b"1", id="number"),
        pytest.param(b"garbage", id="words"),
        pytest.param(b"\xef\xbb\xbf" + LINE, id="byte order mark"),
        pytest.param(b"[" * 10**5, id="deep list"),
    ],
)
def test_what_is_no_json_object_is_garbage(line: bytes) -> None:
    """A crash leaves such lines; they are passed over, and told."""
    found = decode_line(line)
    assert isinstance(found, Garbage)
    assert found.why
    assert "jSON" not in found.why


def swapped(old: bytes, new: bytes) -> bytes:
    """A whole line with one thing exchanged."""
    assert old in LINE
    return LINE.replace(old, new, 1)


WHOLE: Final = [
    pytest.param(swapped(b'"launch_ended"', b'"launch_paused"'), "event", id="unknown event"),
    pytest.param(swapped(b'"event":"launch_ended",', b""), "event", id="no event"),
    pytest.param(b"{}", "event", id="empty object"),
    pytest.param(swapped(b'"schema":1', b'"schema":9'), "pin.schema", id="unknown schema"),
    pytest.param(swapped(b'"schema":1', b'"schema":true'), "pin.schema", id="true as the schema"),
    pytest.param(swapped(b'"schema":1,', b""), "pin.schema", id="no schema"),
    pytest.param(swapped(b'"ran":true', b'"ran":true,"x":1'), "x", id="extra key"),
    pytest.param(swapped(b'"schema":1', b'"schema":1,"x":1'), "pin.x", id="extra key in the pin"),
    pytest.param(swapped(b'"ran":true,', b""), "ran", id="missing key"),
    pytest.param(swapped(b'"ran":true', b'"ran":1'), "ran", id="wrong type"),
    pytest.param(swapped(b'"local"', b'"Local"'), "kind", id="unknown kind"),
    pytest.param(swapped(b'"run":"r"', b'"run":""'), "run", id="empty run"),
    pytest.param(swapped(b'"pin":{', b'"pin":{},"x":{'), None, id="no pin"),
]


@pytest.mark.parametrize(("line", "field"), WHOLE)
def test_a_whole_object_that_is_no_entry_is_damage(line: bytes, field: str | None) -> None:
    """Passing it over would pass over the pin that it carries; the error names the field."""
    with pytest.raises(StateError) as caught:
        _ = decode_line(line)
    if field is not None:
        assert caught.value.field == field


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(b"[" * 10**4 + b"]" * 10**4, id="deep nesting"),
        pytest.param(b"NaN", id="NaN"),
        pytest.param(rb'"\ud800"', id="lone surrogate"),
        pytest.param(b"9" * 5000, id="5000 digits"),
        pytest.param(b'"\xff"', id="not UTF-8"),
    ],
)
def test_a_whole_object_with_a_strange_value_is_damage(value: bytes) -> None:
    """It has both its braces, so that no crash tore it: its pin must not be passed over."""
    for line in (swapped(b'"exit_code":0', b'"exit_code":' + value), b'{"event":"new","x":' + value + b"}"):
        with pytest.raises(StateError):
            _ = decode_line(line)


def paths(value: object) -> list[tuple[bytes, bytes]]:
    """Each member of each object in a JSON value, as text, and the text of its object behind the brace."""
    found: list[tuple[bytes, bytes]] = []
    if isinstance(value, dict):
        inside = msgspec.json.encode(value)[1:]
        for key, inner in value.items():
            found.append((inside, msgspec.json.encode({key: inner})[1:-1]))
            found.extend(paths(inner))
    elif isinstance(value, list):
        for inner in value:
            found.extend(paths(inner))
    return found


@settings(max_examples=15)
@given(entries)
def test_a_repeated_key_at_any_depth_is_refused(entry: Entry) -> None:
    """Also with an equal value, and with none of the line's other bytes changed."""
    line = encode_line(entry)
    compact = msgspec.json.encode(msgspec.json.decode(line))
    assert decode_line(compact) == entry
    for inside, member in paths(msgspec.json.decode(line)):
        twice = compact.replace(b"{" + inside, b"{" + member + b"," + inside, 1)
        assert twice != compact
        found = outcome(twice)
        assert isinstance(found, Refused)
        assert "given twice" in found.why


@given(entries, st.sampled_from(["  ", "\t", " \r"]))
def test_spaces_carry_no_meaning(entry: Entry, space: str) -> None:
    """Another program's spelling of the same entry is the same entry."""
    value = json.loads(encode_line(entry))
    spelled = json.dumps(value, separators=(f",{space}", f":{space}"), ensure_ascii=False)
    assert decode_line(spelled.encode() + space.encode()) == entry
    assert isinstance(oracle_json(spelled.encode()), Members)


@pytest.mark.parametrize(
    "value",
    [
        "a\ud800",
        "\udc80",
        object(),
        [],
        {"a": 1},
        1.5,
        float("nan"),
        10**5000,
        10**25,
        msgspec.UNSET,
        msgspec.Raw(b'"r","run":"r"'),
        msgspec.Raw(b'"r"\n'),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_would_not_read_back_is_not_logged(value: object) -> None:
    """An entry with a value that no reader takes is a ConfigurationError, and nothing else."""
    with pytest.raises(ConfigurationError):
        _ = encode_line(msgspec.structs.replace(ENDED, run=value))


@pytest.mark.parametrize("value", [PIN, Garbage(why="x"), {}, None, 1])
def test_what_is_no_entry_is_not_logged(value: object) -> None:
    """Nothing but an entry goes into a log."""
    with pytest.raises(ConfigurationError):
        _ = encode_line(value)  # type: ignore[arg-type]  # a program without a type checker


@example(
    make_pin(mode=SandboxMode.REQUIRED, source=PinSource.CREATED, recorded_at="x", backend="bubblewrap"),
    make_pin(mode=SandboxMode.REQUIRED, source=PinSource.CREATED, recorded_at="x", backend="other"),
    SandboxRequest(mode=SandboxMode.REQUIRED),
    RunKind.REMOTE,
    "r",
    "root",
)
@given(
    held_pins | st.just(Unpinned()),
    st.none() | held_pins,
    requests,
    kinds,
    texts.filter(bool),
    texts,
)
def test_a_change_is_logged_as_it_was_decided(
    state: SandboxPin | Unpinned,
    witness: SandboxPin | None,
    request: SandboxRequest,
    kind: RunKind,
    run: str,
    operator: str,
) -> None:
    """Each decision that changes the pin has its own event, with both pins, the request and the operator."""
    before = pin_in_force(state, witness, kind=kind)
    decision = decide(before, request, kind=kind, accept_config_change=True, at=LATER)
    assume(isinstance(decision, Accept | Strengthen | Upgrade))
    assert isinstance(decision, Accept | Strengthen | Upgrade)
    entry = change_entry(decision, run=run, operator=operator)
    events: dict[type, type] = {
        Accept: PinAccepted,
        Strengthen: PinStrengthened,
        Upgrade: PinUpgraded,
    }
    assert type(entry) is events[type(decision)]
    assert (entry.at, entry.run, entry.kind, entry.operator) == (LATER, run, kind, operator)
    assert (entry.pin, entry.request) == (decision.pin, request)
    match before:
        case Unpinned():
            assert (entry.before, entry.disputed) == (None, None)
        case Disputed():
            assert (entry.before, entry.disputed) == (before.state, before.witness)
        case _:
            assert (entry.before, entry.disputed) == (before, None)
    assert decode_line(encode_line(entry)) == entry


@given(entries)
def test_an_entry_can_not_be_changed(entry: Entry) -> None:
    """Frozen, and a value that can be a key."""
    assert hash(entry) == hash(decode_line(encode_line(entry)))
    for name in entry.__struct_fields__:
        with pytest.raises(AttributeError):
            setattr(entry, name, None)
