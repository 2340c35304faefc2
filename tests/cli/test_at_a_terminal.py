"""What a person sees at a terminal: lines that fit, times of the own zone; elsewhere whole, stored texts."""

import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.support import AT, FLAG, TRUE, Bench, end_of
from core.strategies import any_texts
from sandbox_pin.cli.screen import Screen, columns, fitted, shortened, told_time_and_age

NOW: Final = datetime(2026, 1, 1, 3, tzinfo=UTC)


@given(any_texts | st.text("ab /漢é\u0301", max_size=300), st.integers(24, 120), st.integers(0, 12))
def test_every_line_fits_and_no_word_that_fits_is_cut(text: str, width: int, indent: int) -> None:
    """Wide characters take two columns, combining ones none."""
    lines = fitted(text, Screen(width=width, now=NOW, zone=UTC), indent=indent)
    assert all(columns(line) <= width for line in lines)
    assert all(line.isprintable() for line in lines)
    if all(columns(word) <= width - indent for word in text.split(" ")) and text.isprintable():
        assert " ".join(lines).split() == text.split()


@given(any_texts)
def test_elsewhere_a_text_is_one_whole_line(text: str) -> None:
    (line,) = fitted(text, None, indent=2)
    assert not text.isprintable() or line == text


@given(st.text("ab/漢é", max_size=100), st.integers(8, 60))
def test_a_text_is_cut_in_its_middle(text: str, width: int) -> None:
    """Both ends of a path tell something."""
    short = shortened(text, width)
    assert columns(short) <= width
    if short != text:
        head, _, tail = short.partition("...")
        assert text.startswith(head)
        assert text.endswith(tail)


def test_a_time_has_its_zone_and_age_at_a_terminal_alone() -> None:
    screen = Screen(width=80, now=NOW, zone=UTC)
    assert told_time_and_age(AT, screen) == "2026-01-01 00:00:00 UTC, 3 hours ago"
    assert told_time_and_age(AT, None) == AT
    assert told_time_and_age("noon", screen) == "noon"


@pytest.mark.parametrize("width", [40, 80])
def test_status_and_log_fit_a_terminal(width: int, bench: Bench) -> None:
    """But for commands, which are there to be copied: those are whole."""
    bench.workspace = bench.workspace / ("deep" * 20) / ("deeper" * 20)
    bench.workspace.mkdir(parents=True)
    run = "r" + "u" * 60
    _ = bench.run(run, "--mode", "disabled", command=("sh", "-c", "exit 3"))
    for words in (("status", run), ("log", run), ("explain", run), ("list",), ("log", run, "--timeline")):
        ended = bench.at_a_terminal(*words, width=width, env={"TZ": "UTC-1"})
        assert ended.status == 0
        assert ended.out
        for line in ended.out.splitlines():
            assert columns(line) <= width or line.endswith((f"resume {run}", f"unblock {run}")), line
    assert str(bench.workspace) in bench.succeeds("status", run).out


@pytest.mark.parametrize("environment", [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}, {"CLICOLOR_FORCE": "1"}])
def test_no_escape_is_ever_written(environment: dict[str, str], bench: Bench) -> None:
    """At a terminal neither: words and signs tell everything."""
    _ = bench.make("r1", "required")
    for words in (
        ("status", "r1"),
        ("log", "r1"),
        ("log", "r1", "--timeline"),
        ("list",),
        ("step", "r1", "--", TRUE),
        ("status", "none"),
        ("--help",),
    ):
        assert "\x1b" not in bench.at_a_terminal(*words, env=environment).out


def test_at_a_terminal_times_are_local_and_json_has_the_stored_ones(bench: Bench) -> None:
    _ = bench.make("r1", "required")
    zone = {"TZ": "<+0330>-3:30"}
    told = bench.at_a_terminal("status", "r1", env=zone).out
    assert "pinned to  required (created 2026-01-01 03:30:00 +0330, " in told
    assert AT in bench.at_a_terminal("status", "r1", "--json", env=zone).out
    assert AT in bench.real("status", "r1", env=zone).out
    refused = bench.at_a_terminal("step", "r1", "--", TRUE, env=zone, width=400)
    assert refused.status == 77
    assert "required (created 2026-01-01 03:30:00 +0330, " in refused.out
    assert refused.out.endswith(f"{FLAG}=disabled\n")


