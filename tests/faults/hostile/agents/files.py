"""Writes, in every way that there is, to each file that it is told of: ``files PATH...``."""

import os
import sys
from pathlib import Path

from faults.hostile.agents.attempts import Attempts

attempts = Attempts()


def overwrite(path: Path) -> None:
    """In place, and by another file in its place."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
    _ = os.write(descriptor, b"\nby the agent\n")
    os.close(descriptor)


def replace(path: Path) -> None:
    """By another file in its place, across folders: a rename where that is allowed."""
    aside = path.with_name(f"{path.name}.agent")
    _ = aside.write_bytes(b"by the agent")
    _ = aside.replace(path)


def through_a_link(path: Path) -> None:
    """By a link in the workspace."""
    link = Path(f"link-{path.name}")
    link.unlink(missing_ok=True)
    link.symlink_to(path)
    overwrite(link)


def by_a_hard_link(path: Path) -> None:
    """By a second name in the workspace."""
    Path(f"hard-{path.name}").hardlink_to(path)


def there_and_back(path: Path) -> None:
    """By another name, for a moment: what comes later needs it."""
    _ = path.rename(f"{path}.moved").rename(path)


for word in sys.argv[1:]:
    victim = Path(word)
    for name, action in (
        ("append", overwrite),
        ("link", through_a_link),
        ("hard link", by_a_hard_link),
        ("chmod", lambda path: path.chmod(0o777)),
        ("times", lambda path: os.utime(path, (0, 0))),
        ("truncate", lambda path: os.truncate(path, 0)),
        ("beside", lambda path: path.with_name("sitecustomize.py").write_text("raise SystemExit(0)")),
        ("replace", replace),
        ("rename", there_and_back),
        ("rename its folder", lambda path: there_and_back(path.parent)),
        ("unlink", lambda path: path.unlink()),
    ):
        attempts.attempt(f"{name} {victim}", lambda action=action, victim=victim: action(victim))  # type: ignore[misc]

attempts.tell()
