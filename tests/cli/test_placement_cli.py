"""Placement, by the commands: refused before anything is written, told with what to do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli.support import DISABLED, FLAG, REQUIRED, TRUE, Bench, end_of, snapshot

_CALL = "from sandbox_pin.cli.main import main; main()"


def _run(bench: Bench, *options: str) -> tuple[str, ...]:
    return ("run", "--id", "r1", "--workspace", str(bench.workspace), *options, "--", *bench.touches())


@pytest.mark.parametrize("text", [REQUIRED, DISABLED])
def test_a_configuration_in_the_workspace_is_refused_before_anything_is_written(
    text: str, bench: Bench
) -> None:
    config = bench.workspace / "orchestrator.toml"
    _ = config.write_text(text)
    ended = bench.unchanged(*_run(bench, "--config", str(config)), status=78)
    assert f"configuration file {config} lies in {bench.workspace}" in ended.err
    assert "--config" in ended.err
    assert not bench.root.exists()
    bench.make("r1", "disabled", status="blocked", command=bench.touches())
    for command in ("resume", "unblock"):
        _ = bench.unchanged(command, "r1", "--config", str(config), FLAG, status=78)


def test_a_configuration_in_a_writable_folder_is_refused(bench: Bench) -> None:
    config = bench.config(REQUIRED)
    ended = bench.unchanged(
        *_run(bench, "--config", config, "--writable", str(bench.home / "etc")), status=78
    )
    assert str(bench.home / "etc") in ended.err


def test_a_configuration_reached_through_the_workspace_is_refused(bench: Bench) -> None:
    """The link lies where the agent writes, though its end does not; and the other way round."""
    config = bench.config(REQUIRED)
    link = bench.workspace / "link.toml"
    link.symlink_to(config)
    _ = bench.unchanged(*_run(bench, "--config", str(link)), status=78)
    inside = bench.workspace / "inside.toml"
    _ = inside.write_text(REQUIRED)
    outside = bench.home / "etc" / "outside.toml"
    outside.symlink_to(inside)
    _ = bench.unchanged(*_run(bench, "--config", str(outside)), status=78)


def test_a_configuration_with_a_second_name_is_refused(bench: Bench) -> None:
    config = Path(bench.config(REQUIRED))
    (bench.home / "other").hardlink_to(config)
    ended = bench.unchanged(*_run(bench, "--config", str(config)), status=78)
    assert "2 hard links" in ended.err
    assert "Copy it to a fresh file" in ended.err


def test_a_folder_beside_the_workspace_with_a_longer_name_is_another(bench: Bench) -> None:
    beside = Path(f"{bench.workspace}-other")
    beside.mkdir()
    config = beside / "c.toml"
    _ = config.write_text(DISABLED)
    assert bench.call(*_run(bench, "--config", str(config))).status == 0


@pytest.mark.parametrize("root", ["work", "work/runs", "work/deep/below/runs", "etc/../work/runs"])
def test_a_folder_of_runs_in_the_workspace_is_refused_and_not_made(root: str, bench: Bench) -> None:
    ended = bench.unchanged(*_run(bench, "--runs", f"{bench.home}/{root}"), status=78)
    assert "run state" in ended.err
    assert "run log" in ended.err
    assert "--runs DIR" in ended.err


def test_a_folder_of_runs_reached_through_a_link_into_the_workspace_is_refused(bench: Bench) -> None:
    bench.root.symlink_to(bench.workspace)
    _ = bench.unchanged(*_run(bench), status=78)


def test_a_workspace_that_holds_the_folder_of_runs_is_refused(bench: Bench) -> None:
    words = ("run", "--id", "r1", "--workspace", str(bench.home), "--", *bench.touches())
    _ = bench.unchanged(*words, status=78)


def test_a_state_with_a_second_name_is_refused(bench: Bench) -> None:
    folder = bench.make("r1", "required")
    (bench.workspace / "alias").hardlink_to(folder / "state.json")
    ended = bench.unchanged("step", "r1", "--mode", "required", "--", *bench.touches(), status=78)
    assert "run state" in ended.err
    assert "hard links" in ended.err


def test_a_sandbox_program_in_the_workspace_is_refused_where_it_matters(bench: Bench) -> None:
    """Under disabled it is only warned of: such a launch is not held by it."""
    bwrap = bench.workspace / "bwrap"
    _ = bwrap.write_text("#!/bin/sh\nexit 0\n")
    bwrap.chmod(0o755)
    bench.monkeypatch.setenv("PATH", f"{bench.workspace}:{os.environ['PATH']}")
    ended = bench.unchanged(*_run(bench, "--mode", "required"), status=78)
    assert f"sandbox program {bwrap} lies in {bench.workspace}" in ended.err
    ended = bench.call(*_run(bench, "--mode", "disabled"))
    assert ended.status == 0
    assert "warning" in ended.err
    assert "sandbox program" in ended.err


@pytest.fixture
def python(bench: Bench) -> Path:
    """An interpreter of a virtual environment in the workspace, as a project's own often is."""
    environment = bench.workspace / ".venv"
    _ = subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    return environment / "bin" / "python"


def test_an_interpreter_in_the_workspace_is_refused_and_the_message_says_how_to_install(
    python: Path, bench: Bench
) -> None:
    """A real process of that interpreter; nothing is written, not even the folder of runs."""
    paths = [path for path in sys.path if path and Path(path).is_dir()]
    env = {"PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}
    before = snapshot(bench.home)
    process = bench.start_program(python, "-c", _CALL, *_run(bench, "--mode", "required"), env=env)
    ended = end_of(process)
    assert ended.status == 78, ended
    assert "Python interpreter" in ended.err
    assert str(bench.workspace) in ended.err
    assert "pipx" in ended.err
    assert "uv tool" in ended.err
    assert snapshot(bench.home) == before
    ended = end_of(bench.start_program(python, "-c", _CALL, *_run(bench, "--mode", "disabled"), env=env))
    assert ended.status == 0, ended
    assert "warning: Python interpreter" in ended.err
    assert (bench.workspace / "launched").exists()


def test_a_folder_of_modules_in_the_workspace_is_refused(bench: Bench) -> None:
    """A module planted there would be imported in another's place."""
    env = {"PYTHONPATH": str(bench.workspace)}
    before = snapshot(bench.home)
    ended = bench.real(*_run(bench, "--mode", "required"), env=env)
    assert ended.status == 78
    assert "Python module path" in ended.err
    assert snapshot(bench.home) == before


def test_what_a_run_is_pinned_to_counts_as_much_as_what_is_asked(bench: Bench) -> None:
    """Lowering a pinned run from an interpreter that an agent can write is refused, flag or no flag."""
    bench.make("r1", "required")
    env = {"PYTHONPATH": str(bench.workspace)}
    before = snapshot(bench.home)
    assert bench.real("step", "r1", FLAG, "--", TRUE, env=env).status == 78
    assert snapshot(bench.home) == before
