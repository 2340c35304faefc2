"""Writes the kernel's settings, each the value that it has: ``settings NAME...``."""

import os
import sys
from pathlib import Path

from faults.hostile.agents.attempts import Attempts

attempts = Attempts()


def rewrite(path: Path) -> None:
    """What is written is what stands there: harmless, should it be let through."""
    value = path.read_bytes()
    descriptor = os.open(path, os.O_WRONLY)
    try:
        _ = os.write(descriptor, value)
    finally:
        os.close(descriptor)


for name in sys.argv[1:]:
    attempts.attempt(name, lambda name=name: rewrite(Path("/proc/sys") / name))  # type: ignore[misc]
writable = [
    line.split()[4]
    for line in Path("/proc/self/mountinfo").read_text().splitlines()
    if "rw" in line.split()[5].split(",")
]
attempts.came_of["writable mounts"] = " ".join(sorted(writable))
found: list[str] = []
for top, folders, names in os.walk("/proc"):
    if top == "/proc":
        folders[:] = [name for name in folders if not name.isdigit()]
    paths = [Path(top, name) for name in names]
    found += [str(path) for path in paths if os.access(path, os.W_OK) and not path.is_symlink()]
attempts.came_of["writable in /proc"] = " ".join(
    path for path in found if not path.startswith(("/proc/self/", "/proc/thread-self/"))
)
attempts.tell()
