"""``sandbox-pin doctor``: what it finds on real folders, what it clears, and what it never touches."""

import errno
import fcntl
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

import pytest

from cli.support import AT, TRUE, Bench, Ended, end_of, needs_sandbox, snapshot
from sandbox_pin.core.doctor_finding import Subject
from sandbox_pin.core.doctor_host import INSTALL

STOPPED_BEFORE_ITS_PLACE: Final = """
import os, signal, sys
real = os.rename
def rename(source, target, **named):
    if not named:
        os.kill(os.getpid(), int(os.environ["HOOK"]))
    real(source, target, **named)
os.rename = rename
from sandbox_pin.cli.main import main
main()
"""
"""A run that is sent a signal when its folder is built, and not in place yet."""


def doctor(bench: Bench, *words: str) -> Ended:
    """What it says, as JSON, of launches in the bench's workspace."""
    return bench.call("doctor", "--json", "--workspace", str(bench.workspace), *words)


def attention(ended: Ended) -> set[str]:
    """The subjects that need attention; each finding says what to do, or has said it."""
    found = {finding["subject"] for finding in ended.objects if finding["severity"] != "ok"}
    assert ended.status == (1 if found else 0), ended
    for finding in ended.objects:
        if finding["severity"] != "ok" and finding["subject"] != "placement":
            assert finding["remedy"]
    return found


def told(ended: Ended, subject: Subject) -> str:
    """What was found about one subject."""
    return " ".join(finding["found"] for finding in ended.objects if finding["subject"] == subject)


def start_building(bench: Bench, number: signal.Signals) -> "subprocess.Popen[bytes]":
    """Starts a run that gets a signal between build and rename."""
    words = ["run", "--id", "r1", "--mode", "disabled", "--workspace", str(bench.workspace), "--", TRUE]
    return bench.start_program(
        Path(sys.executable),
        "-c",
        STOPPED_BEFORE_ITS_PLACE,
        *words,
        env={"HOOK": str(int(number))},
    )


def built_aside(bench: Bench) -> list[Path]:
    return [path for path in bench.root.iterdir() if path.name.startswith(".new-")]


# All is well


@needs_sandbox
def test_where_all_is_well_it_says_so_and_leaves_no_trace(bench: Bench) -> None:
    """With runs, and before there is any."""
    for made in (False, True):
        if made:
            bench.make()
        before = {name: seen.content for name, seen in snapshot(bench.home).items()}
        ended = doctor(bench)
        assert attention(ended) == set()
        assert {finding["subject"] for finding in ended.objects} == {*Subject}
        assert {name: seen.content for name, seen in snapshot(bench.home).items()} == before


@needs_sandbox
def test_without_json_it_speaks_to_a_person(bench: Bench) -> None:
    bench.make()
    (bench.root / "r1/.state.json.new").touch()
    ended = bench.call("doctor", "--workspace", str(bench.workspace))
    assert ended.status == 1
    assert "warning  leftover" in ended.out
    assert "The same command with --fix clears it." in ended.out
    assert ended.err == ""


def test_its_help_tells_its_exit_statuses(bench: Bench) -> None:
    said = bench.succeeds("doctor", "--help").out
    assert "0   all is well" in said
    assert "1   something needs attention" in said


@pytest.mark.parametrize(
    "words", [["r1"], ["--workspace", "missing"], ["--writable", "missing"], ["--", "x"]]
)
def test_wrong_usage_is_told(bench: Bench, words: list[str]) -> None:
    _ = bench.unchanged("doctor", *words, status=64)


# The host, the placement


def test_a_host_without_the_program_is_told_how_to_get_it(bench: Bench) -> None:
    bench.without_bubblewrap()
    ended = doctor(bench)
    assert "host" in attention(ended)
    assert INSTALL in ended.out


def test_what_lies_in_the_workspace_or_a_writable_folder_is_told(bench: Bench) -> None:
    """The same rule as each command's."""
    environment = str(Path(sys.prefix).resolve())
    for words in (["--workspace", environment], ["--writable", environment]):
        ended = doctor(bench, *words)
        assert "placement" in attention(ended)
        assert "interpreter" in told(ended, Subject.PLACEMENT)
    ended = doctor(bench, "--runs", str(bench.workspace / "runs"))
    assert "placement" in attention(ended)
    assert told(ended, Subject.PLACEMENT).count("run state") == 1


def test_without_a_workspace_it_is_the_folder_where_one_stands(bench: Bench) -> None:
    ended = bench.call("doctor", "--json")
    assert told(ended, Subject.PLACEMENT).endswith(str(bench.desk))


