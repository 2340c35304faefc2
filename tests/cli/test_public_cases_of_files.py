"""More of what went wrong for people who run coding agents: second paths, files, keys, bytes, versions."""

import json
import os
from pathlib import Path

import pytest

from cli.support import DISABLED, FLAG, PREFERRED, REQUIRED, TRUE, Bench, needs_sandbox
from sandbox_pin import PlacementError
from sandbox_pin.core.facts import Comparison
from sandbox_pin.core.gate import Enforce, RunUnenforced
from sandbox_pin.core.placement import ItemRole
from sandbox_pin.shell.config import load_configuration
from sandbox_pin.shell.launch import hold_launch
from sandbox_pin.shell.placement import gather_item

STEP = ("step", "r1")


@needs_sandbox
def test_case_02_a_process_that_stays_open_reads_the_pin_afresh(bench: Bench) -> None:
    bench.make("r1", "disabled")
    _ = bench.succeeds(*STEP, "--", TRUE)
    assert bench.real(*STEP, "--mode", "required", "--", TRUE).status == 0
    _ = bench.unchanged(*STEP, "--", TRUE, status=77)


@pytest.mark.parametrize("command", ["step", "resume", "unblock"])
def test_case_07_the_pin_has_a_reader(command: str, bench: Bench) -> None:
    """Were every mode compared as equal, a weaker request would pass: it is the comparison that refuses."""
    status = "ready" if command == "step" else "blocked"
    bench.make("r1", "required", status=status, command=(TRUE,))
    words = (command, "r1", *(("--", TRUE) if command == "step" else ()))
    _ = bench.unchanged(*words, status=77)
    bench.monkeypatch.setattr("sandbox_pin.core.rule.compare_mode", lambda *_: Comparison.SAME)
    assert bench.call(*words).status != 77


@needs_sandbox
def test_case_10_a_worker_launches_just_as_a_hand_does(bench: Bench) -> None:
    bench.make("r1", "required")
    _ = bench.succeeds(*STEP, "--mode", "required", "--", TRUE)
    assert bench.real(*STEP, "--mode", "required", "--", TRUE).status == 0
    first, second = (entry for entry in bench.log() if entry["event"] == "launch_started")
    assert {**first, "at": ""} == {**second, "at": ""}


def test_case_11_a_launch_takes_a_gate_decision_and_no_mode() -> None:
    """That one place starts it is held by the architecture's own tests."""
    assert hold_launch.__annotations__["gate"] == Enforce | RunUnenforced


def test_case_12_a_worker_that_is_refused_burns_nothing(bench: Bench) -> None:
    """A status of its own, again and again, and the run stays as it was for the operator."""
    bench.make("r1", "required", status="blocked", command=bench.touches())
    for _ in range(3):
        _ = bench.unchanged("resume", "r1", status=77)


def test_case_17_a_configuration_that_an_agent_could_make_is_refused_before_and_after(bench: Bench) -> None:
    config = bench.workspace / "sandbox.toml"
    bench.make("r1", "required")
    _ = bench.unchanged(*STEP, "--config", str(config), "--", TRUE, status=78)
    _ = config.write_text(REQUIRED)
    assert "can write" in bench.unchanged(*STEP, "--config", str(config), "--", TRUE, status=78).err


def test_case_19_a_writable_folder_through_a_link_is_judged_by_where_it_leads(bench: Bench) -> None:
    config = bench.config(REQUIRED)
    (bench.home / "link").symlink_to(Path(config).parent)
    bench.make("r1", "required")
    words = ("--config", config, "--writable", str(bench.home / "link"), "--", TRUE)
    assert config in bench.unchanged(*STEP, *words, status=78).err


@pytest.mark.parametrize("key", ["sandbx", "Sandbox", "sand_box", '"sandbox "'])
def test_case_21_a_key_that_is_nearly_ours_is_never_the_default(key: str, bench: Bench) -> None:
    bench.make("r1", "disabled")
    config = bench.config(f'[{key}]\nmode = "required"\n')
    assert "sandbox" in bench.unchanged(*STEP, "--config", config, "--", TRUE, status=78).err


@pytest.mark.parametrize("value", ["off", "no", "on", "yes", "~", "1", '"true"'])
def test_case_22_yaml_s_other_words_are_no_modes(value: str, bench: Bench) -> None:
    bench.make("r1", "disabled")
    config = bench.config(f"sandbox:\n  mode: {value}\n", "c.yaml")
    said = bench.unchanged(*STEP, "--config", config, "--", TRUE, status=78).err
    assert "one of disabled, preferred, required" in said


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_case_24_a_byte_order_mark_is_refused_in_both_files(encoding: str, bench: Bench) -> None:
    bench.make("r1", "disabled")
    config = Path(bench.config(""))
    _ = config.write_bytes(REQUIRED.encode(encoding))
    _ = bench.unchanged(*STEP, "--config", str(config), "--", TRUE, status=78)
    state = bench.root / "r1" / "state.json"
    _ = state.write_bytes(state.read_text().encode(encoding))
    _ = bench.unchanged(*STEP, "--", TRUE, status=65)


