"""The worked schema of the page on evolution is real: it is applied to a copy of the project, and run."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Final

import pytest

from docs.blocks import ROOT
from docs.pages import Block, read_page

BLOCKS: Final = read_page(ROOT / "docs" / "evolution.md").blocks
PROGRAMS: Final = {block.title: block.text for block in BLOCKS if block.language == "python"}


def hunks(block: Block) -> Iterator[tuple[str, str]]:
    """The text before and after of each change; they are parted by lines of ``@@``."""
    for parting, lines in groupby(block.text.splitlines(), key=lambda line: line == "@@"):
        if not parting:
            changes = [(line[:1], line[1:]) for line in lines]
            assert {sign for sign, _ in changes} <= {" ", "-", "+"}
            before = "".join(f"{text}\n" for sign, text in changes if sign != "+")
            yield before, "".join(f"{text}\n" for sign, text in changes if sign != "-")


def change(block: Block, project: Path) -> None:
    """Makes the changes of a block; what each goes by must be there once."""
    assert block.title is not None
    file = project / block.title
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    for before, after in hunks(block):
        if not before:
            assert not text, f"{block.title}: new lines without a line that they go by"
            text = after
        else:
            assert text.count(before) == 1, f"{block.title}: {text.count(before)} times there:\n{before}"
            text = text.replace(before, after)
    file.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the source and of the core's tests, with the changes of the page."""
    project = tmp_path_factory.mktemp("evolution")
    shutil.copytree(ROOT / "src", project / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("core", "conformance"):
        shutil.copytree(ROOT / "tests" / name, project / "tests" / name)
    for block in BLOCKS:
        if block.language == "diff":
            change(block, project)
    return project


def python(arguments: list[str], *, source: Path, folder: Path) -> tuple[int, str]:
    """Runs Python with this source before any that is installed: its exit status, and all that it said."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(source), str(folder / "tests")])},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def test_every_vector_old_and_new_holds_after_the_change(changed: Path) -> None:
    """Schemas 1 and 2 and their decisions are as they were; schema 3 is as the page says."""
    arguments = [
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:randomly",
        "--import-mode=importlib",
    ]
    status, said = python(
        [*arguments, "tests/core/test_conformance.py"],
        source=changed / "src",
        folder=changed,
    )
    assert status == 0, said


def test_the_page_s_program_holds_after_the_change(changed: Path) -> None:
    """Upgraded by the first request that has the fact, and held to it from then on."""
    imported = f"import sandbox_pin; assert sandbox_pin.__file__.startswith({str(changed)!r})\n"
    status, said = python(["-c", imported + PROGRAMS["after.py"]], source=changed / "src", folder=changed)
    assert (status, said) == (0, "")


def test_an_older_version_refuses_the_new_record(tmp_path: Path) -> None:
    """The source as it is now stands for it."""
    status, said = python(["-c", PROGRAMS["before.py"]], source=ROOT / "src", folder=tmp_path)
    assert (status, said) == (0, "")


def test_the_changed_backend_takes_the_network_away(changed: Path) -> None:
    """The fact reaches the arguments of a launch."""
    program = (
        "from sandbox_pin.core.facts import Network\n"
        "from sandbox_pin.shell.bubblewrap import Profile, sandbox_arguments\n"
        "for network, there in ((Network.NONE, True), (Network.HOST, False)):\n"
        "    found = sandbox_arguments('bwrap', Profile(workspace='/srv', network=network))\n"
        "    assert ('--unshare-net' in found) is there\n"
    )
    status, said = python(["-c", program], source=changed / "src", folder=changed)
    assert (status, said) == (0, "")


def test_each_program_of_the_page_is_run_here() -> None:
    """A block with a title is passed over where the examples are run."""
    assert set(PROGRAMS) == {"after.py", "before.py"}