# The folder of all runs


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o770, 0o777])
def test_a_folder_of_runs_that_others_reach_is_told(bench: Bench, mode: int) -> None:
    bench.make()
    bench.root.chmod(mode)
    assert "run_root" in attention(doctor(bench))
    bench.root.chmod(0o700)
    assert "run_root" not in attention(doctor(bench))


def test_a_folder_on_the_way_that_everyone_may_write_is_told_but_for_a_sticky_one(bench: Bench) -> None:
    above = bench.home / "above"
    above.mkdir()
    runs = ["--runs", str(above / "deep/runs")]
    for mode, wrong in ((0o777, True), (0o1777, False), (0o755, False)):
        above.chmod(mode)
        assert ("run_root" in attention(doctor(bench, *runs))) == wrong, oct(mode)
    above.chmod(0o777)
    assert str(above) in told(doctor(bench, *runs), Subject.RUN_ROOT)


def test_a_folder_on_the_way_of_a_link_counts_too(bench: Bench) -> None:
    """Whoever may swap a link on the way chooses the runs."""
    loose = bench.home / "loose"
    loose.mkdir()
    loose.chmod(0o777)
    bench.make()
    (loose / "link").symlink_to(bench.root)
    assert str(loose) in told(doctor(bench, "--runs", str(loose / "link")), Subject.RUN_ROOT)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_runs_that_is_another_s_is_told(bench: Bench) -> None:
    bench.make()
    os.chown(bench.root, 61_234, 61_234)
    ended = doctor(bench)
    assert "run_root" in attention(ended)
    assert "belongs to the user 61234" in told(ended, Subject.RUN_ROOT)


@pytest.mark.parametrize("what", ["file", "link to nothing"])
def test_what_is_no_folder_is_told(bench: Bench, what: str) -> None:
    if what == "file":
        bench.root.touch()
    else:
        bench.root.symlink_to("nothing")
    ended = doctor(bench)
    assert "file_system" in attention(ended)
    assert bench.root.is_symlink() or bench.root.is_file()


# Its file system


def fails(monkeypatch: pytest.MonkeyPatch, name: str, when: Any) -> None:  # noqa: ANN401 - any predicate
    """From here on, a call of the system fails as on a file system that lacks it."""
    module: Any = fcntl if name == "flock" else os
    real = getattr(module, name)

    def call(*positional: Any, **named: Any) -> object:  # noqa: ANN401 - any call's
        if when(*positional):
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
        return real(*positional, **named)

    monkeypatch.setattr(module, name, call)


def is_folder(descriptor: int, *_: object) -> bool:
    return stat.S_ISDIR(os.fstat(descriptor).st_mode)


def is_trial(name: object, *_: object) -> bool:
    return "trial" in str(name)


@pytest.mark.parametrize(
    ("name", "when", "says"),
    [
        ("flock", is_folder, "flock(2)"),
        ("fsync", is_folder, "fsync(2)"),
        ("rename", is_trial, "a rename"),
        ("mkdir", lambda path, *_: ".doctor-" in str(path), "making a folder"),
    ],
)
def test_what_the_file_system_lacks_is_told_and_nothing_stays(
    bench: Bench, name: str, when: object, says: str
) -> None:
    bench.make()
    before = sorted(snapshot(bench.home))
    fails(bench.monkeypatch, name, when)
    ended = doctor(bench)
    assert "file_system" in attention(ended)
    assert says in told(ended, Subject.FILE_SYSTEM)
    assert os.strerror(errno.EOPNOTSUPP) in told(ended, Subject.FILE_SYSTEM)
    assert sorted(snapshot(bench.home)) == before


def test_a_lock_that_keeps_nobody_out_is_told(bench: Bench) -> None:
    bench.make()
    bench.monkeypatch.setattr(fcntl, "flock", lambda *_: None)
    ended = doctor(bench)
    assert "two have the lock at once" in told(ended, Subject.FILE_SYSTEM)
    assert attention(ended) >= {"file_system"}


