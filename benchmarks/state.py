"""Reading the pin out of whole states and putting it back, beside readers that users have."""

import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.decode import checked, same_record
from benchmarks.line import AtLeast, AtMost, Calls, Figure, Line, NoAim
from benchmarks.states import PIN, SIZES, state_of

from sandbox_pin import PinSource, PinV1, SandboxMode, read_pin, replace_pin

ROOT: Final = Path(__file__).resolve().parent.parent
OTHER_PIN: Final = {**PIN, "mode": "preferred", "source": "accepted"}


def by_json(state: bytes) -> object:
    """The standard library and the hand validation of the record; blind for repeated keys."""
    return checked(json.loads(state)["sandbox_pin"])


def _by_orjson(state: bytes) -> Callable[[], object]:
    import orjson  # noqa: PLC0415 - each side imports its own peer alone

    return lambda: checked(orjson.loads(state)["sandbox_pin"])


def _by_simdjson(state: bytes) -> Callable[[], object]:
    import simdjson  # noqa: PLC0415 - as above

    parser = simdjson.Parser()

    def read() -> object:
        document = parser.parse(state)
        if not isinstance(document, simdjson.Object):
            raise TypeError("no object")
        record = document["sandbox_pin"]
        return checked(record.as_dict() if isinstance(record, simdjson.Object) else record)

    return read


def replaced_by_json(state: bytes) -> bytes:
    """The standard library's way: everything read, everything written anew."""
    whole = json.loads(state)
    whole["sandbox_pin"] = OTHER_PIN
    return json.dumps(whole).encode()


def same_but_for_spaces_in_the_pin(ours: object, theirs: object) -> bool:
    """Ours kept every byte but the pin's, which it writes compact; the peer writes the same values."""
    compact = json.dumps(OTHER_PIN, separators=(",", ":")).encode()
    spaced = json.dumps(OTHER_PIN).encode()
    return isinstance(ours, bytes) and ours.replace(compact, spaced) == theirs


def peak_of_reading(size: int, folder: Path) -> float:
    """By how many bytes a fresh process grows at most while it reads a state's file and its pin."""
    file = folder / f"state-{size}.json"
    if not file.exists():
        _ = file.write_bytes(state_of(size))
    command = [sys.executable, "-m", "benchmarks.peak", str(file)]
    return float(subprocess.run(command, check=True, capture_output=True, cwd=ROOT, text=True).stdout)


def size_of_file(size: int, _: Path) -> float:
    """The size of that file in bytes."""
    return float(len(state_of(size)))


def _reading(name: str, size: int) -> list[Line]:
    work = f"read the pin out of a state of {name}"
    ours = Calls(lambda _: partial(read_pin, state_of(size)))
    standard = Calls(lambda _: partial(by_json, state_of(size)))
    orjson = Calls(lambda _: _by_orjson(state_of(size)))
    simdjson = Calls(lambda _: _by_simdjson(state_of(size)))
    return [
        Line(
            work,
            "json.loads",
            ours,
            standard,
            AtLeast(7),
            same_record,
        ),
        Line(work, "orjson", ours, orjson, NoAim(), same_record, ("orjson",)),
        Line(work, "pysimdjson", ours, simdjson, AtMost(1.35), same_record, ("pysimdjson",)),
    ]


def _replacing(name: str, size: int) -> Line:
    pin = PinV1(
        mode=SandboxMode.PREFERRED, source=PinSource.ACCEPTED, recorded_at=str(OTHER_PIN["recorded_at"])
    )
    return Line(
        f"replace the pin in a state of {name}",
        "json.loads and json.dumps",
        Calls(lambda _: partial(replace_pin, state_of(size), pin)),
        Calls(lambda _: partial(replaced_by_json, state_of(size))),
        AtLeast(10),
        same_but_for_spaces_in_the_pin,
    )


def _memory(name: str, size: int) -> Line:
    return Line(
        f"peak memory of reading a state of {name} and its pin",
        "the file's size",
        Figure(partial(peak_of_reading, size)),
        Figure(partial(size_of_file, size)),
        AtMost(1.2),
    )


LINES: Final = [
    *(line for name, size in SIZES.items() for line in _reading(name, size)),
    *(_memory(name, size) for name, size in SIZES.items() if size >= 10**6),
    *(_replacing(name, size) for name, size in SIZES.items()),
]