def test_case_25_a_key_that_is_there_twice_is_an_error_in_both_files(bench: Bench) -> None:
    bench.make("r1", "required")
    twice = '{"sandbox": {"mode": "required", "mode": "disabled"}}'
    _ = bench.unchanged(*STEP, "--config", bench.config(twice, "c.json"), "--", TRUE, status=78)
    state = bench.root / "r1" / "state.json"
    weak = json.dumps({**bench.pin(), "mode": "disabled"})
    _ = state.write_text(state.read_text().rstrip().removesuffix("}") + f', "sandbox_pin": {weak}}}')
    assert "2 times" in bench.unchanged(*STEP, "--mode", "required", "--", TRUE, status=65).err


def test_case_26_a_second_name_of_a_file_that_decides_is_refused(bench: Bench) -> None:
    bench.make("r1", "disabled")
    config = bench.config(DISABLED)
    alias = bench.workspace / "alias"
    alias.hardlink_to(config)
    assert "hard links" in bench.unchanged(*STEP, "--config", config, "--", TRUE, status=78).err
    alias.unlink()
    for name in ("state.json", "run.jsonl"):
        alias.hardlink_to(bench.root / "r1" / name)
        assert "hard links" in bench.unchanged(*STEP, "--", TRUE, status=78).err
        alias.unlink()


def test_case_27_every_hop_of_a_link_counts(bench: Bench) -> None:
    bench.make("r1", "disabled")
    safe = Path(bench.config(DISABLED))
    inside = bench.workspace / "inside.toml"
    _ = inside.write_text(DISABLED)
    for link, target in ((safe.parent / "l.toml", inside), (bench.workspace / "l.toml", safe)):
        link.symlink_to(target)
        assert "can write" in bench.unchanged(*STEP, "--config", str(link), "--", TRUE, status=78).err
    dangling = safe.parent / "dangling.toml"
    dangling.symlink_to(safe.parent / "none.toml")
    assert "link" in bench.unchanged(*STEP, "--config", str(dangling), "--", TRUE, status=78).err


def test_case_28_what_was_parsed_is_what_is_judged(bench: Bench) -> None:
    """A file that is swapped between the two is told, whatever the other one says."""
    config = Path(bench.config(PREFERRED))
    read = load_configuration(str(config))
    other = config.with_name("other.toml")
    _ = other.write_text(REQUIRED)
    _ = other.replace(config)
    with pytest.raises(PlacementError, match="changed while it was read"):
        _ = gather_item(ItemRole.CONFIGURATION, str(config), identity=(read.device, read.inode))


def test_case_31_a_state_that_is_cut_anywhere_is_damaged(bench: Bench) -> None:
    bench.make("r1", "required")
    state = bench.root / "r1" / "state.json"
    whole = state.read_bytes().rstrip()
    for length in range(0, len(whole), 7):
        _ = state.write_bytes(whole[:length])
        assert bench.call(*STEP, "--mode", "required", "--", TRUE).status == 65, length


def test_case_32_a_fragment_does_not_swallow_the_next_entry(bench: Bench) -> None:
    bench.make("r1", "required")
    log = bench.root / "r1" / "run.jsonl"
    fragment = log.read_bytes()[:40]
    with log.open("ab") as file:
        _ = file.write(fragment)
    assert "torn" in bench.succeeds(*STEP, FLAG, "--", TRUE).err
    lines = log.read_bytes().splitlines()
    assert lines[1] == fragment
    assert json.loads(lines[2])["event"] == "pin_accepted"


@pytest.mark.parametrize("planted", ["fifo", "sparse", "deep", "giant number"])
def test_case_35_what_is_planted_at_the_state_s_path_ends_in_a_plain_error(
    planted: str, bench: Bench
) -> None:
    bench.make("r1", "required")
    state = bench.root / "r1" / "state.json"
    state.unlink()
    match planted:
        case "fifo":
            os.mkfifo(state)
        case "sparse":
            with state.open("wb") as file:
                _ = file.truncate(5 * 1024**3)
        case "deep":
            _ = state.write_text('{"protocol":' + "[" * 100_000)
        case _:
            _ = state.write_text('{"protocol":' + "1" * 5000 + "}")
    ended = bench.call(*STEP, "--mode", "required", "--", TRUE)
    assert (ended.status, "bug" in ended.err) == (65, False)


def test_case_37_a_newer_format_is_told_and_a_newer_tool_s_field_is_kept(bench: Bench) -> None:
    bench.make("r1", "disabled")
    bench.damage("r1", tool_version="99.0")
    _ = bench.succeeds(*STEP, "--", TRUE)
    assert bench.state()["tool_version"] == "99.0"
    bench.damage("r1", protocol=13)
    assert "newer" in bench.unchanged(*STEP, "--", TRUE, status=65).err


@pytest.mark.parametrize("number", ["true", "1.0", '"1"', "-1", "NaN"])
@pytest.mark.parametrize("field", ["protocol", "schema"])
def test_case_38_only_a_plain_whole_number_is_one(field: str, number: str, bench: Bench) -> None:
    bench.make("r1", "required")
    state = bench.root / "r1" / "state.json"
    old = '"protocol": 12' if field == "protocol" else '"schema": 1'
    text = state.read_text()
    assert old in text
    _ = state.write_text(text.replace(old, f'"{field}": {number}'))
    _ = bench.unchanged(*STEP, "--mode", "required", "--", TRUE, status=65)
