"""Connects to each socket, and lists each folder: ``sockets NAME...`` (``@``: an abstract one)."""

import socket
import sys
from pathlib import Path

from faults.hostile.agents.attempts import Attempts

attempts = Attempts()


def connect(name: str) -> None:
    """By its path, or by its abstract name."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(name.replace("@", "\0", 1))


for word in sys.argv[1:]:
    if Path(word).is_dir():
        attempts.came_of[f"in {word}"] = " ".join(sorted(path.name for path in Path(word).iterdir()))
    else:
        attempts.attempt(word, lambda word=word: connect(word))  # type: ignore[misc]
attempts.tell()
