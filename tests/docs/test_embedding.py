"""docs/embedding.md: its own program runs as shown, and what it quotes stands so in the examples."""

import re
import sys
from pathlib import Path
from typing import Final

import pytest

from docs.blocks import ROOT, follow

PAGE: Final = (ROOT / "docs" / "embedding.md").read_text(encoding="utf-8")
BLOCKS: Final = re.findall(r"^```(\w+) ([\w ]+)\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
OWN: Final = {("console", "install"), ("python", "orchestrator"), ("console", "orchestrator")}
QUOTED: Final = re.findall(
    r"^From \[(.+?)\]\(\.\./\1\):\n\n```\w+ ([\w ]+)\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL
)


def test_every_block_is_run_or_quoted() -> None:
    assert len(BLOCKS) == len(re.findall(r"^```\w", PAGE, flags=re.MULTILINE))
    assert {(language, name) for language, name, _ in BLOCKS} >= OWN
    assert len(BLOCKS) == len(OWN) + len(QUOTED)


@pytest.mark.parametrize(("file", "name", "text"), QUOTED)
def test_what_is_quoted_stands_in_the_example(file: str, name: str, text: str) -> None:
    source = (ROOT / file).read_text(encoding="utf-8")
    found = re.findall(rf"^ *# region {name}\n(.*?)^ *# endregion$", source, flags=re.MULTILINE | re.DOTALL)
    assert [region.strip("\n") for region in found] == [text.strip("\n")]


def test_the_first_refusal_comes_as_shown(tmp_path: Path) -> None:
    """The installation aside, which needs a package index: the tests have one made already."""
    (program,) = [text for language, name, text in BLOCKS if (language, name) == ("python", "orchestrator")]
    (shown,) = [text for language, name, text in BLOCKS if (language, name) == ("console", "orchestrator")]
    (tmp_path / "orchestrator.py").write_text(program, encoding="utf-8")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (tmp_path / ".venv" / "bin" / "python").chmod(0o755)
    follow(shown, tmp_path)