def test_at_a_terminal_times_inside_a_sentence_are_local_too(bench: Bench) -> None:
    """Whatever tells a pin: a difference, a decision, a check. Elsewhere they are as stored."""
    zone = {"TZ": "<+0330>-3:30"}
    preferred = {"schema": 1, "mode": "preferred", "source": "created", "recorded_at": AT}

    def commands(run: str) -> list[tuple[str, ...]]:
        folder = bench.make(run, "disabled")
        bench.damage(run, sandbox_pin=preferred)
        files = ("--state", str(folder / "state.json"), "--log", str(folder / "run.jsonl"))
        return [
            ("status", run),
            ("explain", run, "--mode", "required"),
            ("check", *files, "--kind", "local", "--run", run, "--mode", "required", "--dry-run"),
            ("step", run, "--mode", "preferred", "--", TRUE),
        ]

    for words in commands("piped"):
        ended = bench.real(*words, env=zone)
        assert f"preferred (created {AT})" in ended.out + ended.err
    for words in commands("shown"):
        told = bench.at_a_terminal(*words, env=zone, width=400).out
        assert "preferred (created 2026-01-01 03:30:00 +0330, " in told
        assert AT not in told


def test_no_command_shows_a_stored_time_at_a_terminal(bench: Bench) -> None:
    """A log with every change of a pin in it, a recovery too."""
    _ = bench.make("r1", "disabled")
    _ = bench.succeeds("step", "r1", "--mode", "preferred", "--", TRUE)
    _ = bench.succeeds("step", "r1", "--mode", "disabled", FLAG, "--", TRUE)
    bench.damage("r1", sandbox_pin=None)
    told = bench.at_a_terminal("recover", "r1", width=400).out
    assert "is pinned to required (strengthened 20" in told
    for words in (("log", "r1"), ("log", "r1", "--timeline"), ("status", "r1"), ("list",)):
        told += bench.at_a_terminal(*words, width=400).out
    assert not re.search(r"\d\dT\d\d:", told)


def test_what_looks_like_a_time_in_a_name_stays_as_it_is(bench: Bench) -> None:
    """An agent's folder could be named so: what is told of it is its name."""
    bench.workspace = bench.workspace / f"required (created {AT})"
    bench.workspace.mkdir()
    _ = bench.make("r1", "required")
    told = bench.at_a_terminal("explain", "r1", env={"TZ": "UTC-1"}, width=400).out
    assert f"workspace  {bench.workspace}\n" in told
    assert f"may write  {bench.workspace}\n" in told
    assert "pinned to  required (created 2026-01-01 01:00:00 UTC, " in told


def test_what_is_meant_to_be_copied_is_whole_at_any_width(bench: Bench) -> None:
    """A refusal's lines are left to the terminal to break, so that a copy of them works."""
    config = bench.config('[sandbox]\nmode = "required"\n', f"{'long' * 40}.toml")
    _ = bench.make("r1", "disabled", status="blocked")
    _ = bench.succeeds("unblock", "r1", "--config", config)
    for words in (("step", "r1", "--", TRUE), ("explain", "r1")):
        assert f"--config {config}\n" in bench.at_a_terminal(*words, width=40).out


@pytest.mark.parametrize("command", ["status", "log"])
def test_a_timeline_costs_the_other_commands_no_import(command: str, bench: Bench) -> None:
    _ = bench.make("r1", "required")
    code = (
        "import sys; from sandbox_pin.cli.main import call; "
        f"call([{command!r}, 'r1']); print(sorted(name for name in sys.modules if 'timeline' in name))"
    )
    ended = end_of(bench.start_program(Path(sys.executable), "-c", code))
    assert ended.out.splitlines()[-1] == "[]"
