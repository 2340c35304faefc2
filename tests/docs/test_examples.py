"""What the pages show is what happens: every example in them is run or read.

The blocks under one heading share a folder, in their order; it begins with a folder ``project``, the file
``sandbox.toml`` (mode ``required``) and a state ``task-7.json``. A block with a ``title`` is the text of the
file of that name.
"""

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Final

import pytest
import yaml

from docs.blocks import ROOT, follow
from docs.pages import Block, all_pages, read_page
from sandbox_pin import decode_pin, encode_pin
from sandbox_pin.cli.exit_status import ExitStatus
from sandbox_pin.core.run_state import decode_run_state
from sandbox_pin.shell import Entry, Garbage, decode_line, encode_line, load_configuration

NOT_RUN: Final = {
    "text": "a layout or a form; or what a program prints, which test_drawn.py compares",
    "sh": "it installs from a package index, or takes the whole of the project's tools",
    "diff": "a change of the source: test_evolution.py applies it to a copy",
}
"""The languages whose blocks are not run here, each with the reason."""

HELD_ELSEWHERE: Final = {
    "docs/embedding.md": "its blocks have names: test_embedding.py runs them, or holds them to examples/"
}
"""Pages whose blocks another test runs."""


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A folder with a project, a configuration and a state; not in /tmp, as a launch has its own."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        folder = Path(name)
        (folder / "project").mkdir()
        (folder / "sandbox.toml").write_text('[sandbox]\nmode = "required"\n', encoding="utf-8")
        (folder / "task-7.json").write_text('{"id": 7, "messages": []}\n', encoding="utf-8")
        yield folder


def run_console(block: Block, scratch: Path) -> None:
    """A reader sees what the page shows; a status other than 0 is shown behind the output."""
    shown = re.findall(r"^\$ .*\n(?:(?!\$ ).*\n)*", block.text, flags=re.MULTILINE)
    assert block.text == "".join(shown)
    follow(block.text, scratch, {"SANDBOX_PIN_RUNS": str(scratch / "runs")})


def run_python(block: Block, scratch: Path) -> None:
    """A reader can paste an example into a file and run it; one with a title is the text of a file."""
    if block.title is not None:
        (scratch / block.title).write_text(block.text, encoding="utf-8")
        return
    done = subprocess.run(
        [sys.executable, "-c", block.text], cwd=scratch, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


PARSERS: Final[Mapping[str, Callable[[str], object]]] = {
    "toml": tomllib.loads,
    "json": json.loads,
    "yaml": yaml.safe_load,
}


def read_data(block: Block, scratch: Path) -> None:
    """It parses; and our own reader reads a configuration, a record, a log's entry or a run's state."""
    document = PARSERS[block.language](block.text)
    file = scratch / (block.title or f"example.{block.language}")
    file.write_text(block.text, encoding="utf-8")
    if not isinstance(document, dict):
        return
    if "sandbox" in document:
        configuration = load_configuration(str(file)).configuration
        assert configuration.mode is not None or configuration.backend is not None
    if "schema" in document:
        assert json.loads(encode_pin(decode_pin(block.text))) == document
    if "event" in document:
        assert json.loads(encode_line(entry_of(json.dumps(document)))) == document
    if "protocol" in document:
        state, pin = decode_run_state(block.text.encode(), run=str(document["run"]))
        assert (state.protocol, "sandbox_pin" in document) == (document["protocol"], hasattr(pin, "mode"))


def read_log(block: Block, scratch: Path) -> None:
    """Each line is an entry, written as the program writes it."""
    for line in block.text.splitlines():
        assert encode_line(entry_of(line)).decode() == line
    if block.title:
        (scratch / block.title).write_text(block.text, encoding="utf-8")


def entry_of(line: str) -> Entry:
    """The entry that a line is."""
    entry = decode_line(line.encode())
    assert not isinstance(entry, Garbage)
    return entry


RUNNERS: Final[Mapping[str, Callable[[Block, Path], None]]] = {
    "console": run_console,
    "python": run_python,
    "jsonl": read_log,
    **dict.fromkeys(PARSERS, read_data),
}


def groups() -> Iterator[object]:
    """The blocks of each page that are run, those under one heading together."""
    for page in all_pages():
        if page.name in HELD_ELSEWHERE:
            continue
        run = [block for block in page.blocks if block.language in RUNNERS and block.drawn is None]
        for heading, blocks in groupby(run, key=lambda block: block.heading):
            yield pytest.param(tuple(blocks), id=f"{page.name}: {heading}")


@pytest.mark.parametrize("blocks", tuple(groups()))
def test_the_examples_under_a_heading_do_what_the_page_shows(
    blocks: tuple[Block, ...], scratch: Path
) -> None:
    """Each is run, or read, in the order of the page."""
    for block in blocks:
        RUNNERS[block.language](block, scratch)


def test_a_block_that_is_not_run_says_so_by_its_language() -> None:
    """Nothing is passed over unseen: another language than these needs a way to run it, or a reason."""
    others = {
        (page.name, block.line, block.language)
        for page in all_pages()
        for block in page.blocks
        if block.language not in {*RUNNERS, *NOT_RUN} or (block.name and page.name not in HELD_ELSEWHERE)
    }
    assert not others


def test_exit_statuses_of_the_readme_are_those_of_the_program() -> None:
    """The table lists each status that the program itself ends with, and no other."""
    prose = read_page(ROOT / "README.md").prose
    listed = {int(number) for number in re.findall(r"^\| (\d+) \|", prose, flags=re.MULTILINE)}
    assert listed == {int(status) for status in ExitStatus} - {ExitStatus.OK}
