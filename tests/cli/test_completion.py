"""Completion, driven through real shells: commands, options, modes and runs; nothing else happens by it."""

import shutil
import subprocess
from typing import Final

import pytest

from cli.support import Bench, Ended
from sandbox_pin.cli.completion import VARIABLE
from sandbox_pin.cli.main import _COMMANDS  # pyright: ignore[reportPrivateUsage] - the list of the commands

# The last word is what the cursor stands behind.
BASH: Final = """
eval "$(_SANDBOX_PIN_COMPLETE=bash_source sandbox-pin)"
compopt() { printf '%s\\n' "$2"; }
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_sandbox_pin_completion sandbox-pin "${COMP_WORDS[$COMP_CWORD]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""
# Within its own completion, zsh hands what it offers to these builtins.
ZSH: Final = """
compdef() { : }
eval "$(_SANDBOX_PIN_COMPLETE=zsh_source sandbox-pin)"
rehash
compadd() { print -rl -- $completions }
_describe() { print -rl -- ${completions_with_descriptions%%:*} }
_path_files() { print -r -- "path_files $*" }
words=("$@") CURRENT=$#
_sandbox_pin_completion
true
"""
FISH: Final = """
_SANDBOX_PIN_COMPLETE=fish_source sandbox-pin | source
complete --do-complete "$argv" | string split --fields 1 \\t
"""


def offered(bench: Bench, shell: str, *words: str) -> set[str]:
    """What a shell offers at the end of these words."""
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"needs {shell}")
    match shell:
        case "bash":
            arguments = ["--norc", "--noprofile", "-c", BASH, "x", "sandbox-pin", *_split_at_equals(words)]
        case "zsh":
            arguments = ["-f", "-c", ZSH, "x", "sandbox-pin", *words]
        case _:
            arguments = ["--no-config", "-c", FISH, " ".join(("sandbox-pin", *words))]
    done = subprocess.run(
        [found, *arguments],
        cwd=bench.desk,
        env=bench.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stderr == ""
    return {*done.stdout.splitlines()} - {""}


def _split_at_equals(words: tuple[str, ...]) -> list[str]:
    """Readline breaks words at this sign (``COMP_WORDBREAKS``)."""
    pieces: list[str] = []
    for word in words:
        option, sign, value = word.partition("=")
        pieces += [option, sign, *([value] if value else [])] if sign else [word]
    return pieces


each_shell: Final = pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
MODES: Final = {"disabled", "preferred", "required"}


@each_shell
def test_each_command_is_offered_by_its_name(bench: Bench, shell: str) -> None:
    assert offered(bench, shell, "") == set(_COMMANDS)
    assert offered(bench, shell, "st") == {"step", "status"}


def test_options_are_offered(bench: Bench) -> None:
    assert offered(bench, "bash", "step", "--w") == {"--writable", "--wait"}
    assert "--accept-config-change" in offered(bench, "bash", "unblock", "--")
    assert offered(bench, "bash", "local", "run", "--par") == {"--parent"}


@each_shell
def test_modes_are_offered_where_one_stands(bench: Bench, shell: str) -> None:
    assert offered(bench, shell, "run", "--mode", "") == MODES
    assert offered(bench, shell, "check", "--mode", "re") == {"required"}


@each_shell
def test_a_mode_behind_the_sign_is_offered_as_this_shell_replaces_it(bench: Bench, shell: str) -> None:
    """Bash replaces what follows the sign, the others the whole word."""
    for option in ("--mode", "--accept-config-change"):
        kept = "" if shell == "bash" else f"{option}="
        assert offered(bench, shell, "step", "r", f"{option}=") == {kept + mode for mode in MODES}
        assert offered(bench, shell, "step", "r", f"{option}=pre") == {f"{kept}preferred"}


def test_the_flag_without_a_mode_takes_no_word_after_it(bench: Bench) -> None:
    """As on the real command line: what follows it is the run."""
    bench.make("r1")
    assert offered(bench, "bash", "step", "--accept-config-change", "") == {"r1"}


@each_shell
def test_runs_are_offered_where_one_stands(bench: Bench, shell: str) -> None:
    for run in ("fix-1", "fix-2", "other"):
        bench.make(run)
    (bench.root / ".new-fix-3-01234567").mkdir()
    assert offered(bench, shell, "status", "fix") == {"fix-1", "fix-2"}
    assert offered(bench, shell, "run", "--parent", "o") == {"other"}


@pytest.mark.parametrize("command", ["step", "resume", "unblock", "explain", "log", "recover"])
def test_each_command_on_a_run_offers_the_runs(bench: Bench, command: str) -> None:
    bench.make("r1")
    assert offered(bench, "bash", command, "") == {"r1"}


def test_what_names_no_run_folder_offers_none(bench: Bench) -> None:
    bench.make("r1")
    assert offered(bench, "bash", "run", "--id", "") == set()
    assert "r1" not in offered(bench, "bash", "check", "--run", "")


def test_runs_are_looked_up_where_the_words_say(bench: Bench) -> None:
    bench.make("here")
    bench.root.rename(bench.home / "elsewhere")
    assert offered(bench, "bash", "status", "") == set()
    assert offered(bench, "bash", "status", "--runs", str(bench.home / "elsewhere"), "") == {"here"}


def test_a_root_that_can_t_be_read_offers_nothing_and_says_nothing(bench: Bench) -> None:
    bench.root.touch()
    assert offered(bench, "bash", "status", "") == set()


def test_files_and_folders_are_left_to_the_shell(bench: Bench) -> None:
    assert offered(bench, "bash", "run", "--config", "") == {"default"}
    assert offered(bench, "bash", "run", "--workspace", "") == {"dirnames"}
    assert offered(bench, "bash", "run", "--", "tou") == {"default"}
    assert offered(bench, "zsh", "run", "--config", "") == {"path_files -f"}
    assert offered(bench, "zsh", "run", "--", "tou") == {"path_files -f"}


def test_a_schema_is_offered(bench: Bench) -> None:
    assert offered(bench, "bash", "schema", "") == {"pin", "log"}


# The variable alone


def completing(bench: Bench, instruction: str, *words: str, **more: str) -> Ended:
    """A command line under the variable."""
    return bench.real(*words, env={VARIABLE: instruction, **more})


def test_completing_changes_nothing(bench: Bench) -> None:
    bench.make()
    before = bench.root.stat().st_mtime_ns
    ended = completing(bench, "bash_complete", COMP_WORDS="sandbox-pin\nstep\n", COMP_CWORD="2")
    assert (ended.status, ended.out, ended.err) == (0, "plain,r1\n", "")
    assert bench.root.stat().st_mtime_ns == before


@pytest.mark.parametrize("instruction", ["bash_source", "bash_complete", "x"])
def test_a_variable_left_set_never_stands_in_for_a_command(bench: Bench, instruction: str) -> None:
    """A `check` that printed a script and ended with 0 would have checked nothing."""
    state, log = bench.home / "s.json", bench.home / "s.log"
    _ = state.write_text("{}")
    words = ["check", "--state", str(state), "--log", str(log), "--kind", "local"]
    assert completing(bench, instruction, *words, "--mode", "required").status == 0
    assert b"required" in state.read_bytes()
    refused = completing(bench, instruction, *words, "--mode", "disabled")
    assert (refused.status, "refused" in refused.err) == (77, True)
    assert completing(bench, instruction, "--", "x").status == 64


def test_a_launch_does_not_get_the_variable(bench: Bench) -> None:
    words = ["run", "--mode", "disabled", "--workspace", str(bench.workspace), "--", "/usr/bin/env"]
    ended = completing(bench, "bash_source", *words)
    assert ended.status == 0
    assert VARIABLE not in ended.out


@pytest.mark.parametrize("instruction", ["bash", "_source", "bash_source_x", "\x1b"])
def test_another_instruction_is_wrong_usage(bench: Bench, instruction: str) -> None:
    ended = completing(bench, instruction)
    assert (ended.status, ended.out) == (64, "")
    assert VARIABLE in ended.err
    assert "\x1b" not in ended.err


@pytest.mark.parametrize("number", ["", "x", None])
def test_words_that_no_shell_has_set_are_wrong_usage(bench: Bench, number: str | None) -> None:
    words = {} if number is None else {"COMP_WORDS": "sandbox-pin", "COMP_CWORD": number}
    assert completing(bench, "bash_complete", **words).status == 64
