"""Text from files, arguments and variables: one event is one line, no control character is shown raw."""

import json
import os
from pathlib import Path

import pytest

from cli.support import AT, FLAG, TRUE, Bench, Ended, end_of, needs_sandbox, snapshot
from sandbox_pin.cli.terminal import json_line

NASTY = "a\nb\rc\x1b[31md\u2028e\u202ef\x85g\x07h"
NASTY_NAMES = [
    "line\nfeed",
    "return\rhere",
    "esc\x1b]0;title\x07",
    "sep\u2028arator",
    "bi\u202edi",
    "next\x85line",
]


def _printable(ended: Ended) -> None:
    for line in (ended.out + ended.err).split("\n"):
        assert line.isprintable(), ascii(line)


@pytest.mark.parametrize("name", NASTY_NAMES)
def test_names_of_files_and_folders(name: str, bench: Bench) -> None:
    """In workspace, configuration and a program's name: told escaped, logged in one line, kept as is."""
    workspace = bench.workspace / name
    workspace.mkdir()
    program = workspace / name
    _ = program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    config = bench.config('[sandbox]\nmode = "disabled"\n', f"{name}.toml")
    ended = bench.call(
        "run", "--id", "r1", "--workspace", str(workspace), "--config", config, "--", f"./{name}"
    )
    assert ended.status == 0, ended
    _printable(ended)
    raw = (bench.root / "r1" / "run.jsonl").read_bytes().decode()
    assert len(raw.splitlines()) == raw.count("\n") == 3
    assert all(line.isprintable() or "\u202e" in line for line in raw.splitlines())
    assert bench.state()["workspace"] == str(workspace)
    assert bench.log()[0]["request"]["mode_from"]["path"] == config
    for words in (("status", "r1"), ("log", "r1"), ("explain", "r1", "--config", config), ("list",)):
        _printable(bench.succeeds(*words))
        _printable(bench.succeeds(*words, "--json"))
    told = bench.succeeds("log", "r1", "--json").objects
    assert told == bench.log()


@pytest.mark.parametrize("name", NASTY_NAMES)
def test_a_refusal_that_tells_such_a_name(name: str, bench: Bench) -> None:
    bench.make("r1", "required")
    config = bench.config('[sandbox]\nmode = "disabled"\n', f"{name}.toml")
    ended = bench.unchanged("step", "r1", "--config", config, "--", TRUE, status=77)
    _printable(ended)
    assert len(ended.err.splitlines()) == 5


@pytest.mark.parametrize(
    "words",
    [
        ("step", NASTY, "--", TRUE),
        ("step", "r1", "--config", NASTY, "--", TRUE),
        ("step", "r1", "--mode", NASTY, "--", TRUE),
        ("step", "r1", f"{FLAG}={NASTY}", "--", TRUE),
        ("step", "r1", f"--{NASTY}", "--", TRUE),
        ("step", "r1", "--writable", NASTY, "--", TRUE),
        ("step", "r1", "--wait", NASTY, "--", TRUE),
        ("step", "r1", "--result", f"{NASTY}/result", "--", TRUE),
        ("step", "r1", NASTY, "--", TRUE),
        ("step", "r1", "--", NASTY),
        ("run", "--workspace", NASTY, "--", TRUE),
        ("run", "--id", NASTY, "--", TRUE),
        ("run", "--parent", NASTY, "--", TRUE),
        ("status", "r1", "--runs", NASTY),
        ("check", "--state", NASTY, "--log", NASTY, "--kind", "local"),
        ("check", "--state", "s", "--log", "l", "--kind", NASTY),
        ("check", "--state", "s", "--log", "l", "--kind", "local", "--pinned-since", NASTY),
        (NASTY,),
    ],
)
def test_arguments_are_told_without_raw_control_characters(words: tuple[str, ...], bench: Bench) -> None:
    bench.make("r1", "disabled")
    ended = bench.call(*words)
    assert ended.status in {64, 78, 127}
    assert ended.err
    _printable(ended)


