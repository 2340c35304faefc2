"""The shapes of the pin and of the run log's entries as JSON Schema, for programs in other languages.

They are made from the very structs that the decoders use, so that they can't tell another story. What JSON
Schema has no words for is listed in ``docs/schema/README.md``.
"""

import json
from collections.abc import Callable
from enum import StrEnum
from typing import Final, assert_never

import msgspec

from sandbox_pin.core.event import Entry
from sandbox_pin.core.record import SandboxPin

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

# The first is a keyword of OpenAPI, which strict validators refuse; the second holds docstrings, which speak
# of Python, and are not there under `python -OO`.
_NOT_OURS: Final = ("discriminator", "description")
_NO_PIN: Final = {"title": "NoPin", "type": "object", "maxProperties": 0}


class Document(StrEnum):
    """What a schema is of."""

    PIN = "pin"
    """The record under ``sandbox_pin`` in a state; ``{}`` is "no pin"."""

    LOG = "log"
    """One line of a run log."""


def json_schema(document: Document) -> str:
    """The JSON Schema (draft 2020-12) of a document, as text with its line end.

    Its ``$id`` is the name of the file in ``docs/schema/`` that holds it.
    """
    match document:
        case Document.PIN:
            name, title = "pin.json", "The pin of a run: the record under sandbox_pin in its state"
            schema = _tidied(SandboxPin)
            schema["anyOf"] = [{"anyOf": schema["anyOf"]}, _NO_PIN]
        case Document.LOG:
            name, title = "run-log.json", "One entry of a run log: one line of it"
            schema = _tidied(Entry)
        case _:
            assert_never(document)
    return f"{json.dumps({'$schema': _DIALECT, '$id': name, 'title': title, **schema}, indent=2)}\n"


def _tidied(of: object) -> dict[str, object]:
    # Read back by the standard library, whose hook sees every object in it.
    read: Callable[[str], dict[str, object]] = json.JSONDecoder(object_hook=_tidy).decode
    return read(msgspec.json.encode(msgspec.json.schema(of)).decode())


def _tidy(keywords: dict[str, object]) -> dict[str, object]:
    kept = {name: value for name, value in keywords.items() if name not in _NOT_OURS}
    if "anyOf" in kept:
        # One order, whichever msgspec made it.
        kept["anyOf"] = sorted(msgspec.convert(kept["anyOf"], list[object]), key=json.dumps)
    return kept