def test_a_rename_that_replaces_nothing_is_told(bench: Bench) -> None:
    bench.make()
    real, seen = os.rename, 0

    def rename(*positional: Any, **named: Any) -> None:  # noqa: ANN401 - as os.rename
        nonlocal seen
        seen += is_trial(*positional)
        if seen < 2:
            real(*positional, **named)

    bench.monkeypatch.setattr(os, "rename", rename)
    assert "the old content is still there" in told(doctor(bench), Subject.FILE_SYSTEM)


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare to mount")
def test_a_read_only_file_system_is_told(bench: Bench) -> None:
    bench.make()
    script = 'mount --bind "$0" "$0"; mount -o remount,ro,bind "$0"; exec "$@"'
    words = ["doctor", "--json", "--workspace", str(bench.workspace)]
    tool = Path(sys.executable).parent / "sandbox-pin"
    unshare = Path(shutil.which("unshare") or "")
    ended = end_of(
        bench.start_program(unshare, "-Urm", "sh", "-ec", script, str(bench.root), str(tool), *words)
    )
    if not ended.out:
        pytest.skip(f"this host can't play the other one: {ended.err[-200:]}")
    assert "file_system" in attention(ended)
    assert "Read-only file system" in told(ended, Subject.FILE_SYSTEM)


# Leftovers


def test_a_run_killed_between_build_and_rename_is_found_and_cleared(bench: Bench) -> None:
    bench.make("other")
    killed = end_of(start_building(bench, signal.SIGKILL))
    assert killed.status == -signal.SIGKILL
    (left,) = built_aside(bench)
    before = snapshot(bench.root / "other")
    ended = doctor(bench)
    assert "leftover" in attention(ended)
    assert str(left) in told(ended, Subject.LEFTOVER)
    assert left.exists()
    ended = doctor(bench, "--fix")
    assert "leftover" not in attention(ended)
    assert "is cleared" in told(ended, Subject.LEFTOVER)
    assert not left.exists()
    assert snapshot(bench.root / "other") == before
    assert "nothing is left" in told(doctor(bench), Subject.LEFTOVER)
    assert bench.run("r1", "--mode", "disabled").status == 0


def test_what_a_living_run_builds_is_never_touched(bench: Bench) -> None:
    """Stopped at that very place, looked at and cleared around, it goes on to its end."""
    process = start_building(bench, signal.SIGSTOP)
    deadline = time.monotonic() + 30
    while _state_of(process.pid) != "T":
        assert time.monotonic() < deadline, "it was never stopped"
        time.sleep(0.01)
    (building,) = built_aside(bench)
    before = snapshot(building)
    for words in ([], ["--fix"], ["--fix"]):
        ended = doctor(bench, *words)
        assert "leftover" not in attention(ended)
        assert snapshot(building) == before
    os.kill(process.pid, signal.SIGCONT)
    assert end_of(process).status == 0
    assert built_aside(bench) == []
    assert bench.events() == ["run_created", "launch_started", "launch_ended"]
    assert bench.state()["created_at"] >= AT


def _state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]


def test_fix_clears_leftovers_and_mends_nothing_else(bench: Bench) -> None:
    folder = bench.make()
    aside = folder / ".state.json.new"
    aside.touch()
    bench.root.chmod(0o755)
    bench.damage("r1", sandbox_pin={})
    before = {name: seen.content for name, seen in snapshot(bench.home).items()}
    ended = doctor(bench, "--fix")
    assert "run_root" in attention(ended)
    assert stat.S_IMODE(bench.root.stat().st_mode) == 0o755
    del before[str(aside.relative_to(bench.home))]
    assert {name: seen.content for name, seen in snapshot(bench.home).items()} == before


def test_fix_is_refused_from_inside_a_launch_and_looking_is_not(bench: Bench) -> None:
    (bench.make() / ".state.json.new").touch()
    bench.monkeypatch.setenv("SANDBOX_PIN_LAUNCH", "r1")
    ended = bench.unchanged("doctor", "--fix", "--workspace", str(bench.workspace), status=77)
    assert "from inside a launch" in ended.err
    assert "leftover" in attention(doctor(bench))


@needs_sandbox
def test_inside_a_sandbox_it_says_so_and_reaches_no_run(bench: Bench) -> None:
    """As an agent would see it: no further sandbox, and none of the other runs."""
    tool = str(Path(sys.executable).parent / "sandbox-pin")
    if tool.startswith(("/tmp/", "/run/")):  # noqa: S108 - folders that a launch does not see
        pytest.skip(f"{tool} lies where a launch has a folder of its own")
    bench.make("other")
    ended = bench.run(
        "r1", "--mode", "required", command=(tool, "doctor", "--json", "--runs", str(bench.root))
    )
    assert ended.status == 1, ended
    assert "host" in {finding["subject"] for finding in ended.objects if finding["severity"] == "error"}
    assert {path.name for path in bench.root.iterdir()} == {"other", "r1"}