@pytest.mark.parametrize("variable", ["SANDBOX_PIN_RUNS", "SANDBOX_PIN_LAUNCH"])
def test_values_of_variables_are_told_without_raw_control_characters(variable: str, bench: Bench) -> None:
    bench.monkeypatch.setenv(variable, NASTY)
    ended = bench.call("step", "r1", FLAG, "--", TRUE)
    assert ended.status in {64, 77}
    _printable(ended)


@pytest.mark.parametrize(
    "text",
    [
        '[sandbox]\nmode = "re\\u001bquired\\u2028"\n',
        '[sandbox]\n"mo\\nde" = "required"\n',
        '"sand\\u202ebox" = 1\n',
        "[sandbox]\nmode = \x1b\n",
    ],
)
def test_values_and_keys_of_a_configuration(text: str, bench: Bench) -> None:
    bench.make("r1", "required")
    ended = bench.unchanged("step", "r1", "--config", bench.config(text), "--", TRUE, status=78)
    _printable(ended)
    assert len(ended.err.splitlines()) == 1


@pytest.mark.parametrize("field", ["kind", "status", "protocol", "run", "workspace", "sandbox_pin"])
def test_values_of_a_damaged_state(field: str, bench: Bench) -> None:
    bench.make("r1", "required")
    path = bench.root / "r1" / "state.json"
    state = {**json.loads(path.read_bytes()), field: [NASTY]}
    _ = path.write_text(json.dumps(state, ensure_ascii=False))
    for words in (("step", "r1", "--", TRUE), ("status", "r1"), ("list",)):
        ended = bench.unchanged(*words, status=65)
        _printable(ended)
        assert len(ended.err.splitlines()) == 1


def test_what_an_agent_wrote_into_the_log(bench: Bench) -> None:
    """A forged line stays inside its own: told, escaped, never taken for an entry."""
    path = bench.make("r1", "disabled") / "run.jsonl"
    forged = [
        "\x1b[2J\x1b[Hnothing to see\r",
        json.dumps({"event": NASTY}, ensure_ascii=False).replace("\n", " "),
        '{"event":"\u2028"',
    ]
    _ = path.write_bytes(path.read_bytes() + "\n".join(forged).encode() + b"\xff\n")
    for words in (("log", "r1"), ("log", "r1", "--json"), ("status", "r1"), ("list",)):
        _printable(bench.call(*words))


def test_text_in_the_pin_and_in_the_logs_entries(bench: Bench) -> None:
    path = bench.make("r1", "disabled") / "run.jsonl"
    pin = {"schema": 1, "mode": "required", "source": "created", "recorded_at": "\u202e\x1b[31m\n"}
    bench.damage("r1", sandbox_pin=pin)
    entry = {"event": "launch_ended", "at": NASTY, "run": "r1", "kind": "local", "pin": pin}
    line = json.dumps({**entry, "ran": True, "exit_code": None, "signal": NASTY})
    _ = path.write_bytes(path.read_bytes() + line.encode() + b"\n")
    for words in (("log", "r1"), ("status", "r1"), ("list",), ("explain", "r1")):
        ended = bench.call(*words)
        assert ended.status == 0
        _printable(ended)
        _printable(bench.call(*words, "--json"))
    ended = bench.unchanged("step", "r1", "--", TRUE, status=77)
    _printable(ended)


# What is not UTF-8


@pytest.mark.parametrize("position", ["command", "config", "workspace", "run"])
def test_an_argument_that_is_not_utf8_is_a_wrong_call(position: str, bench: Bench) -> None:
    """A real process: only there do such bytes come in as they do."""
    odd = b"odd-\xff-name"
    words = {
        "command": [b"run", b"--", b"true", odd],
        "config": [b"run", b"--config", odd, b"--", b"true"],
        "workspace": [b"run", b"--workspace", odd, b"--", b"true"],
        "run": [b"status", odd],
    }[position]
    ended = bench.real(*words)
    assert ended.status == 64
    assert "UTF-8" in ended.err
    _printable(ended)
    assert not bench.root.exists()


