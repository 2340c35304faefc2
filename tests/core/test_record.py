"""The record: nothing unclear in, nothing out that would not read back equal."""

import json
from contextlib import suppress
from itertools import product
from typing import Final

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.strategies import (
    AT,
    Refused,
    any_texts,
    foreign_values,
    keys,
    members_of,
    objects,
    oracle_json,
    oracle_record,
    pins,
    record_texts,
    refused,
)
from sandbox_pin import (
    ConfigurationError,
    Disputed,
    PinSource,
    PinV1,
    PinV2,
    SandboxMode,
    SandboxPin,
    StateError,
    Unpinned,
    decode_pin,
    describe_pin,
    encode_pin,
)
from sandbox_pin.core.record import make_pin, pinned_backend

V1: Final = PinV1(mode=SandboxMode.REQUIRED, source=PinSource.CREATED, recorded_at=AT)
V2: Final = PinV2(mode=SandboxMode.REQUIRED, source=PinSource.CREATED, recorded_at=AT, backend="bubblewrap")
RAW: Final = encode_pin(V1)


def outcome(raw: bytes | str) -> SandboxPin | Refused | None:
    """What decoding gives; any exception but ``StateError`` goes through and fails the test."""
    try:
        return decode_pin(raw)
    except StateError as error:
        return refused(error)


def refusal(raw: bytes | str) -> StateError:
    """The error that this text is refused with."""
    with pytest.raises(StateError) as caught:
        _ = decode_pin(raw)
    return caught.value


@given(pins)
def test_what_is_encoded_reads_back_equal(pin: SandboxPin) -> None:
    """decode(encode(pin)) == pin, as bytes and as text."""
    raw = encode_pin(pin)
    assert decode_pin(raw) == pin
    assert decode_pin(raw.decode()) == pin


def test_no_pin_is_an_empty_object() -> None:
    """encode(None) is ``{}``, and reads back as None with any spaces."""
    assert encode_pin(None) == b"{}"
    assert decode_pin(" {\n} ") is None


@given(record_texts())
def test_every_spelling_of_a_record_is_read(text: str) -> None:
    """Order, spaces and escapes carry no meaning."""
    found = outcome(text)
    assert found == oracle_record(oracle_json(text.encode()))
    assert not isinstance(found, Refused)


wild_values = (
    any_texts
    | st.text(max_size=70)
    | st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.binary(max_size=4)
    | st.lists(st.text(), max_size=2)
    | st.just(object())
    | st.just(msgspec.UNSET)
    | st.sampled_from(
        [msgspec.Raw(b'"x"'), msgspec.Raw(b""), msgspec.Raw(b'"x","schema":1'), 10**5000, [10**5000]]
    )
    | st.sampled_from(list(SandboxMode))
)


def cyclic() -> list[object]:
    """A list that holds itself."""
    knot: list[object] = []
    knot.append(knot)
    return knot


@given(wild_values, wild_values, wild_values, st.none() | wild_values)
def test_what_can_not_be_read_back_is_not_written(
    mode: object, source: object, recorded_at: object, backend: object
) -> None:
    """Of a pin built in code with any values: it reads back equal, or it is a ConfigurationError."""
    fields = {"mode": mode, "source": source, "recorded_at": recorded_at}
    candidates: list[SandboxPin] = [
        msgspec.structs.replace(V2, backend=backend),
        *(msgspec.structs.replace(V1, **{name: value}) for name, value in fields.items()),
        PinV1(**fields),  # type: ignore[arg-type]  # wrong types are the point
    ]
    for pin in candidates:
        raw = b""
        with suppress(ConfigurationError):
            raw = encode_pin(pin)
        if raw:
            assert decode_pin(raw) == pin


@pytest.mark.parametrize("name", ["mode", "source", "recorded_at", "backend"])
@pytest.mark.parametrize(
    "value",
    [
        pytest.param("", id="empty"),
        pytest.param("x" * 65, id="65 characters"),
        pytest.param("\ud800", id="lone surrogate"),
        pytest.param(1, id="int"),
        pytest.param(10**5000, id="int of 5001 digits"),
        pytest.param([10**5000], id="list of such"),
        pytest.param(None, id="None"),
        pytest.param(b"x", id="bytes"),
        pytest.param(object(), id="object"),
        pytest.param(msgspec.UNSET, id="unset"),
        pytest.param(cyclic(), id="cyclic"),
        pytest.param(msgspec.Raw(b'"x","schema":2'), id="raw with a second key"),
    ],
)
def test_each_wrong_value_is_a_configuration_error(name: str, value: object) -> None:
    """A value that no reader takes is refused before it is written, and never with another error."""
    with pytest.raises(ConfigurationError, match=r"^sandbox_pin: this pin can't be written"):
        _ = encode_pin(msgspec.structs.replace(V2, **{name: value}))


