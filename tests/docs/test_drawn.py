"""What the pages draw from the code is what the code says now."""

import subprocess
import sys

from docs.blocks import ROOT


def test_the_committed_pages_are_what_the_script_draws() -> None:
    """Tables, messages, each command's help and the API pages follow the code: ``make docs-drawn``."""
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "generate.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
