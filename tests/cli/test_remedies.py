"""A command that a message gives works as it is pasted, wherever the runs are."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.support import TRUE, Bench


def _cut(folder: Path) -> None:
    _ = (folder / "state.json").write_bytes(b"{")


def _damage_in_the_log(folder: Path) -> None:
    _ = (folder / "run.jsonl").write_bytes(b'{"event":"pin_removed"}\n')


def _without_a_log(folder: Path) -> None:
    (folder / "run.jsonl").unlink()


def _log_is_a_folder(folder: Path) -> None:
    _without_a_log(folder)
    (folder / "run.jsonl").mkdir()


def _leave(_: Path) -> None:
    """As it was made."""


SAID: dict[str, tuple[Callable[[Path], None], str, tuple[str, ...], tuple[str, ...]]] = {
    "damage": (_cut, "ready", ("status", "r1"), ("recover",)),
    "damage in a list": (_cut, "ready", ("list",), ("recover",)),
    "damage in an audit": (_cut, "ready", ("audit", "ROOT"), ("recover",)),
    "damage in a log": (_damage_in_the_log, "ready", ("log", "r1"), ("recover",)),
    "no log": (_without_a_log, "ready", ("log", "r1"), ("recover",)),
    "no log for a timeline": (_without_a_log, "ready", ("log", "r1", "--timeline"), ("recover",)),
    "a log that is no file": (_log_is_a_folder, "ready", ("log", "r1"), ("recover",)),
    "its status": (_log_is_a_folder, "ready", ("status", "r1"), ("recover",)),
    "its next step": (_log_is_a_folder, "ready", ("step", "r1", "--", TRUE), ("recover",)),
    "recovered": (_cut, "ready", ("recover", "r1"), ("unblock",)),
    "blocked": (_leave, "blocked", ("status", "r1"), ("resume", "unblock")),
    "blocked, and stepped": (_leave, "blocked", ("step", "r1", "--", TRUE), ("resume", "unblock")),
    "ready, and resumed": (_leave, "ready", ("resume", "r1"), ("step",)),
    "without a last command": (_leave, "blocked", ("resume", "r1"), ("unblock",)),
    "failed": (_leave, "ready", ("step", "r1", "--", "false"), ("resume", "unblock")),
}
"""How a run is, what it waits for, a command, and the commands that it then tells of."""


@pytest.mark.parametrize("elsewhere", [True, False])
@pytest.mark.parametrize("name", SAID)
def test_a_remedy_names_the_folder_of_all_runs_where_it_must(
    name: str, elsewhere: bool, bench: Bench
) -> None:
    """Where the runs are at the default place, the command is as short as it can be."""
    spoil, status, words, verbs = SAID[name]
    if elsewhere:
        bench.root = bench.home / "my runs"
    spoil(bench.make("r1", "disabled", status=status))
    words = tuple(str(bench.root) if word == "ROOT" else word for word in words)
    options = ["--runs", str(bench.root)] if elsewhere else []
    given = options if words[0] != "audit" else []
    ended = bench.call(words[0], *given, *words[1:])
    said = ended.out + ended.err
    for verb in verbs:
        assert f"{shlex.join(['sandbox-pin', verb, 'r1', *options])}" in said
    assert len(re.findall("sandbox-pin (?:recover|resume|unblock|step) ", said)) == len(verbs)
    assert elsewhere == ("--runs" in said)


def test_a_remedy_that_is_pasted_does_what_it_says(bench: Bench) -> None:
    bench.root = bench.home / "my runs"
    _cut(bench.make("r1", "disabled"))
    said = bench.call("status", "--runs", str(bench.root), "r1").err
    command = said[said.index("sandbox-pin recover") : said.index(" keeps it aside")]
    recovered = bench.succeeds(*shlex.split(command)[1:])
    ready = recovered.out[recovered.out.index("sandbox-pin unblock") : recovered.out.index(" with the run's")]
    _ = bench.succeeds(*shlex.split(ready)[1:], "--mode", "required")


@pytest.mark.parametrize("options", [("--mode", "disabled"), ("--mode", "required"), ("--dry-run",)])
def test_of_another_program_s_log_that_is_no_file_the_very_recovery_is_told(
    options: tuple[str, ...], bench: Bench
) -> None:
    state, log = bench.home / "its state.json", bench.home / "its.log"
    _ = state.write_text("{}")
    log.mkdir()
    files = ("--state", str(state), "--log", str(log), "--kind", "local", "--run", "r1")
    ended = bench.unchanged("check", *files, *options, status=74)
    assert f"{log}: it is a folder, a FIFO or a device; expected a regular file. " in ended.err
    command = ended.err[ended.err.index("sandbox-pin recover") : ended.err.index(" keeps it aside")]
    assert shlex.split(command) == ["sandbox-pin", "recover", *files]
    recovered = bench.succeeds(*shlex.split(command)[1:])
    assert "sandbox-pin recover" not in recovered.out
    _ = bench.succeeds("check", *files, "--mode", "required")


def test_a_parent_that_must_be_settled_first_is_named_with_its_folder(bench: Bench) -> None:
    bench.root = bench.home / "my runs"
    _ = bench.make_old()
    words = ("run", "--runs", str(bench.root), "--id", "child", "--parent", "r1", "--", TRUE)
    said = bench.unchanged(*words, status=64).err
    for verb in ("unblock", "step"):
        assert shlex.join(["sandbox-pin", verb, "r1", "--runs", str(bench.root)]) in said


def test_a_wrong_variable_keeps_no_remedy_back(bench: Bench) -> None:
    bench.make("r1", "disabled", status="blocked")
    bench.monkeypatch.setenv("SANDBOX_PIN_RUNS", "runs")
    said = bench.succeeds("status", "--runs", str(bench.root), "r1").out
    assert f"sandbox-pin resume r1 --runs {bench.root}" in said
