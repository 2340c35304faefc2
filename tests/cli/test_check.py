"""``check``: on a state and a log that another orchestrator keeps."""

import json
import os
import stat
from typing import Any

import pytest

from cli.support import AT, DISABLED, FLAG, PREFERRED, REQUIRED, Bench, read_log, snapshot

PIN = {"schema": 1, "mode": "required", "source": "created", "recorded_at": AT}
THEIRS = (
    b'{ "id":"task-7" ,\n\t"steps" : [ 1.50, 1e3, NaN, "\\ud800" ],%s\n'
    b'  "protocol": 3, "n":1234567890123456789 }\n\n'
)


class Foreign:
    """Another orchestrator's folder."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.folder = bench.home / "theirs"
        self.folder.mkdir()
        self.state = self.folder / "task-7.json"
        self.log = self.folder / "task-7.log"

    def put(self, pin: object = ..., raw: bytes | None = None) -> None:
        """Writes the state, in its owner's formatting."""
        member = b"" if pin is ... else b' "sandbox_pin":  ' + json.dumps(pin).encode() + b" ,"
        _ = self.state.write_bytes(THEIRS.replace(b"%s", member) if raw is None else raw)

    def entry(self, *, mode: str = "required", kind: str = "local", run: str = "task-7") -> None:
        """Adds an entry to the log."""
        ended = {"event": "launch_ended", "at": AT, "run": run, "kind": kind, "pin": {**PIN, "mode": mode}}
        line = json.dumps({**ended, "ran": True, "exit_code": 0, "signal": None}).encode()
        with self.log.open("ab") as file:
            _ = file.write(line + b"\n")

    def words(self, *options: str, kind: str = "local") -> tuple[str, ...]:
        """A ``check`` of these files."""
        return ("check", "--state", str(self.state), "--log", str(self.log), "--kind", kind, *options)

    def pin(self) -> dict[str, Any]:
        """The pin in the state."""
        raw = self.state.read_bytes().replace(b'"\\ud800"', b"0")
        pin: dict[str, Any] = json.loads(raw)["sandbox_pin"]
        return pin

    def events(self) -> list[str]:
        """The log's events."""
        return [entry["event"] for entry in read_log(self.log)] if self.log.exists() else []


@pytest.fixture
def foreign(bench: Bench) -> Foreign:
    """Another orchestrator's folder, empty."""
    return Foreign(bench)


def test_a_first_check_pins_the_run_and_makes_the_log(foreign: Foreign) -> None:
    """A missing pin with no log at all is a run from before pins."""
    foreign.put()
    ended = foreign.bench.succeeds(*foreign.words("--mode", "preferred"))
    assert "upgrade" in ended.out
    assert foreign.pin()["mode"] == "preferred"
    assert foreign.pin()["source"] == "upgraded"
    (entry,) = read_log(foreign.log)
    assert (entry["event"], entry["run"], entry["before"]) == ("pin_upgraded", "task-7", None)
    assert stat.S_IMODE(foreign.log.stat().st_mode) == 0o600


@pytest.mark.parametrize("options", [("--mode", "required"), ("--mode", "disabled", FLAG)])
def test_all_else_in_the_state_is_kept_mode_bits_and_owner_too(
    options: tuple[str, ...], foreign: Foreign
) -> None:
    """Every byte but the pin's own value: other formatting, numbers no reader would keep, half a pair."""
    pin = {**PIN, "mode": "preferred"}
    foreign.put(pin)
    foreign.entry(mode="preferred")
    foreign.state.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(foreign.state, 1234, 4321)
    owner = foreign.state.stat().st_uid, foreign.state.stat().st_gid
    before = foreign.state.read_bytes()
    _ = foreign.bench.succeeds(*foreign.words(*options))
    value = json.dumps(foreign.pin(), separators=(",", ":")).encode()
    assert foreign.state.read_bytes() == before.replace(json.dumps(pin).encode(), value)
    assert stat.S_IMODE(foreign.state.stat().st_mode) == 0o640
    assert (foreign.state.stat().st_uid, foreign.state.stat().st_gid) == owner
    assert sorted(path.name for path in foreign.folder.iterdir()) == ["task-7.json", "task-7.log"]


