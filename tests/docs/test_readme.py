"""What the README shows is what happens: every example in it is run."""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.blocks import ROOT, blocks, follow
from sandbox_pin.cli.exit_status import ExitStatus

README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("block", blocks("README.md", "python"))
def test_python_examples_run_as_they_stand(block: str) -> None:
    """A reader can paste an example into a file and run it."""
    done = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A folder with a project, a configuration and a state; not in /tmp, as a launch has its own."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        folder = Path(name)
        (folder / "project").mkdir()
        (folder / "sandbox.toml").write_text('[sandbox]\nmode = "required"\n', encoding="utf-8")
        (folder / "task-7.json").write_text('{"id": 7, "messages": []}\n', encoding="utf-8")
        yield folder


@pytest.mark.parametrize("block", blocks("README.md", "console"))
def test_console_examples_print_what_the_readme_shows(block: str, scratch: Path) -> None:
    """A reader sees what the README shows; a status other than 0 is shown behind the output."""
    follow(block, scratch, {"SANDBOX_PIN_RUNS": str(scratch / "runs")})


def test_exit_statuses_of_the_readme_are_those_of_the_program() -> None:
    """The table lists each status that the program itself ends with, and no other."""
    listed = {int(number) for number in re.findall(r"^\| (\d+) \|", README, flags=re.MULTILINE)}
    assert listed == {int(status) for status in ExitStatus} - {ExitStatus.OK}