@pytest.mark.parametrize("value", [Unpinned(), Disputed(state=V2, witness=V2), {}, [], "x", 1, object()])
def test_what_is_no_pin_is_not_written(value: object) -> None:
    """Nothing but a pin or None is a record."""
    with pytest.raises(ConfigurationError):
        _ = encode_pin(value)  # type: ignore[arg-type]  # a program without a type checker


@given(st.binary(max_size=80))
def test_any_bytes_are_a_record_or_a_state_error(raw: bytes) -> None:
    """No input makes a decoder raise anything else, and it agrees with the standard library's reading."""
    assert outcome(raw) == oracle_record(oracle_json(raw))


@given(any_texts)
@example("\ud800")
def test_any_text_is_a_record_or_a_state_error(text: str) -> None:
    """Lone surrogates included: the text has no UTF-8, so it is no JSON."""
    assert outcome(text) in (None, Refused())


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["schema", "mode", "source", "recorded_at", "backend", ""]), inner, max_size=6
            )
        ),
        max_leaves=12,
    )
)
def test_any_json_is_a_record_or_a_state_error(value: object) -> None:
    """Any JSON value, with our keys in it too."""
    raw = json.dumps(value).encode()
    assert outcome(raw) == oracle_record(oracle_json(raw))


@st.composite
def mutated_records(draw: st.DrawFn) -> bytes:
    """A valid record, then up to three cuts, copies and insertions."""
    raw = draw(record_texts() | pins.map(lambda pin: encode_pin(pin).decode())).encode()
    pieces = [
        b"\0",
        b"\xef\xbb\xbf",
        b"\xff",
        b"\xed\xa0\x80",
        b"\\ud800",
        b'"',
        b"{",
        b"[" * 3000,
        b"9" * 5000,
    ]
    pieces += [b"1", b".0", b"true", b",", b":", b" ", b"NaN", b'"schema":1,', b'"x":1,', b"\n", b"e0", b"-"]
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(raw)))
        end = draw(st.integers(start, min(len(raw), start + 12)))
        piece = draw(st.sampled_from(pieces) | st.just(b"") | st.just(raw[start:end] * 2))
        raw = raw[:start] + piece + raw[end:]
    return raw


@given(mutated_records())
def test_a_mutated_record_is_read_as_the_oracle_reads_it(raw: bytes) -> None:
    """A mutation is either still one clear record, or a StateError: no third outcome."""
    assert outcome(raw) == oracle_record(oracle_json(raw))


@st.composite
def repeated_keys(draw: st.DrawFn) -> str:
    """A valid record with one of its keys again, anywhere, in any spelling and with any value."""
    members = members_of(draw(pins))
    again = draw(st.sampled_from(sorted(members)))
    value = draw(st.just(members[again]) | st.sampled_from(['"x"', '"required"', '"created"', "1", "2"]))
    if draw(st.booleans()):
        value = draw(foreign_values)
    spelled = [(draw(keys(key)), text) for key, text in members.items()]
    spelled.insert(draw(st.integers(0, len(spelled))), (draw(keys(again)), value))
    return draw(st.just("{" + ",".join(f"{key}:{text}" for key, text in spelled) + "}") | objects(spelled))


@given(repeated_keys())
def test_a_repeated_key_is_refused(text: str) -> None:
    """Wherever it stands and however it is spelled: two readers could take two different values."""
    assert isinstance(outcome(text), Refused)


SHORT: Final = msgspec.structs.replace(V1, recorded_at="x")
SHORTEST: Final = {
    "schema": ["1", "2"],
    "mode": ['"disabled"', '"required"', '"preferred"'],
    "source": ['"created"', '"upgraded"', '"accepted"'],
    "recorded_at": ['"x"', '"\\u0000"', '"\\n"', '"é"'],
    "backend": ['"x"'],
}


@pytest.mark.parametrize("pin", [SHORT, V1, V2], ids=["short", "v1", "v2"])
@pytest.mark.parametrize("again", sorted(SHORTEST))
def test_the_shortest_repeated_keys_are_refused(pin: SandboxPin, again: str) -> None:
    """Also where the repeated key makes the record no longer than it must: every key, value and place."""
    members = members_of(pin)
    if again not in members:
        assert isinstance(pin, PinV1)
        return
    for value, first, own in product(SHORTEST[again], range(len(members) + 1), SHORTEST[again]):
        parts = [f'"{key}":{own if key == again else text}' for key, text in members.items()]
        parts.insert(first, f'"{again}":{value}')
        assert isinstance(outcome("{" + ",".join(parts) + "}"), Refused)