def test_lone_surrogates_in_this_process_are_a_wrong_call(bench: Bench) -> None:
    _printable(bench.unchanged("run", "--", TRUE, "\ud800", status=64))


@pytest.mark.parametrize("what", ["working folder", "runs"])
def test_a_folder_whose_name_is_not_utf8(what: str, bench: Bench) -> None:
    """The run is refused in words, or made whole; never a crash, and never half a run."""
    odd = Path(os.fsdecode(os.fsencode(bench.home) + b"/odd-\xff"))
    odd.mkdir()
    bench.make("r0", "disabled")
    if what == "working folder":
        ended = end_of(bench.start("run", "--id", "r1", "--", TRUE, cwd=odd))
    else:
        ended = bench.real(
            "run",
            "--id",
            "r1",
            "--workspace",
            str(bench.workspace),
            "--",
            TRUE,
            env={"SANDBOX_PIN_RUNS": str(odd)},
        )
    assert ended.status in {0, 64, 78}
    _printable(ended)
    assert "Traceback" not in ended.err
    made = [*bench.root.iterdir(), *odd.iterdir()]
    assert all(path.name in {"r0", "r1"} for path in made)
    if what == "working folder":
        assert ended.status != 0
        assert "UTF-8" in ended.err


@pytest.mark.parametrize("what", ["writable folder", "program"])
def test_a_real_path_that_is_not_utf8_spends_no_consent(what: str, bench: Bench) -> None:
    """The log can't hold it: found before anything is decided, not at the launch, when the pin has moved."""
    bench.make("r1", "required")
    odd = Path(os.fsdecode(os.fsencode(bench.home) + b"/odd-\xff"))
    odd.mkdir()
    words: tuple[str, ...]
    program = odd / "tool"
    program.symlink_to(TRUE)
    link = bench.home / "link"
    link.symlink_to(odd)
    if what == "program":
        bench.monkeypatch.setenv("PATH", f"{odd}:{os.environ['PATH']}")
        words = ("--", "tool")
    else:
        words = ("--writable", str(link), "--", TRUE)
    before = snapshot(bench.root)
    ended = bench.call("step", "r1", FLAG, *words)
    _printable(ended)
    assert ended.status in {64, 127}, ended
    assert snapshot(bench.root) == before


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_that_can_not_show_a_character_is_no_crash(encoding: str, bench: Bench) -> None:
    bench.workspace = bench.home / "w\u00f6rk-\u4e2d"
    bench.workspace.mkdir()
    bench.make("r1", "disabled")
    ended = bench.real("status", "r1", env={"PYTHONIOENCODING": encoding, "LC_ALL": "C"})
    assert ended.status == 0, ended


@needs_sandbox
def test_what_the_sandbox_says_of_a_failure_is_escaped(bench: Bench) -> None:
    bench.workspace = bench.workspace / NASTY.replace("/", "")
    bench.workspace.mkdir()
    bench.make("r1", "required")
    program = bench.workspace / "program"
    _ = program.write_text(f"#!/no/such{NASTY[2:]}\n")
    program.chmod(0o755)
    ended = bench.call("step", "r1", "--mode", "required", "--", "./program")
    assert ended.status == 69
    ours = [line for line in ended.err.split("\n") if line.startswith("sandbox-pin:")]
    assert ours
    assert all(line.isprintable() for line in ours)
    assert bench.log()[0]["at"] == AT


@pytest.mark.parametrize("beside", ["", "é"], ids=["ascii alone", "and other text"])
def test_no_character_leaves_json_raw_that_is_not_printable(beside: str) -> None:
    """Each of the first 64 Ki that can be encoded, DEL and the C1 controls among them; and it reads back."""
    for number in [*range(0xD800), *range(0xE000, 0x10000)]:
        text = f"{chr(number)}{beside}"
        line = json_line([text])
        assert line.isprintable()
        assert json.loads(line) == [text]
