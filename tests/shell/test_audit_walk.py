"""What a pattern matches, beside a slow reading of it; a walk stays inside, and leaves nothing open."""

import os
import re
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_pin.errors import StateError, UsageError
from sandbox_pin.shell.audit_folders import Folders
from sandbox_pin.shell.audit_walk import Glob, walk_glob
from shell.support import opened

NAMES: Final = ["a", "b", "a.json", ".a"]
PARTS: Final = ["a", "b", "*", "*.json", "**", "?"]
TO_REGEX: Final = {"*": "[^/]*", "?": "[^/]", "*.json": r"[^/]*\.json"}


def slow(pattern: list[str], path: list[str]) -> bool:
    """Whether a path matches, by trying every length of each ``**``."""
    if not pattern:
        return not path
    if pattern[0] == "**":
        return any(slow(pattern[1:], path[skipped:]) for skipped in range(len(path) + 1))
    head = TO_REGEX.get(pattern[0], re.escape(pattern[0]))
    return bool(path) and re.fullmatch(head, path[0]) is not None and slow(pattern[1:], path[1:])


@given(
    st.lists(st.sampled_from(PARTS), min_size=1, max_size=4),
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=4),
)
def test_a_pattern_matches_what_a_slow_reading_of_it_matches(pattern: list[str], path: list[str]) -> None:
    glob = Glob("/".join(pattern))
    positions = glob.begin
    for number, name in enumerate(path):
        assert glob.goes_on(positions) or not slow(pattern, path), number
        positions = glob.follow(positions, name)
    assert glob.is_whole(positions) == slow(pattern, path)


@pytest.mark.parametrize("pattern", ["", "/a", "a/", "a//b", "../a", "a/./b"])
def test_a_pattern_that_leads_elsewhere_is_refused(pattern: str) -> None:
    with pytest.raises(UsageError, match="--glob"):
        Glob(pattern)


def descriptors() -> int:
    """How many this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_walk_that_is_given_up_leaves_nothing_open(tmp_path: Path) -> None:
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    for folder in ("a", "a/b", "a/b/c"):
        (tmp_path / folder / "state.json").write_text("{}")
    before = descriptors()
    with opened(tmp_path) as root:
        walk = walk_glob(0, root, Glob("**/state.json"))
        _ = next(walk)
        walk.close()
        found = {(place.way, place.name) for place in walk_glob(0, root, Glob("**/state.json"))}
    assert found == {("a", "state.json"), ("a/b", "state.json"), ("a/b/c", "state.json")}
    assert descriptors() == before


def test_a_folder_that_becomes_a_link_out_of_the_tree_is_not_entered(tmp_path: Path) -> None:
    """Between the walk and the look an agent swaps it, at any depth."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "a" / "b").mkdir(parents=True)
    (outside / "b").mkdir(parents=True)
    before = descriptors()
    with opened(root) as descriptor:
        folders = Folders([(str(root), descriptor)])
        inside = os.fstat(folders.enter(0, "a/b", again=False)).st_ino
        assert inside == (root / "a" / "b").stat().st_ino
        (root / "a").rename(root / "moved")
        (root / "a").symlink_to(outside)
        with pytest.raises(StateError, match="it is a link, and not followed"):
            _ = folders.enter(0, "a/b", again=True)
        with pytest.raises(StateError, match="it is a link, and not followed"):
            _ = folders.enter(0, "a", again=False)
        with pytest.raises(FileNotFoundError):
            _ = folders.enter(0, "moved/none", again=False)
        folders.close()
    assert descriptors() == before
