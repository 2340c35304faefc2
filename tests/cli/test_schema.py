"""``sandbox-pin schema``: prints what is committed, and every entry that commands log validates."""

import json
from pathlib import Path
from typing import Final, get_args

import pytest
from jsonschema import Draft202012Validator

from cli.support import FLAG, Bench
from sandbox_pin.core.event import Entry

SCHEMAS: Final = Path(__file__).parents[2] / "docs/schema"


@pytest.mark.parametrize(
    ("words", "name"), [([], "pin.json"), (["pin"], "pin.json"), (["log"], "run-log.json")]
)
def test_it_prints_the_committed_schema_byte_for_byte(bench: Bench, words: list[str], name: str) -> None:
    ended = bench.unchanged("schema", *words, status=0)
    assert ended.out.encode() == (SCHEMAS / name).read_bytes()


@pytest.mark.parametrize("words", [["state"], ["pin", "log"], ["pin", "--", "true"]])
def test_a_word_that_names_no_schema_is_wrong_usage(bench: Bench, words: list[str]) -> None:
    assert bench.unchanged("schema", *words, status=64).out == ""


def test_every_entry_and_pin_that_commands_write_validates(bench: Bench) -> None:
    """Of every kind that there is."""
    on_disabled = ["--mode", "disabled"]
    assert bench.run("r1", *on_disabled).status == 0
    bench.succeeds("step", "r1", "--mode", "preferred", "--", "true")
    bench.succeeds("step", "r1", *on_disabled, FLAG, "--", "true")
    assert bench.run("child", *on_disabled, "--parent", "r1").status == 0
    bench.make_old("old")
    bench.succeeds("step", "old", *on_disabled, "--", "true")
    bench.damage("r1", sandbox_pin={})
    assert bench.call("recover", "r1").status == 0
    log = Draft202012Validator(json.loads((SCHEMAS / "run-log.json").read_bytes()))
    pin = Draft202012Validator(json.loads((SCHEMAS / "pin.json").read_bytes()))
    events: set[str] = set()
    for run in ("r1", "child", "old"):
        pin.validate(bench.pin(run))
        for entry in bench.log(run):
            log.validate(entry)
            events.add(entry["event"])
    assert events == {kind.__struct_config__.tag for kind in get_args(Entry)}