def test_a_pin_goes_behind_the_last_field_of_a_state_that_has_none(foreign: Foreign) -> None:
    foreign.put()
    before = foreign.state.read_bytes()
    _ = foreign.bench.succeeds(*foreign.words("--mode", "required"))
    after = foreign.state.read_bytes()
    close = before.rindex(b"}")
    assert after.startswith(before[:close])
    assert after.endswith(before[close:])


def test_an_equal_request_changes_nothing_at_all(foreign: Foreign) -> None:
    foreign.put(PIN)
    foreign.entry()
    for options in (
        ("--mode", "required"),
        ("--config", foreign.bench.config(REQUIRED)),
        ("--mode", "required", FLAG),
    ):
        assert "the pin stays" in foreign.bench.unchanged(*foreign.words(*options), status=0).out


@pytest.mark.parametrize("kind", ["local", "remote"])
@pytest.mark.parametrize("log", [True, False])
def test_a_weaker_request_is_refused(kind: str, *, log: bool, foreign: Foreign) -> None:
    foreign.put(PIN)
    if log:
        foreign.entry(kind=kind)
    config = foreign.bench.config(DISABLED)
    for options, origin in (
        (("--config", config), config),
        (("--mode", "disabled"), "--mode"),
        ((), "default"),
    ):
        ended = foreign.bench.unchanged(*foreign.words(*options, kind=kind), status=77)
        assert f"required (created {AT})" in ended.err
        assert origin in ended.err
        assert FLAG in ended.err


def test_the_flag_accepts_and_the_log_says_so_first(foreign: Foreign) -> None:
    foreign.put(PIN)
    _ = foreign.bench.unchanged(*foreign.words(f"{FLAG}=preferred"), status=77)
    _ = foreign.bench.succeeds(*foreign.words(f"{FLAG}=disabled"))
    assert foreign.pin()["source"] == "accepted"
    (entry,) = read_log(foreign.log)
    assert (entry["event"], entry["before"]["mode"], entry["pin"]) == (
        "pin_accepted",
        "required",
        foreign.pin(),
    )


@pytest.mark.parametrize("pin", [..., {}])
def test_a_missing_pin_beside_a_witness_is_no_damage_the_witness_holds(pin: object, foreign: Foreign) -> None:
    """That orchestrator rewrites its state, and may not know our field."""
    foreign.put(pin)
    foreign.entry(mode="required")
    ended = foreign.bench.unchanged(*foreign.words("--mode", "preferred"), status=77)
    assert "warning: the state has no pin, the run log required" in ended.err
    _ = foreign.bench.succeeds(*foreign.words("--mode", "required"))
    assert foreign.pin() == PIN
    assert foreign.events() == ["launch_ended"]


@pytest.mark.parametrize(
    ("pin", "witness", "held"),
    [
        ("disabled", "required", "required"),
        ("required", "disabled", "required"),
        ("preferred", "required", "required"),
    ],
)
def test_the_stronger_of_state_and_witness_holds(pin: str, witness: str, held: str, foreign: Foreign) -> None:
    foreign.put({**PIN, "mode": pin})
    foreign.entry(mode=witness)
    assert held in foreign.bench.unchanged(*foreign.words("--mode", "disabled"), status=77).err
    _ = foreign.bench.succeeds(*foreign.words("--mode", held))
    assert foreign.pin()["mode"] == held


@pytest.mark.parametrize(("since", "status"), [(None, 0), (4, 0), (99, 0), (3, 65), (1, 65)])
def test_pinned_since_says_from_which_protocol_on_a_missing_pin_is_damage(
    since: int | None, status: int, foreign: Foreign
) -> None:
    foreign.put()
    options = () if since is None else ("--pinned-since", str(since))
    if status:
        ended = foreign.bench.unchanged(*foreign.words(*options), status=status)
        assert "sandbox_pin: missing" in ended.err
        assert "recover" in ended.err
    else:
        _ = foreign.bench.succeeds(*foreign.words(*options))


@pytest.mark.parametrize("log", [b"", b"\n", b"garbage\n", b"\0\0\0"])
@pytest.mark.parametrize("pin", [..., {}])
def test_a_log_without_a_whole_entry_and_no_pin_is_damage(pin: object, log: bytes, foreign: Foreign) -> None:
    """Something took both away: that is not a run from before pins, and the flag does not pass it over."""
    foreign.put(pin)
    _ = foreign.log.write_bytes(log)
    for options in ((), (FLAG,), ("--mode", "required")):
        assert "recover" in foreign.bench.unchanged(*foreign.words(*options), status=65).err


