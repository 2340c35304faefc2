"""A service may start the program with a standard descriptor closed: that changes nothing that it does."""

import json
from pathlib import Path

import pytest

from cli.support import FLAG, Bench, Ended, end_of

SHELL = Path("/bin/sh")
CLOSED = [">&-", "2>&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-"]


def _with(closed: str, bench: Bench, *words: str) -> Ended:
    script = f'exec sandbox-pin "$@" {closed}'
    return end_of(bench.start_program(SHELL, "-c", script, "sh", *words))


@pytest.mark.parametrize("closed", CLOSED)
def test_what_is_told_elsewhere_is_told(closed: str, bench: Bench) -> None:
    bench.make("r1", "required")
    for words in (("status", "r1"), ("list", "--json"), ("log", "r1"), ("explain", "r1"), ("--help",)):
        ended = _with(closed, bench, *words)
        assert ended.status == 0, ended
        assert ended.err == ""
        assert (ended.out == "") == (">&-" in closed.split())
    ended = _with(closed, bench, "step", "r1", "--", *bench.touches())
    assert ended.status == 77
    assert (ended.err == "") == ("2>&-" in closed.split())
    assert _with(closed, bench, "status", "none").status == 64
    assert _with(closed, bench, "status").status == 64


@pytest.mark.parametrize("closed", CLOSED)
def test_a_check_says_by_its_status_what_it_did(closed: str, bench: Bench) -> None:
    state = bench.home / "state.json"
    _ = state.write_text("{}")
    words = ("check", "--state", str(state), "--log", str(bench.home / "log"), "--kind", "local", "--mode")
    assert _with(closed, bench, *words, "required").status == 0
    assert _with(closed, bench, *words, "disabled").status == 77
    assert _with(closed, bench, *words, "disabled", FLAG).status == 0
    assert json.loads(state.read_bytes())["sandbox_pin"]["mode"] == "disabled"


@pytest.mark.parametrize("closed", CLOSED)
def test_a_launch_has_all_its_standard_descriptors(closed: str, bench: Bench) -> None:
    """A file that it opened would otherwise get the number of one, and what it says would go there."""
    told = "sh", "-c", "cat && echo out && echo err >&2 && ls /proc/$$/fd > seen"
    words = ("run", "--id", "r1", "--workspace", str(bench.workspace), "--mode", "disabled", "--", *told)
    ended = _with(closed, bench, *words)
    assert ended.status == 0, ended
    assert {"0", "1", "2"} <= set((bench.workspace / "seen").read_text().split())
    assert ended.out == ("" if ">&-" in closed.split() else "out\n")