def test_no_text_is_shorter_than_what_is_written_for_its_value() -> None:
    """The look for repeated keys is left out where a text is hardly longer than its compact form.

    That is sound as long as no character can be read in fewer bytes than it is written in.
    """
    plain = "".join(
        chr(code) for code in range(0x20, 0x110000) if not 0xD800 <= code < 0xE000 and chr(code) not in '"\\'
    )
    raw = f'"{plain}"'.encode()
    assert msgspec.json.encode(msgspec.json.decode(raw, type=str)) == raw
    for code in (*range(0x20), ord('"'), ord("\\")):
        written = msgspec.json.encode(chr(code))
        shortest = [
            b'"%b"' % bytes([code]),
            b'"\\%b"' % bytes([code]),
            b'"\\n"',
            b'"\\r"',
            b'"\\t"',
            b'"\\b"',
            b'"\\f"',
        ]
        readable = [text for text in shortest if decodes_to(text, chr(code))]
        assert all(len(text) >= len(written) for text in readable)


def decodes_to(raw: bytes, text: str) -> bool:
    """Whether msgspec reads this JSON as that text."""
    try:
        return msgspec.json.decode(raw, type=str) == text
    except msgspec.DecodeError:
        return False


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        (b'"schema":1', b'"schema":3', "schema"),
        (b'"schema":1', b'"schema":true', "schema"),
        (b'"schema":1', b'"schema":1.0', "schema"),
        (b'"schema":1', b'"schema":"1"', "schema"),
        (b'"schema":1', b'"schema":' + b"9" * 5000, "schema"),
        (b'"schema":1,', b"", "schema"),
        (b'"schema":1', b'"schema":2', "backend"),
        (b'"required"', b'"Required"', "mode"),
        (b'"required"', b"1", "mode"),
        (b'"mode":"required",', b"", "mode"),
        (b'"created"', b'"made"', "source"),
        (b'"source":"created",', b"", "source"),
        (b'"%b"' % AT.encode(), b'""', "recorded_at"),
        (b'"%b"' % AT.encode(), b"null", "recorded_at"),
        (b'"%b"' % AT.encode(), b'"%b"' % (b"x" * 65), "recorded_at"),
        (b"}", b',"backend":"x"}', "backend"),
        (b"}", b',"fact":1}', "fact"),
        (b"}", b',"mode":"required"}', "mode"),
    ],
)
def test_an_error_names_its_field(old: bytes, new: bytes, field: str) -> None:
    """An operator is told which field is wrong and what would be right."""
    error = refusal(RAW.replace(old, new))
    assert error.field == field
    assert error.expected
    assert field in str(error)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"\0",
        RAW + b"x",
        RAW[:-1],
        b"\xef\xbb\xbf" + RAW,
        b"\xff",
        b"{a}",
        b"[" * 10**5,
        b'{"a":' * 10**5,
    ],
    ids=[
        "empty",
        "one brace",
        "zero",
        "more behind",
        "cut",
        "byte order mark",
        "not UTF-8",
        "bare key",
        "deep list",
        "deep object",
    ],
)
def test_a_message_begins_in_plain_words(raw: bytes) -> None:
    """The first word of a problem is not mangled: ``JSON``, not ``jSON``."""
    assert "jSON" not in str(refusal(raw))


def test_different_findings_have_different_messages() -> None:
    """null, a text, a list, a number, an empty file, more behind ``{}`` and a cut are told apart."""
    raws = [b"null", b'""', b"[]", b"1", b"true", RAW + b"x", RAW[:-1]]
    assert len({str(refusal(raw)) for raw in raws}) == len(raws)


@given(pins)
def test_a_description_says_all_and_shows_no_control_character(pin: SandboxPin) -> None:
    """Mode, backend, source and time, all printable."""
    text = describe_pin(pin)
    assert text.isprintable()
    assert text.startswith(pin.mode)
    assert f"({pin.source} " in text


@given(pins)
def test_a_pin_is_made_again_from_its_facts(pin: SandboxPin) -> None:
    """The oldest schema that holds the facts is the one that is written."""
    made = make_pin(
        mode=pin.mode, source=pin.source, recorded_at=pin.recorded_at, backend=pinned_backend(pin)
    )
    assert made == pin
