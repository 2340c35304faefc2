"""One table: every exit status, with a command that ends in it; and the help that documents them."""

import re
from collections.abc import Callable

import pytest

from cli.support import FLAG, TRUE, Bench, needs_sandbox
from sandbox_pin.cli.exit_status import ExitStatus

Prepare = Callable[[Bench], tuple[str, ...]]


def _ok(bench: Bench) -> tuple[str, ...]:
    return ("run", "--id", "r1", "--workspace", str(bench.workspace), "--", TRUE)


def _own(bench: Bench) -> tuple[str, ...]:
    return ("run", "--id", "r1", "--workspace", str(bench.workspace), "--", "sh", "-c", "exit 42")


def _by_signal(bench: Bench) -> tuple[str, ...]:
    return ("run", "--id", "r1", "--workspace", str(bench.workspace), "--", "sh", "-c", "kill -TERM $$")


def _usage(_: Bench) -> tuple[str, ...]:
    return ("step", "../x", "--", TRUE)


def _wrong_status(bench: Bench) -> tuple[str, ...]:
    bench.make("r1", "disabled")
    return ("resume", "r1")


def _damaged(bench: Bench) -> tuple[str, ...]:
    bench.make("r1", "disabled")
    bench.damage("r1", sandbox_pin=...)
    return ("step", "r1", "--", TRUE)


def _unenforceable(bench: Bench) -> tuple[str, ...]:
    bench.make("r1", "required")
    bench.without_bubblewrap()
    return ("step", "r1", "--mode", "required", "--", TRUE)


def _storage(bench: Bench) -> tuple[str, ...]:
    bench.make("r1", "disabled")
    (bench.root / "r1/run.jsonl").unlink()
    (bench.root / "r1/run.jsonl").mkdir()
    return ("step", "r1", "--", TRUE)


def _runs_are_no_folder(bench: Bench) -> tuple[str, ...]:
    return ("list", "--runs", bench.config(""))


def _refused(bench: Bench) -> tuple[str, ...]:
    bench.make("r1", "required")
    return ("step", "r1", "--", TRUE)


def _inside(bench: Bench) -> tuple[str, ...]:
    bench.make("r1", "disabled")
    bench.monkeypatch.setenv("SANDBOX_PIN_LAUNCH", "r0")
    return ("step", "r1", FLAG, "--", TRUE)


def _configuration(bench: Bench) -> tuple[str, ...]:
    bench.make("r1", "disabled")
    return ("step", "r1", "--config", "none.toml", "--", TRUE)


def _placement(bench: Bench) -> tuple[str, ...]:
    return ("run", "--workspace", str(bench.home), "--", TRUE)


def _not_runnable(bench: Bench) -> tuple[str, ...]:
    bench.make("r1", "disabled")
    program = bench.workspace / "program"
    _ = program.write_bytes(b"\x7fELF and nothing behind it")
    program.chmod(0o755)
    return ("step", "r1", "--", "./program")


def _not_found(bench: Bench) -> tuple[str, ...]:
    bench.make("r1", "disabled")
    return ("step", "r1", "--", "no-such-program-here")


@pytest.mark.parametrize(
    ("status", "prepare"),
    [
        (ExitStatus.OK, _ok),
        (42, _own),
        (128 + 15, _by_signal),
        (ExitStatus.USAGE, _usage),
        (ExitStatus.USAGE, _wrong_status),
        (ExitStatus.DAMAGED, _damaged),
        (ExitStatus.UNENFORCEABLE, _unenforceable),
        (ExitStatus.STORAGE, _storage),
        (ExitStatus.STORAGE, _runs_are_no_folder),
        (ExitStatus.REFUSED, _refused),
        (ExitStatus.REFUSED, _inside),
        (ExitStatus.CONFIGURATION, _configuration),
        (ExitStatus.CONFIGURATION, _placement),
        (ExitStatus.NOT_RUNNABLE, _not_runnable),
        (ExitStatus.NOT_FOUND, _not_found),
    ],
)
def test_every_exit_status_has_a_command_that_ends_in_it(status: int, prepare: Prepare, bench: Bench) -> None:
    """``busy`` needs a second command, and is in ``test_concurrency``."""
    ended = bench.call(*prepare(bench))
    assert ended.status == status, ended
    assert "Traceback" not in ended.err
    assert bool(ended.err) or status in {42, 143}


def test_the_numbers_are_those_of_sysexits() -> None:
    assert {status.name: status.value for status in ExitStatus} == {
        "OK": 0,
        "FOUND": 1,  # as grep and diff say it: no error
        "USAGE": 64,
        "DAMAGED": 65,
        "UNENFORCEABLE": 69,
        "BUG": 70,
        "STORAGE": 74,
        "BUSY": 75,
        "REFUSED": 77,
        "CONFIGURATION": 78,
        "NOT_RUNNABLE": 126,
        "NOT_FOUND": 127,
        "INTERRUPTED": 130,
    }


@pytest.mark.parametrize("command", ["run", "step", "resume", "unblock"])
def test_the_help_of_a_launching_command_documents_exactly_these_statuses(command: str, bench: Bench) -> None:
    ended = bench.succeeds(command, "--help")
    told = re.findall(r"^\s+(\d+) +\S", ended.out, flags=re.MULTILINE)
    # A launched command may end with 1 itself; the audit alone, which launches nothing, has a meaning for it.
    assert sorted(map(int, told)) == sorted(set(ExitStatus) - {ExitStatus.OK, ExitStatus.FOUND})
    assert "128 + N" in ended.out
    assert "the launched command's own" in ended.out


@pytest.mark.parametrize(
    "command", ["run", "step", "resume", "unblock", "recover", "status", "explain", "log", "list", "check"]
)
def test_every_command_has_a_help_and_is_in_the_list_of_commands(command: str, bench: Bench) -> None:
    assert f"sandbox-pin {command} " in bench.succeeds(command, "--help").out
    assert f"  {command} " in bench.succeeds("--help").out


@pytest.mark.parametrize("command", ["run", "step"])
def test_the_usage_of_a_command_that_launches_shows_where_the_command_goes(
    command: str, bench: Bench
) -> None:
    assert "-- COMMAND..." in bench.succeeds(command, "--help").out


@needs_sandbox
@pytest.mark.parametrize("mode", ["required", "disabled"])
def test_a_launch_that_fails_before_the_command_ran_is_not_taken_for_the_command(
    mode: str, bench: Bench
) -> None:
    """Bubblewrap's own failure is its exit status 1; the log says that the command did not run."""
    bench.make("r1", mode)
    program = bench.workspace / "program"
    _ = program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o755)
    ended = bench.call("step", "r1", "--mode", mode, "--", "./program")
    right = ExitStatus.UNENFORCEABLE if mode == "required" else ExitStatus.NOT_RUNNABLE
    assert ended.status == right
    assert "the command did not run" in ended.err
    assert bench.log()[-1] == {**bench.log()[-1], "ran": False, "exit_code": None}
    assert bench.state()["status"] == "blocked"


def test_a_bug_has_a_status_that_no_command_would_choose(bench: Bench) -> None:
    """The default status of a crash, 1, is one that a launched command may have."""

    def crash(*_: object) -> None:
        raise AssertionError("a bug")

    bench.monkeypatch.setattr("sandbox_pin.cli.showing.list_runs", crash)
    ended = bench.call("list")
    assert ended.status == ExitStatus.BUG
    assert "bug in sandbox-pin" in ended.err


def test_the_version_is_shown(bench: Bench) -> None:
    assert re.fullmatch(r"sandbox-pin \d+\.\d+\.\d+\n", bench.succeeds("--version").out)
