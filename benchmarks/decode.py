"""Decoding one pin, beside what a user would write by hand, with the same checks.

Each peer refuses what ``decode_pin`` refuses, with these exceptions: orjson and pydantic never see a repeated
key (the last one wins), and pydantic's ``Literal[1]`` takes ``true``. So theirs is the smaller work.
"""

import json
from collections.abc import Callable
from functools import partial
from typing import Annotated, Final, Literal

import msgspec
from benchmarks.line import AtLeast, Calls, Line
from benchmarks.states import PIN

from sandbox_pin import PinSource, SandboxMode, decode_pin

TEXTS: Final = {
    "compact": json.dumps(PIN, separators=(",", ":")).encode(),
    "as json.dumps spaces it": json.dumps(PIN).encode(),
}

_KEYS: Final = {
    1: {"schema", "mode", "source", "recorded_at"},
    2: {"schema", "mode", "source", "recorded_at", "backend"},
}
_MODES: Final = frozenset({"disabled", "preferred", "required"})
_SOURCES: Final = frozenset({"created", "upgraded", "strengthened", "accepted"})
_LONGEST: Final = 64


def checked(record: object) -> dict[str, object]:
    """The hand validation: exactly the keys of a schema, each of its type, known words, short texts."""
    if not isinstance(record, dict):
        raise TypeError("no object")
    schema = record.get("schema")
    if type(schema) is not int or record.keys() != _KEYS.get(schema):
        raise ValueError("unknown schema, or other keys")
    if record["mode"] not in _MODES or record["source"] not in _SOURCES:
        raise ValueError("unknown word")
    recorded_at = record["recorded_at"]
    if not isinstance(recorded_at, str) or not 1 <= len(recorded_at) <= _LONGEST:
        raise ValueError("recorded_at")
    if schema == 2:
        backend = record["backend"]
        if not isinstance(backend, str) or not 1 <= len(backend) <= _LONGEST:
            raise ValueError("backend")
    return record


def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An ``object_pairs_hook`` that refuses a repeated key."""
    record = dict(pairs)
    if len(record) != len(pairs):
        raise ValueError("a key is repeated")
    return record


def by_json(raw: bytes) -> object:
    """The standard library and the hand validation."""
    return checked(json.loads(raw, object_pairs_hook=unique))


def prepare_orjson() -> Callable[[bytes], object]:
    """The call orjson and the hand validation; blind for repeated keys."""
    import orjson  # noqa: PLC0415 - each side imports its own peer alone

    return lambda raw: checked(orjson.loads(raw))


def prepare_pydantic() -> Callable[[bytes], object]:
    """A strict pydantic model of both schemas; blind for repeated keys and for ``true`` as the schema."""
    from pydantic import BaseModel, ConfigDict, Field, TypeAdapter  # noqa: PLC0415 - as above

    text = Annotated[str, Field(min_length=1, max_length=_LONGEST)]

    class First(BaseModel):
        model_config = ConfigDict(strict=True, extra="forbid", frozen=True)
        schema_: Literal[1] = Field(alias="schema")
        mode: SandboxMode
        source: PinSource
        recorded_at: text

    class Second(BaseModel):
        model_config = ConfigDict(strict=True, extra="forbid", frozen=True)
        schema_: Literal[2] = Field(alias="schema")
        mode: SandboxMode
        source: PinSource
        recorded_at: text
        backend: text

    adapter: TypeAdapter[First | Second] = TypeAdapter(
        Annotated[First | Second, Field(discriminator="schema_")]
    )
    return adapter.validate_json


def same_record(ours: object, theirs: object) -> bool:
    """Whether both are the same record, however each keeps it."""
    from pydantic import BaseModel  # noqa: PLC0415 - as above

    fields: object = theirs.model_dump(by_alias=True) if isinstance(theirs, BaseModel) else theirs
    record: object = msgspec.to_builtins(ours)
    return record == fields


def _lines(shape: str, raw: bytes) -> list[Line]:
    work = f"decode one pin, {shape}"
    ours = Calls(lambda _: partial(decode_pin, raw))
    return [
        Line(
            work,
            "json.loads and hand validation",
            ours,
            Calls(lambda _: partial(by_json, raw)),
            AtLeast(7),
            same_record,
        ),
        Line(
            work,
            "orjson and hand validation",
            ours,
            Calls(lambda _: partial(prepare_orjson(), raw)),
            AtLeast(2.2),
            same_record,
            ("orjson",),
        ),
        Line(
            work,
            "pydantic, strict",
            ours,
            Calls(lambda _: partial(prepare_pydantic(), raw)),
            AtLeast(3.5),
            same_record,
            ("pydantic",),
        ),
    ]


LINES: Final = [line for shape, raw in TEXTS.items() for line in _lines(shape, raw)]