@pytest.mark.parametrize(
    "pin", [None, "", [], 3, {**PIN, "schema": 9}, {**PIN, "mode": "off"}, {"schema": 1}]
)
@pytest.mark.parametrize("witness", [True, False])
def test_a_damaged_pin_is_damage_whatever_the_log_says(
    pin: object, *, witness: bool, foreign: Foreign
) -> None:
    foreign.put(pin)
    if witness:
        foreign.entry()
    for options in ((), (FLAG,), ("--mode", "required")):
        ended = foreign.bench.unchanged(*foreign.words(*options), status=65)
        assert "sandbox_pin" in ended.err
        assert str(foreign.state) in ended.err


def test_entries_of_another_kind_or_run_are_damage(foreign: Foreign) -> None:
    foreign.put(PIN)
    foreign.entry(kind="remote")
    assert "of a remote run" in foreign.bench.unchanged(*foreign.words("--mode", "required"), status=65).err
    foreign.log.unlink()
    foreign.entry(run="task-8")
    assert "of the run task-8" in foreign.bench.unchanged(*foreign.words("--mode", "required"), status=65).err
    _ = foreign.bench.succeeds(*foreign.words("--mode", "required", "--run", "task-8"))


@pytest.mark.parametrize("options", [("--mode", "required"), (FLAG,), ("--mode", "preferred"), ()])
def test_a_dry_run_decides_and_changes_nothing(options: tuple[str, ...], foreign: Foreign) -> None:
    foreign.put({**PIN, "mode": "preferred"})
    status = 0 if options else 77
    ended = foreign.bench.unchanged(*foreign.words(*options, "--dry-run"), status=status)
    assert ("dry run" in ended.out) == (status == 0)
    ended = foreign.bench.unchanged(*foreign.words(*options, "--dry-run", "--json"), status=status)
    assert ended.objects[0]["applied"] is False


@pytest.mark.parametrize(
    ("options", "decision", "status", "applied"),
    [
        (("--mode", "required"), "strengthen", 0, True),
        (("--mode", "disabled"), "refuse", 77, False),
        (("--mode", "disabled", FLAG), "accept", 0, True),
        (("--mode", "preferred"), "unchanged", 0, True),
    ],
)
def test_json_shows_the_very_decision(
    options: tuple[str, ...], decision: str, status: int, *, applied: bool, foreign: Foreign
) -> None:
    foreign.put({**PIN, "mode": "preferred"})
    ended = foreign.bench.call(*foreign.words(*options, "--json"))
    (told,) = ended.objects
    assert ended.status == status
    assert (told["run"], told["applied"]) == ("task-7", applied)
    assert decision in json.dumps(told["decision"])
    assert told["decision"]["pin"]["mode"]


def test_a_log_that_can_not_be_written_stops_an_accept_and_not_a_strengthening(foreign: Foreign) -> None:
    foreign.put({**PIN, "mode": "preferred"})
    foreign.log.mkdir()
    for dry_run in (["--dry-run"], []):  # which says what the check itself does
        _ = foreign.bench.unchanged(*foreign.words(FLAG, *dry_run), status=74)
        _ = foreign.bench.unchanged(*foreign.words(*dry_run), status=77)
        _ = foreign.bench.unchanged(*foreign.words("--mode", "preferred", *dry_run), status=74)
    _ = foreign.bench.unchanged(*foreign.words("--mode", "required", "--dry-run"), status=0)
    assert foreign.bench.call(*foreign.words("--mode", "required")).status == 74
    assert (foreign.pin()["mode"], foreign.pin()["source"]) == ("required", "strengthened")


@pytest.mark.parametrize("item", ["state", "log", "config"])
def test_placement_is_judged_against_each_tree(item: str, foreign: Foreign) -> None:
    foreign.put(PIN)
    options = ["--mode", "required", "--tree", str(foreign.bench.workspace)]
    if item == "config":
        config = foreign.bench.workspace / "c.toml"
        _ = config.write_text(REQUIRED)
        options[:2] = ["--config", str(config)]
    elif item == "log":
        foreign.log = foreign.bench.workspace / "task-7.log"
    else:
        options[-1] = str(foreign.folder)
    assert "a launch can write" in foreign.bench.unchanged(*foreign.words(*options), status=78).err


