"""The table of bad input, row by row: each with its own status and words, and nothing touched."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.support import AT, FLAG, TRUE, Bench, full_disk, read_only, snapshot

PIN = {"schema": 1, "mode": "required", "source": "created", "recorded_at": AT}
ENTRY = {"event": "launch_ended", "at": AT, "run": "r1", "kind": "local", "pin": PIN}
ENDED = {**ENTRY, "ran": True, "exit_code": 0, "signal": None}


def _damaged(bench: Bench, *, file: str, says: tuple[str, ...], run: str = "r1") -> str:
    """Every command on the run ends with 65, quickly, flag or no flag, and leaves all as it was.

    Returns:
        What ``step`` said.
    """
    begun = time.monotonic()
    said: list[str] = []
    for words in (
        ("step", run, "--mode", "disabled", "--", *bench.touches()),
        ("step", run, "--mode", "disabled", FLAG, "--", *bench.touches()),
        ("unblock", run, f"{FLAG}=disabled"),
        ("resume", run, FLAG),
        ("step", run, "--mode", "required", "--", *bench.touches()),
        ("status", run),
        ("explain", run),
        ("run", "--id", "child", "--workspace", str(bench.workspace), "--parent", run, "--", TRUE),
    ):
        ended = bench.unchanged(*words, status=65)
        assert str(bench.root / run / file) in ended.err, words
        assert f"sandbox-pin recover {run}" in ended.err, words
        for piece in says:
            assert piece in ended.err, words
        said.append(ended.err)
    assert time.monotonic() - begun < 10
    return said[0]


# Pin, state and log

PINS: dict[str, tuple[object, str]] = {
    "missing": (..., "sandbox_pin: missing"),
    "an empty object": ({}, "sandbox_pin: empty ({})"),
    "null": (None, "found null"),
    "an empty text": ("", 'found ""'),
    "blanks": ("  ", 'found "  "'),
    "a list": ([], "found []"),
    "true": (True, "found true"),
    "another schema": ({**PIN, "schema": 3}, "sandbox_pin.schema: found 3"),
    "a boolean schema": ({**PIN, "schema": True}, "sandbox_pin.schema: found true"),
    "a text as schema": ({**PIN, "schema": "1"}, 'sandbox_pin.schema: found "1"'),
    "a fraction as schema": ({**PIN, "schema": 1.0}, "sandbox_pin.schema: found 1.0"),
    "another mode": ({**PIN, "mode": "off"}, "sandbox_pin.mode"),
    "another spelling": ({**PIN, "mode": "Required"}, "sandbox_pin.mode"),
    "another source": ({**PIN, "source": "agent"}, "sandbox_pin.source"),
    "an empty time": ({**PIN, "recorded_at": ""}, "sandbox_pin.recorded_at"),
    "an unknown key": ({**PIN, "note": 1}, "sandbox_pin.note"),
    "a key too few": ({key: PIN[key] for key in ("schema", "mode", "source")}, "sandbox_pin.recorded_at"),
}


@pytest.mark.parametrize("name", PINS)
def test_a_malformed_pin_is_damage(name: str, bench: Bench) -> None:
    bench.make("r1", "required")
    value, says = PINS[name]
    bench.damage("r1", sandbox_pin=value)
    _ = _damaged(bench, file="state.json", says=(says,))


def test_each_kind_of_damaged_pin_has_its_own_message(bench: Bench) -> None:
    bench.make("r1", "required")
    said: list[str] = []
    for value, _ in PINS.values():
        bench.damage("r1", sandbox_pin=value)
        said.append(bench.unchanged("step", "r1", "--", TRUE, status=65).err)
    assert len(set(said)) == len(PINS)


@pytest.mark.parametrize(
    "change",
    [
        lambda raw: raw[:-20],
        lambda raw: raw[: len(raw) // 2],
        lambda _: b"",
        lambda raw: b"\0" * len(raw),
        lambda raw: b"\xef\xbb\xbf" + raw,
        lambda raw: raw.decode().encode("utf-16"),
        lambda raw: raw + b"{}",
        lambda raw: raw + b"\0",
        lambda _: b"[]",
        lambda _: b"null",
        lambda _: b"[" * 100_000,
        lambda raw: raw.replace(b'"required"', b'"req\xffuired"'),
        lambda raw: raw.replace(b'"required"', b'"req\\ud800uired"'),
        lambda raw: raw.replace(
            b'"sandbox_pin"', b'"sandbox_pin":' + json.dumps(PIN).encode() + b',"sandbox_pin"'
        ),
        lambda raw: raw.replace(b'"mode":', b'"mode":"disabled","mode":'),
        lambda raw: raw.replace(b'"kind"', b'"kind":"remote","kind"'),
    ],
)
def test_a_malformed_state_is_damage(change: Callable[[bytes], bytes], bench: Bench) -> None:
    path = bench.make("r1", "required") / "state.json"
    changed = change(path.read_bytes())
    assert changed != path.read_bytes()
    _ = path.write_bytes(changed)
    _ = _damaged(bench, file="state.json", says=())


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"protocol": True}, "protocol: found true"),
        ({"protocol": 12.0}, "protocol: found 12.0"),
        ({"protocol": "12"}, 'protocol: found "12"'),
        ({"protocol": -1}, "protocol: found -1"),
        ({"protocol": 0}, "protocol: found 0"),
        ({"protocol": float("nan")}, "protocol: found NaN"),
        ({"protocol": ...}, "protocol: missing"),
        ({"protocol": 11, "sandbox_pin": None}, "sandbox_pin: found null"),
        ({"protocol": 11, "sandbox_pin": ""}, 'sandbox_pin: found ""'),
        ({"status": "paused"}, "status"),
        ({"kind": "elsewhere"}, "kind"),
        ({"workspace": 3}, "workspace"),
        ({"run": "r2"}, "run: found r2"),
        ({"command": [1]}, "command"),
        ({"launch": {"pid": -1, "started": 0, "boot": ""}}, "launch.pid"),
    ],
)
def test_a_state_with_a_malformed_field_is_damage(fields: dict[str, object], says: str, bench: Bench) -> None:
    bench.make("r1", "required")
    bench.damage("r1", **fields)
    _ = _damaged(bench, file="state.json", says=(says,))


def test_a_newer_protocol_is_refused_and_not_to_be_recovered(bench: Bench) -> None:
    """It is whole: the message sends to the version that wrote it, never to recover."""
    bench.make("r1", "required")
    bench.damage("r1", protocol=13)
    for words in (("step", "r1", FLAG, "--", TRUE), ("status", "r1"), ("recover", "r1")):
        ended = bench.unchanged(*words, status=65)
        assert "protocol: found 13, of a newer sandbox-pin" in ended.err
        assert "keeps it aside" not in ended.err


@pytest.mark.parametrize(
    ("log", "says"),
    [
        (None, "missing"),
        (b"", "empty"),
        (b"\n \n", "empty"),
        (b"garbage\n", "no whole entry"),
        (b"\0" * 300, "no whole entry"),
        (json.dumps(ENDED).encode()[:-1] + b"\n", "no whole entry"),
        (json.dumps({**ENDED, "event": "pin_removed"}).encode(), "event"),
        (json.dumps({**ENDED, "kind": "remote"}).encode(), "the log's last entry is of a remote run"),
        (json.dumps({**ENDED, "run": "r2"}).encode(), "the log's last entry is of the run r2"),
        (json.dumps({**ENDED, "pin": {**PIN, "schema": 3}}).encode(), "pin.schema: found 3"),
        (json.dumps({**ENDED, "pin": {}}).encode(), "pin"),
        (json.dumps({**ENDED, "pin": None}).encode(), "pin: found null"),
        (json.dumps({**ENDED, "note": 1}).encode(), "note"),
        (b"{}", "event"),
    ],
)
def test_a_damaged_log_is_damage(log: bytes | None, says: str, bench: Bench) -> None:
    """Missing, empty, of another kind or run, or with a last whole line that this version does not know."""
    path = bench.make("r1", "required") / "run.jsonl"
    path.unlink()
    if log is not None:
        _ = path.write_bytes(log)
    _ = _damaged(bench, file="run.jsonl", says=(says,))


def test_a_state_of_an_older_protocol_with_an_empty_log_is_damage(bench: Bench) -> None:
    """Without a log it is old; an emptied one is not the same as none."""
    _ = bench.make_old(log=b"")
    _ = _damaged(bench, file="run.jsonl", says=("empty",))


def test_a_torn_end_of_a_log_is_passed_over_told_and_left_where_it_is(bench: Bench) -> None:
    path = bench.make("r1", "disabled") / "run.jsonl"
    torn = b'{"event":"pin_acc'
    _ = path.write_bytes(path.read_bytes() + torn)
    ended = bench.succeeds("step", "r1", "--", TRUE)
    assert "1 torn line(s)" in ended.err
    lines = path.read_bytes().splitlines()
    assert lines[1] == torn
    assert [json.loads(line)["event"] for line in lines[2:]] == ["launch_started", "launch_ended"]


# What is no file at all


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _device(path: Path) -> None:
    try:
        os.mknod(path, 0o600 | 0o020000, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("this user can't make a device")


def _link(path: Path) -> None:
    elsewhere = path.parent.parent / "elsewhere.json"
    _ = elsewhere.write_text("{}")
    path.symlink_to(elsewhere)


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        _ = file.truncate(5 << 30)


def _folder(path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize("make", [_fifo, _device, _link, _sparse, _folder])
def test_a_state_that_is_no_file_is_damage_at_once(make: Callable[[Path], None], bench: Bench) -> None:
    path = bench.make("r1", "required") / "state.json"
    path.unlink()
    make(path)
    _ = _damaged(bench, file="state.json", says=())


def test_a_missing_state_in_a_run_folder_is_damage_and_never_made_anew(bench: Bench) -> None:
    path = bench.make("r1", "required") / "state.json"
    path.unlink()
    _ = _damaged(bench, file="state.json", says=("missing",))
    _ = bench.unchanged(
        "run", "--id", "r1", "--workspace", str(bench.workspace), "--", *bench.touches(), status=64
    )


@pytest.mark.parametrize("target", ["runs/a1", "nothing"])
@pytest.mark.parametrize(
    "words",
    [
        ("status", "linked"),
        ("log", "linked"),
        ("explain", "linked"),
        ("recover", "linked"),
        ("unblock", "linked"),
        ("resume", "linked"),
        ("step", "linked", "--", TRUE),
        ("run", "--id", "child", "--parent", "linked", "--", TRUE),
    ],
    ids=lambda words: words[0],
)
def test_a_link_in_a_run_s_place_is_not_followed(words: tuple[str, ...], target: str, bench: Bench) -> None:
    """The run that it leads to is whole under its own name: it must not be called damaged, and recovered."""
    bench.make("a1", "disabled")
    other = bench.home / "other"
    other.mkdir()
    (other / "linked").symlink_to(bench.home / target)
    ended = bench.unchanged(words[0], "--runs", str(other), *words[1:], status=65)
    assert f"{other}/linked: it is a link, and not followed; expected a folder" in ended.err
    assert "sandbox-pin recover" not in ended.err


def test_the_folder_of_all_runs_may_be_a_link(bench: Bench) -> None:
    bench.make("a1", "disabled")
    (bench.home / "linked").symlink_to(bench.root)
    _ = bench.succeeds("status", "--runs", str(bench.home / "linked"), "a1")


# Run ids and commands


@pytest.mark.parametrize(
    "run",
    [
        "../x",
        "/etc",
        "",
        ".",
        "..",
        "a" * 300,
        "a" * 65,
        "a\nb",
        "a\r",
        "R1",
        "-a",
        "_a",
        "a/b",
        "a b",
        "\u00e9",
    ],
)
def test_a_run_id_that_is_none_is_refused_before_any_file_is_touched(run: str, bench: Bench) -> None:
    bench.monkeypatch.setenv("SANDBOX_PIN_RUNS", str(bench.home / "none"))
    for words in (
        ("run", f"--id={run}", "--", TRUE),
        ("run", "--id", "r1", f"--parent={run}", "--", TRUE),
        *([] if run.startswith("-") else [("step", run, "--", TRUE), ("status", run), ("recover", run)]),
    ):
        ended = bench.unchanged(*words, status=64)
        assert len(ended.err.splitlines()) == 1
        assert "a-z 0-9" in ended.err
        assert len(ended.err) < 300


def test_the_longest_run_id_is_one(bench: Bench) -> None:
    assert bench.run("a" * 64).status == 0


# The log unwritable


def _weaker_and_upgrade(bench: Bench, run: str = "r1") -> list[tuple[str, ...]]:
    return [("step", run, "--mode", "disabled", FLAG, "--", *bench.touches()), ("unblock", run, FLAG)]


def _replaced(make: Callable[[Path], None], bench: Bench) -> None:
    path = bench.root / "r1" / "run.jsonl"
    path.unlink()
    make(path)


@pytest.mark.parametrize("make", [_fifo, _folder, _link])
def test_an_accept_that_can_not_be_logged_does_not_happen(make: Callable[[Path], None], bench: Bench) -> None:
    bench.make("r1", "required")
    _replaced(make, bench)
    ended = bench.unchanged("step", "r1", FLAG, "--", *bench.touches(), status=74)
    assert str(bench.root / "r1" / "run.jsonl") in ended.err


@pytest.mark.parametrize("make", [_fifo, _folder, _link])
def test_a_weaker_request_is_refused_even_where_the_log_can_not_be_read(
    make: Callable[[Path], None], bench: Bench
) -> None:
    bench.make("r1", "required")
    _replaced(make, bench)
    _ = bench.unchanged("step", "r1", "--", *bench.touches(), status=77)


@pytest.mark.parametrize("make", [_fifo, _folder, _link])
def test_a_strengthening_that_can_not_be_logged_is_saved_and_then_nothing_is_launched(
    make: Callable[[Path], None], bench: Bench
) -> None:
    bench.make("r1", "disabled")
    _replaced(make, bench)
    ended = bench.call("step", "r1", "--mode", "preferred", "--", *bench.touches())
    assert ended.status == 74
    assert (bench.pin()["mode"], bench.pin()["source"]) == ("preferred", "strengthened")
    assert "could not be logged" in ended.err
    assert not (bench.workspace / "launched").exists()


@pytest.mark.parametrize("make", [_fifo, _folder, _link])
def test_an_upgrade_that_can_not_be_logged_does_not_happen(
    make: Callable[[Path], None], bench: Bench
) -> None:
    folder = bench.make_old()
    make(folder / "run.jsonl")
    _ = bench.unchanged("step", "r1", "--mode", "required", "--", *bench.touches(), status=74)


def _long_log(bench: Bench) -> None:
    path = bench.root / "r1" / "run.jsonl"
    line = path.read_bytes() if path.exists() else b""
    _ = path.write_bytes(b"x" * 60_000 + b"\n" + line)


def test_on_a_full_disk_an_accept_does_not_happen(bench: Bench) -> None:
    bench.make("r1", "required")
    _long_log(bench)
    with full_disk():
        ended = bench.unchanged("step", "r1", FLAG, "--", *bench.touches(), status=74)
    assert "could not be written" in ended.err


def test_on_a_full_disk_a_strengthening_is_saved_and_nothing_is_launched(bench: Bench) -> None:
    bench.make("r1", "disabled")
    _long_log(bench)
    with full_disk():
        ended = bench.call("step", "r1", "--mode", "preferred", "--", *bench.touches())
    assert ended.status == 74
    assert bench.pin()["mode"] == "preferred"
    assert not (bench.workspace / "launched").exists()
    assert bench.state()["status"] == "ready"


def test_on_a_full_disk_a_launch_whose_start_can_not_be_logged_does_not_happen(bench: Bench) -> None:
    bench.make("r1", "disabled")
    _long_log(bench)
    with full_disk():
        _ = bench.unchanged("step", "r1", "--", *bench.touches(), status=74)


def test_where_the_log_is_read_only_an_accept_does_not_happen_and_a_strengthening_is_saved(
    bench: Bench,
) -> None:
    bench.make("r1", "preferred")
    with read_only(bench.root / "r1" / "run.jsonl"):
        _ = bench.unchanged("step", "r1", FLAG, "--", *bench.touches(), status=74)
        ended = bench.call("step", "r1", "--mode", "required", "--", *bench.touches())
    assert ended.status in {69, 74}
    assert bench.pin()["mode"] == "required"
    assert not (bench.workspace / "launched").exists()


# Runs


@pytest.mark.parametrize(
    "words",
    [
        ("step", "none", "--", TRUE),
        ("resume", "none"),
        ("unblock", "none", FLAG),
        ("recover", "none"),
        ("status", "none"),
        ("explain", "none"),
        ("log", "none"),
        ("run", "--id", "r2", "--parent", "none", "--", TRUE),
    ],
)
@pytest.mark.parametrize("others", [True, False])
def test_no_such_run_is_a_wrong_call_and_makes_nothing(
    words: tuple[str, ...], *, others: bool, bench: Bench
) -> None:
    if others:
        bench.make("r1", "disabled")
    assert "no such run" in bench.unchanged(*words, status=64).err


@pytest.mark.parametrize("options", [(), ("--mode", "preferred"), (FLAG,)])
def test_a_run_that_is_already_there_is_left_alone(options: tuple[str, ...], bench: Bench) -> None:
    bench.make("r1", "required")
    words = ("run", "--id", "r1", "--workspace", str(bench.workspace), *options)
    ended = bench.unchanged(*words, "--", *bench.touches(), status=64)
    assert "already" in ended.err


@pytest.mark.parametrize("make", [_folder, _fifo, _link])
def test_what_stands_in_the_way_of_a_new_run_is_left_alone(
    make: Callable[[Path], None], bench: Bench
) -> None:
    bench.root.mkdir()
    make(bench.root / "r1")
    words = ("run", "--id", "r1", "--workspace", str(bench.workspace), "--", *bench.touches())
    _ = bench.unchanged(*words, status=64)


@pytest.mark.parametrize("option", ["--workspace", "--writable"])
def test_a_folder_that_is_not_there_is_a_wrong_call(option: str, bench: Bench) -> None:
    for path in (str(bench.home / "none"), bench.config(""), ""):
        words = ("run", "--id", "r1", option, path, "--", TRUE)
        _ = bench.unchanged(*words, status=64)
    assert not bench.root.exists()


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("nonsense",),
        ("local",),
        ("local", "step", "r1"),
        ("step",),
        ("run", "--nonsense", "--", TRUE),
        ("run", "--mode", "off", "--", TRUE),
        ("run", "--mode", "Required", "--", TRUE),
        ("run", "--mode", "", "--", TRUE),
        ("step", "r1", "--wait", "-1", "--", TRUE),
        ("step", "r1", "--wait", "nan", "--", TRUE),
        ("step", "r1", "r2", "--", TRUE),
        ("status", "r1", "--", TRUE),
        ("list", "--runs", ""),
        ("recover",),
        ("recover", "r1", "--state", "s", "--log", "l", "--kind", "local"),
        ("recover", "--state", "s"),
        ("run", "--result", "none/result", "--", TRUE),
        ("check", "--state", "s", "--log", "l", "--kind", "local", "--mode", "disabled", "--config", "c"),
        ("check", "--state", "s", "--log", "l"),
        ("check", "--state", "s", "--log", "l", "--kind", "else"),
    ],
)
def test_a_wrong_call_is_64_and_makes_nothing(words: tuple[str, ...], bench: Bench) -> None:
    bench.make("r1", "disabled")
    ended = bench.unchanged(*words, status=64)
    assert ended.err
    assert "Traceback" not in ended.err


# Configuration


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("c.toml", '[sandbox]\nmod = "required"\n', "mode"),
        ("c.toml", '[sandbox]\nmode = "requird"\n', "required"),
        ("c.toml", '[sandbox]\nmode = "Required"\n', "required"),
        ("c.toml", '[sandbx]\nmode = "required"\n', "sandbox"),
        ("c.toml", '[Sandbox]\nmode = "required"\n', "sandbox"),
        ("c.yaml", "sandbox:\n  mode: off\n", "disabled, preferred, required"),
        ("c.yaml", "sandbox:\n  mode: 1\n", "disabled, preferred, required"),
        ("c.json", '{"sandbox": {"mode": "required", "mode": "disabled"}}', "mode"),
        ("c.json", '{"sandbox": {"mode": true}}', "boolean"),
        ("c.toml", "", "no key at all"),
        ("c.toml", "[sandbox\n", "c.toml"),
        ("c.txt", "mode", "c.txt"),
    ],
)
def test_an_unknown_key_or_value_is_78_and_names_the_right_one(
    name: str, text: str, says: str, bench: Bench
) -> None:
    bench.make("r1", "required")
    config = bench.config(text, name)
    ended = bench.unchanged("step", "r1", FLAG, "--config", config, "--", *bench.touches(), status=78)
    assert config in ended.err
    assert says in ended.err
    words = ("run", "--id", "r2", "--workspace", str(bench.workspace), "--config", config)
    _ = bench.unchanged(*words, "--", *bench.touches(), status=78)


@pytest.mark.parametrize("name", ["none.toml", ".", "", "loop.toml"])
def test_a_named_file_that_can_not_be_read_is_never_the_default(name: str, bench: Bench) -> None:
    (bench.desk / "loop.toml").symlink_to("loop.toml")
    words = ("run", "--id", "r1", "--workspace", str(bench.workspace), "--config", name)
    _ = bench.unchanged(*words, "--", *bench.touches(), status=78)
    assert not bench.root.exists()


def test_a_refused_run_leaves_not_even_the_folder_of_runs(bench: Bench) -> None:
    """Whatever refuses it: the call, the configuration, the command, the parent."""
    before = snapshot(bench.home)
    for words, status in (
        (("run", "--id", "R1", "--", TRUE), 64),
        (("run", "--id", "r1"), 64),
        (("run", "--id", "r1", "--config", "none.toml", "--", TRUE), 78),
        (("run", "--id", "r1", "--", "no-such-program-here"), 127),
        (("run", "--id", "r1", "--parent", "none", "--", TRUE), 64),
        (("run", "--id", "r1", "--workspace", str(bench.home), "--", TRUE), 78),
    ):
        assert bench.call(*words).status == status
        assert snapshot(bench.home) == before
