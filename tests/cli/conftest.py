"""The bench that the tests of the command line work at."""

from pathlib import Path

import pytest

from cli.support import Bench


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Bench:
    """Folders of its own, and an environment that holds nothing else."""
    return Bench(tmp_path, monkeypatch, capfd)
