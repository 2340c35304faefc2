"""The JSON Schemas tell what the decoders do, but for what JSON Schema can't tell."""

import json
from base64 import b64decode
from pathlib import Path
from typing import Any, Final, get_args

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from jsonschema import Draft202012Validator

from core.strategies import entries, pins
from sandbox_pin import PinV1, PinV2, SandboxPin, StateError, decode_pin, encode_pin
from sandbox_pin.core.event import Entry
from sandbox_pin.core.json_schema import Document, json_schema
from sandbox_pin.core.log_line import Garbage, decode_line, encode_line

ROOT: Final = Path(__file__).parents[2]
FILES: Final = {Document.PIN: "pin.json", Document.LOG: "run-log.json"}
SCHEMAS: Final[dict[Document, dict[str, Any]]] = {
    document: json.loads(json_schema(document)) for document in FILES
}
VALIDATORS: Final = {document: Draft202012Validator(schema) for document, schema in SCHEMAS.items()}

BEYOND: Final = {
    "a repeated key": {"r085", "r086", "s046", "s047", "s048", "s049", "s050", "s051"},
    "1.0 is the integer 1": {"r049", "s038", "s041"},
    "half a surrogate pair": {"r088", "s053"},
}
"""The vectors that are refused, though what a parser makes of them validates: each with the reason."""


