"""The examples do what their pages show, each in its own processes, from a copy, as a user would run them."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.blocks import ROOT, blocks, follow
from sandbox_pin import PinSource, SandboxMode, Unpinned, read_pin
from shell.support import capable_program


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A folder that launches may work in: not in /tmp, as a launch has its own."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        yield Path(name)


def copied(example: str, scratch: Path) -> Path:
    """The example's files alone, in a folder of their own."""
    return Path(shutil.copytree(ROOT / "examples" / example, scratch / example))


def test_the_orchestrator_does_what_its_page_shows(scratch: Path) -> None:
    capable_program(scratch)
    folder = copied("orchestrator", scratch)
    (block,) = blocks("examples/orchestrator/README.md", "console")
    follow(block, folder)
    assert (folder / "fixed").exists()
    raw = (folder / "tasks" / "fix-42.json").read_bytes()
    pin = read_pin(raw, pinned_since=None)
    assert not isinstance(pin, Unpinned)
    assert (pin.mode, pin.source) == (SandboxMode.DISABLED, PinSource.ACCEPTED)
    assert json.loads(raw)["rounds"] == 2


def test_the_orchestrator_s_task_really_is_in_a_sandbox(scratch: Path) -> None:
    """What it writes outside of its workspace does not come to be."""
    capable_program(scratch)
    folder = copied("orchestrator", scratch)
    work = scratch / "work"
    work.mkdir()
    program = [sys.executable, str(folder / "orchestrator.py"), str(scratch / "tasks")]
    subprocess.run(
        [*program, "start", "t", "--mode", "required", "--", "sh", "-c", "touch in; touch ../out"],
        cwd=work,
        check=True,
    )
    done = subprocess.run([*program, "work", "--mode", "required"], cwd=work, check=False)
    assert done.returncode != 0
    assert (work / "in").exists()
    assert not (scratch / "out").exists()


def test_the_worker_can_t_accept(scratch: Path) -> None:
    folder = copied("orchestrator", scratch)
    done = subprocess.run(
        [sys.executable, "orchestrator.py", "tasks", "work", "--accept-config-change"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "for resume alone" in done.stderr


def test_the_orchestrator_s_own_tests_pass(scratch: Path) -> None:
    """Every law, through its adapter, under a pytest without any of our settings."""
    folder = copied("orchestrator", scratch)
    program = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"]
    done = subprocess.run(program, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout


def test_the_plain_dataclass_does_what_its_page_shows(scratch: Path) -> None:
    folder = copied("plain-dataclass", scratch)
    (block,) = blocks("examples/plain-dataclass/README.md", "console")
    follow(block, folder)
    state = json.loads((folder / "run-7.json").read_bytes())
    assert (state["turns"], state["sandbox_pin"]["source"]) == (2, "strengthened")


def test_the_shell_script_does_what_its_page_shows(scratch: Path) -> None:
    """The session keeps its shape, and the pin survives that the script rewrites it."""
    program = capable_program(scratch)
    folder = copied("check-from-shell", scratch)
    (folder / "project").mkdir()
    (folder / "session.json").write_text('{"id": "s-1", "loop": {"turns": 0, "budget": 4.50}}\n')
    (block,) = blocks("examples/check-from-shell/README.md", "console")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}:{Path(program).parent}"
    follow(block, folder, {"PATH": path})
    session = json.loads((folder / "session.json").read_bytes())
    assert session["loop"] == {"turns": 2, "budget": 4.5}
    assert session["sandbox_pin"]["mode"] == "disabled"
    assert (folder / "project" / "fixed").exists()
