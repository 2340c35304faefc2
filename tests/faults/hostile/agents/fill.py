"""Fills the places that are its own: ``fill BYTES FOLDER...``."""

import sys
from pathlib import Path

from faults.hostile.agents.attempts import Attempts

attempts = Attempts()
for folder in sys.argv[2:]:
    path = Path(folder) / "filled-by-an-agent"
    attempts.attempt(folder, lambda path=path: path.write_bytes(bytes(int(sys.argv[1]))))  # type: ignore[misc]
attempts.tell()
