"""Every row of every table in ``tests/conformance/``, and that its copies are the originals."""

import csv
import json
from base64 import b64decode
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from core.strategies import AT, LATER, Refused, refused
from sandbox_pin import (
    Accept,
    Disputed,
    PinSource,
    RunKind,
    SandboxMode,
    SandboxPin,
    SandboxRequest,
    StateError,
    Unpinned,
    decide,
    decode_pin,
    describe_pin,
    encode_pin,
    mode_strength,
    pin_in_force,
)
from sandbox_pin.core.decision import Refuse, Upgrade
from sandbox_pin.core.record import make_pin, pinned_backend

HERE: Final = Path(__file__).parent.parent / "conformance"
ORIGINALS: Final = Path(__file__).parents[2].parent / "shared" / "conformance"

Vector = dict[str, Any]


def rows(name: str) -> list[object]:
    """The rows of a table, each under an id that says what it holds."""
    with (HERE / name).open(newline="", encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    assert found
    return [pytest.param(row, id=f"{number}-{'-'.join(row.values())}") for number, row in enumerate(found, 1)]


def records(name: str) -> list[object]:
    """The vectors of a file, each under its own id."""
    lines = (HERE / name).read_text(encoding="utf-8").split("\n")
    return [pytest.param(row, id=row["id"]) for row in map(json.loads, filter(None, lines))]


def pinned(mode: str, backend: str = "", at: str = AT) -> SandboxPin | Unpinned:
    """A created pin out of a row; an empty mode is a state from before pins."""
    if not mode:
        return Unpinned()
    return make_pin(mode=SandboxMode(mode), source=PinSource.CREATED, recorded_at=at, backend=backend or None)


@pytest.mark.parametrize("name", ["strengths.csv", "decisions.csv", "records.jsonl"])
def test_the_copy_is_the_original(name: str) -> None:
    """A copied table is equal to its original, byte for byte."""
    if not ORIGINALS.is_dir():
        pytest.skip("the original tables are not beside this project")
    assert (HERE / name).read_bytes() == (ORIGINALS / name).read_bytes()


@pytest.mark.parametrize("row", rows("strengths.csv"))
def test_strengths(row: dict[str, str]) -> None:
    """Each mode gives a run of each kind the strength of the table."""
    assert mode_strength(SandboxMode(row["mode"]), RunKind(row["kind"])) == int(row["strength"])


@pytest.mark.parametrize("row", rows("decisions.csv") + rows("decisions_two_facts.csv"))
def test_decisions(row: dict[str, str]) -> None:
    """Each request gets the decision of the table, and leaves the pin that the table says."""
    before = pinned(row["pinned"], row.get("pinned_backend", ""))
    decision = decide(
        before,
        SandboxRequest(mode=SandboxMode(row["requested"]), backend=row.get("requested_backend") or None),
        kind=RunKind(row["kind"]),
        accept_config_change=row["accept_config_change"] == "true",
        at=LATER,
    )
    assert type(decision).__name__.lower() == row["decision"]
    after = decision.pin
    assert not isinstance(after, Disputed)
    assert after.mode == row["pin_mode_after"]
    assert after.source == row["pin_source_after"]
    assert isinstance(decision, Accept) == (row["run_log_written_first"] == "yes")
    if "weaker" in row:
        weaker = decision.weaker if isinstance(decision, Refuse | Accept) else ()
        assert [fact.fact for fact in weaker] == row["weaker"].split()
        assert pinned_backend(after) == (row["pin_backend_after"] or None)
    if row["decision"] in {"refuse", "unchanged"}:
        assert after == before
    else:
        assert after.recorded_at == LATER


@pytest.mark.parametrize("row", rows("pins_in_force.csv"))
def test_pins_in_force(row: dict[str, str]) -> None:
    """The state's pin and the witness join as the table says."""
    state = pinned(row["state"], row["state_backend"])
    witness = pinned(row["witness"], row["witness_backend"], at=LATER)
    result = pin_in_force(
        state, None if isinstance(witness, Unpinned) else witness, kind=RunKind(row["kind"])
    )
    match result:
        case Unpinned():
            assert row["result"] == "unpinned"
        case Disputed():
            assert row["result"] == "disputed"
            assert [pinned_backend(result.state), pinned_backend(result.witness)] == row["backend"].split()
            assert {result.state.mode, result.witness.mode} == {row["mode"]}
        case _:
            assert row["result"] == "pin"
            assert (result.mode, pinned_backend(result)) == (row["mode"], row["backend"] or None)
            assert result.recorded_at == {"state": AT, "witness": LATER}[row["source_and_time_of"]]


@pytest.mark.parametrize("row", records("records.jsonl") + records("records_schema2.jsonl"))
def test_records(row: Vector) -> None:
    """Each text decodes to what its vector says, as bytes and as text, and what decodes reads back."""
    if "json_b64" in row:
        raw = b64decode(row["json_b64"])
    elif "repeat" in row:
        raw = (row["repeat"][0] * row["repeat"][1]).encode()
    else:
        raw = row["json"].encode("utf-8", "surrogatepass")
        with_text = outcome(row["json"])
        assert with_text == outcome(raw)
    expect = row["expect"]
    found = outcome(raw)
    if "error" in expect:
        assert isinstance(found, Refused)
    elif "absent" in expect:
        assert found is None
    else:
        assert not isinstance(found, Refused)
        assert found is not None
        assert json.loads(msgspec.json.encode(found)) == expect["pin"]
        assert describe_pin(found) == expect["describe"]
        assert decode_pin(encode_pin(found)) == found


def outcome(raw: bytes | str) -> SandboxPin | Refused | None:
    """What decoding gives, a refusal as a value."""
    try:
        return decode_pin(raw)
    except StateError as error:
        return refused(error)


def test_upgrade_is_what_an_unpinned_state_gets() -> None:
    """The tables' empty ``pinned`` is a value of its own, and any request of it is an upgrade."""
    decision = decide(
        Unpinned(),
        SandboxRequest(mode=SandboxMode.DISABLED),
        kind=RunKind.LOCAL,
        accept_config_change=False,
        at=AT,
    )
    assert isinstance(decision, Upgrade)
