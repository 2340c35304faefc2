"""Renames what it works in, and puts links in its place: ``swap TARGET NAME``."""

import sys
from pathlib import Path

from faults.hostile.agents.attempts import Attempts

target, name = sys.argv[1:]
attempts = Attempts()
here = Path.cwd()
for path in (here, *here.parents[:-1]):
    attempts.attempt(f"rename {path}", lambda path=path: path.rename(f"{path}.moved"))  # type: ignore[misc]
    attempts.attempt(f"rename {path} into", lambda path=path: path.rename(here / "moved"))  # type: ignore[misc]
attempts.attempt("remove", here.rmdir)
attempts.attempt("link in its place", lambda: here.with_name("new").symlink_to(target))
# Within its own tree it may do what it likes.
inner = Path(name)
if inner.exists() and not inner.is_symlink():
    _ = inner.rename(f"{name}.was")
inner.unlink(missing_ok=True)
inner.symlink_to(target)
attempts.tell()
