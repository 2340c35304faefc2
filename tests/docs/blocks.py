"""The code blocks of a page, and what a reader sees who does what they show."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]


def blocks(page: str, language: str) -> list[str]:
    """The code blocks of a language, in order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def as_pattern(expected: str) -> re.Pattern[str]:
    """The expected output, in which ``...`` stands for anything on its line."""
    return re.compile(re.escape(expected).replace(re.escape("..."), r"[^\n]*"))


def follow(block: str, folder: Path, environment: Mapping[str, str] | None = None) -> None:
    """Does what a console block shows, and holds it to what it shows; a status other than 0 stands behind."""
    steps = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, flags=re.MULTILINE)
    assert steps
    for command, expected in steps:
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=folder,
            env={
                "HOME": str(folder),
                "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
                **(environment or {}),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        status = f"[exit status {done.returncode}]\n" if done.returncode else ""
        assert as_pattern(expected).fullmatch(done.stdout + status), (command, done.stdout, done.returncode)