def test_files_that_are_not_there_are_a_wrong_call(foreign: Foreign) -> None:
    assert "no such state" in foreign.bench.unchanged(*foreign.words(), status=64).err
    foreign.state = foreign.bench.home / "none" / "task-7.json"
    assert "does not exist" in foreign.bench.unchanged(*foreign.words(), status=64).err


@pytest.mark.parametrize("how", ["the same name", "another way", "a second name", "a link", "not there"])
@pytest.mark.parametrize("command", ["check", "recover"])
def test_one_file_as_state_and_log_is_a_wrong_call(command: str, how: str, foreign: Foreign) -> None:
    """An entry would be put behind the state, and damage it."""
    if how != "not there":
        foreign.put(PIN)
    match how:
        case "another way":
            (foreign.bench.home / "linked").symlink_to(foreign.folder)
            foreign.log = foreign.bench.home / "linked" / foreign.state.name
        case "a second name":
            foreign.log.hardlink_to(foreign.state)
        case "a link":
            foreign.log.symlink_to(foreign.state)
        case _:
            foreign.log = foreign.state
    words = foreign.words(*(("--mode", "required") if command == "check" else ()))
    ended = foreign.bench.unchanged(command, *words[1:], status=64)
    assert f"{foreign.state}: --state and --log are one file; expected two files" in ended.err


def test_a_missing_state_whose_log_is_there_is_damage(foreign: Foreign) -> None:
    foreign.entry()
    assert "missing" in foreign.bench.unchanged(*foreign.words(), status=65).err


def test_the_flag_is_refused_from_inside_a_launch(foreign: Foreign) -> None:
    foreign.put(PIN)
    foreign.bench.monkeypatch.setenv("SANDBOX_PIN_LAUNCH", "r0")
    _ = foreign.bench.unchanged(*foreign.words(FLAG), status=77)
    words = ("recover", *foreign.words()[1:])
    _ = foreign.bench.unchanged(*words, status=77)


def test_relative_paths_are_those_of_the_working_folder(foreign: Foreign) -> None:
    foreign.put()
    foreign.bench.monkeypatch.chdir(foreign.folder)
    config = foreign.bench.config(PREFERRED)
    words = ("check", "--state", "task-7.json", "--log", "task-7.log", "--kind", "local", "--config", config)
    _ = foreign.bench.succeeds(*words)
    assert foreign.events() == ["pin_upgraded"]
    assert foreign.pin()["mode"] == "preferred"


def test_a_run_that_was_named_in_check_can_be_recovered_and_checked_again(foreign: Foreign) -> None:
    """The log's entries say that name: recover must neither refuse them nor begin a log of another run."""
    foreign.put()
    named = ("--run", "job/42")
    _ = foreign.bench.succeeds(*foreign.words("--mode", "required", *named))
    foreign.put({**PIN, "schema": 9})
    ended = foreign.bench.unchanged(*foreign.words("--mode", "required", *named), status=65)
    assert "--run job/42" in ended.err
    _ = foreign.bench.succeeds("recover", *foreign.words(*named)[1:])
    _ = foreign.bench.succeeds(*foreign.words("--mode", "required", *named))
    assert {entry["run"] for entry in read_log(foreign.log)} == {"job/42"}


@pytest.mark.parametrize("run", ["", "r" * 256])
def test_a_run_name_that_the_log_can_not_hold_is_a_wrong_call(run: str, foreign: Foreign) -> None:
    foreign.put({**PIN, "mode": "disabled"})
    _ = foreign.bench.unchanged(*foreign.words("--mode", "required", "--run", run), status=64)


def test_a_check_by_a_real_process(foreign: Foreign) -> None:
    foreign.put()
    assert foreign.bench.real(*foreign.words("--mode", "required")).status == 0
    before = snapshot(foreign.bench.home)
    assert foreign.bench.real(*foreign.words()).status == 77
    assert snapshot(foreign.bench.home) == before