def validates(document: Document, raw: bytes) -> bool:
    """Whether an ordinary reader of JSON, with the schema, takes the text."""
    try:
        value = json.loads(raw.decode(), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False
    return VALIDATORS[document].is_valid(value)


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def is_pin(raw: bytes) -> bool:
    """Whether it decodes: to a pin, or to no pin."""
    try:
        _ = decode_pin(raw)
    except StateError:
        return False
    return True


def is_entry(line: bytes) -> bool:
    """Whether the line decodes to an entry; garbage is none."""
    try:
        return not isinstance(decode_line(line), Garbage)
    except StateError:
        return False


def vectors() -> list[object]:
    """The conformance vectors of the record."""
    found: list[object] = []
    for name in ("records.jsonl", "records_schema2.jsonl"):
        for line in (ROOT / "tests/conformance" / name).read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if "json_b64" in row:
                raw = b64decode(row["json_b64"])
            elif "repeat" in row:
                raw = (row["repeat"][0] * row["repeat"][1]).encode()
            else:
                raw = row["json"].encode("utf-8", "surrogatepass")
            found.append(pytest.param(row["id"], raw, "error" not in row["expect"], id=row["id"]))
    return found


@pytest.mark.parametrize("document", Document)
def test_what_is_committed_is_what_is_made(document: Document) -> None:
    """Under the name that its ``$id`` says; ``sandbox-pin schema`` prints it."""
    path = ROOT / "docs/schema" / FILES[document]
    assert path.read_text(encoding="utf-8") == json_schema(document)
    assert json.loads(path.read_bytes())["$id"] == path.name


@pytest.mark.parametrize("document", Document)
def test_each_is_a_schema_with_no_keyword_of_another_language(document: Document) -> None:
    """Strict validators refuse a keyword that they don't know."""
    Draft202012Validator.check_schema(SCHEMAS[document])
    known = {*Draft202012Validator.VALIDATORS, "$schema", "$id", "$defs", "title", "default"}
    assert {*keywords(SCHEMAS[document])} <= known


def keywords(schema: dict[str, Any]) -> set[str]:
    """Every keyword in a schema; the names of properties and definitions are none."""
    found = set(schema)
    for name, value in schema.items():
        if name in {"properties", "$defs"}:
            for part in value.values():
                found |= keywords(part)
        elif name in {"items", "additionalProperties"} and isinstance(value, dict):
            found |= keywords(value)
        elif name == "anyOf":
            for part in value:
                found |= keywords(part)
    return found


def test_each_struct_is_there_with_exactly_its_keys() -> None:
    """None of a record's fields has been taken for a keyword of the schema and left out."""
    definitions = SCHEMAS[Document.LOG]["$defs"]
    for struct in (*get_args(Entry), PinV1, PinV2):
        told = definitions[struct.__name__]
        tag = struct.__struct_config__.tag_field
        assert set(told["properties"]) == {tag, *struct.__struct_encode_fields__}
        assert set(told["required"]) == set(told["properties"])
        assert told["additionalProperties"] is False


@pytest.mark.parametrize(("vector", "raw", "accepted"), vectors())
def test_a_vector_validates_where_it_decodes(vector: str, raw: bytes, accepted: bool) -> None:
    """Or JSON Schema can't see why it is refused, and the reason is listed."""
    listed = any(vector in ids for ids in BEYOND.values())
    assert validates(Document.PIN, raw) == (accepted or listed)
    assert not (accepted and listed)


def test_each_reason_is_told_to_readers_of_other_languages() -> None:
    told = (ROOT / "docs/schema/README.md").read_text(encoding="utf-8")
    for words in ("a key that an object has twice", "`1.0`", "half a surrogate pair"):
        assert words in told


@given(pins)
def test_every_pin_validates_alone_and_in_no_line(pin: SandboxPin) -> None:
    assert validates(Document.PIN, encode_pin(pin))
    assert not validates(Document.LOG, encode_pin(pin))


@given(entries)
@settings(max_examples=50)
def test_every_entry_validates(entry: Entry) -> None:
    assert validates(Document.LOG, encode_line(entry))


# None is 1.0, and none has half a surrogate pair: those are told above.
_VALUES: Final[SearchStrategy[Any]] = st.sampled_from(
    [None, True, False, 0, 1, 2, 3, -1, 1.5, 10**30, "", "x", "required", "local", "created", "flag"]
) | st.sampled_from([[], ["x"], [1], {}, {"schema": 1}, {"from": "program"}, "y" * 64, "y" * 65, "z" * 256])
_KEYS: Final = st.sampled_from(["schema", "mode", "backend", "pin", "event", "from", "file", "unknown", ""])


@st.composite
def mutated(draw: st.DrawFn, value: Any) -> Any:  # noqa: ANN401 - any JSON
    """The value with one change somewhere in it."""
    if isinstance(value, dict) and value and draw(st.integers(0, 3)):
        key = draw(st.sampled_from(sorted(value)))
        match draw(st.integers(0, 3)):
            case 0:
                return {name: part for name, part in value.items() if name != key}
            case 1:
                return {**value, draw(_KEYS): draw(_VALUES)}
            case _:
                return {**value, key: draw(mutated(value[key]))}
    if isinstance(value, list) and value and draw(st.booleans()):
        return [*value[1:], draw(mutated(value[0]))]
    return draw(_VALUES)


@given(pins.map(encode_pin).map(json.loads).flatmap(mutated))
@example({})
@example([])
@example(None)
@settings(max_examples=200)
def test_a_changed_pin_validates_where_it_decodes(value: object) -> None:
    raw = json.dumps(value).encode()
    assert validates(Document.PIN, raw) == is_pin(raw)


@given(entries.map(encode_line).map(json.loads).flatmap(mutated))
@example({})
@settings(max_examples=150)
def test_a_changed_entry_validates_where_it_decodes(value: object) -> None:
    line = json.dumps(value).encode()
    assert validates(Document.LOG, line) == is_entry(line)


@pytest.mark.parametrize(
    ("found", "put", "reason"),
    [
        (b'"exit_code":0', b'"exit_code":1.0', "a whole number with a point"),
        (b'"ran":true', b'"ran":true,"ran":true', "a repeated key"),
        (b'"signal":null', b'"signal":"\\ud800"', "half a surrogate pair"),
    ],
)
def test_what_is_beyond_json_schema_is_refused_by_the_decoder_alone(
    found: bytes, put: bytes, reason: str
) -> None:
    """In a line of the log as in a pin."""
    line = (
        b'{"event":"launch_ended","at":"x","run":"r","kind":"local","pin":{"schema":1,"mode":"required",'
        b'"source":"created","recorded_at":"x"},"ran":true,"exit_code":0,"signal":null}'
    )
    assert (validates(Document.LOG, line), is_entry(line)) == (True, True)
    changed = line.replace(found, put)
    assert changed != line
    assert (validates(Document.LOG, changed), is_entry(changed)) == (True, False), reason
