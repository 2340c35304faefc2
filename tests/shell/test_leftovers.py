"""What killed commands left behind is found and cleared, and nothing that a living one holds."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest

from sandbox_pin.core.doctor import Fate, Leftover
from sandbox_pin.errors import StorageError
from sandbox_pin.shell import leftovers, run_creation
from sandbox_pin.shell.durable import open_folder
from sandbox_pin.shell.file_system_trial import try_file_system
from sandbox_pin.shell.leftovers import find_leftovers
from sandbox_pin.shell.locks import hold
from sandbox_pin.shell.run_creation import create_run
from sandbox_pin.shell.runs import hold_run, list_runs
from shell.support import PIN, first_entry, killed_before_call, make_run, opened, run_state, snapshot

BUILT: Final = ".new-r-0123abcd"


def fates(root: Path, *, clear: bool = False) -> dict[str, Fate]:
    """What became of each leftover, by its path below the root."""
    return {
        str(Path(found.path).relative_to(root)): found.fate
        for found in find_leftovers(str(root), clear=clear)
    }


def age(folder: Path) -> None:
    """Makes a folder an hour old."""
    old = folder.stat().st_mtime - 3600
    os.utime(folder, (old, old))


def built(root: Path, name: str = BUILT, *inside: str) -> Path:
    """A folder as a killed command leaves it."""
    folder = root / name
    folder.mkdir(mode=0o700)
    for file in inside:
        (folder / file).write_bytes(b"{")
    age(folder)
    return folder


def test_at_any_kill_the_leftover_is_found_and_cleared_and_a_whole_run_stays(tmp_path: Path) -> None:
    """A new run killed before each of its system calls in turn."""
    number, seen, killed = 0, set[bool](), True
    while killed:
        number += 1
        root = tmp_path / str(number)
        root.mkdir()
        killed = killed_before_call(number, lambda root=root: make_run(root))  # type: ignore[misc]
        names = [path.name for path in root.iterdir()]
        for folder in root.iterdir():
            age(folder)
        aside = [name for name in names if name.startswith(".new-")]
        assert fates(root) == dict.fromkeys(aside, Fate.LEFT)
        assert fates(root, clear=True) == dict.fromkeys(aside, Fate.CLEARED)
        assert [path.name for path in root.iterdir()] == [name for name in names if name not in aside]
        assert fates(root) == {}
        seen.add(bool(aside))
    assert seen == {True, False}
    assert list_runs(str(root)) == ["r"]


def test_a_state_that_was_never_put_in_place_is_found_and_cleared(tmp_path: Path) -> None:
    """A save killed before each of its system calls in turn."""
    folder = make_run(tmp_path)
    whole = snapshot(folder)

    def save() -> None:
        with hold_run(str(tmp_path), "r", wait=0) as held:
            loaded = held.load()
            _ = held.save(loaded, loaded.state, PIN)

    number, left, killed = 0, 0, True
    while killed:
        number += 1
        killed = killed_before_call(number, save)
        expected = {"r/.state.json.new": Fate.LEFT} if (folder / ".state.json.new").exists() else {}
        assert fates(tmp_path) == expected
        assert fates(tmp_path, clear=True) == dict.fromkeys(expected, Fate.CLEARED)
        assert set(snapshot(folder)) == set(whole)
        left += len(expected)
    assert left > 1


@pytest.mark.parametrize(
    "name", [".run.jsonl.new", ".state.json.damaged-20260101000000-1.new", ".run.jsonl.damaged-2026-12.new"]
)
def test_what_recover_wrote_aside_is_a_leftover_too(tmp_path: Path, name: str) -> None:
    (make_run(tmp_path) / name).touch()
    assert fates(tmp_path, clear=True) == {f"r/{name}": Fate.CLEARED}


def test_looking_changes_nothing(tmp_path: Path) -> None:
    built(tmp_path, BUILT, "state.json", ".state.json.new")
    (make_run(tmp_path) / ".state.json.new").touch()
    before = snapshot(tmp_path)
    assert len(fates(tmp_path)) == 2
    assert snapshot(tmp_path) == before


# What a living command holds


def test_what_a_living_command_builds_in_is_no_leftover(tmp_path: Path) -> None:
    folder = built(tmp_path, BUILT, "state.json")
    with opened(folder) as descriptor, hold(descriptor, wait=0, shown_as="x"):
        before = snapshot(tmp_path)
        assert fates(tmp_path, clear=True) == {}
        assert snapshot(tmp_path) == before
    assert fates(tmp_path, clear=True) == {BUILT: Fate.CLEARED}


def test_what_a_living_command_writes_aside_is_no_leftover(tmp_path: Path) -> None:
    aside = make_run(tmp_path) / ".state.json.new"
    with hold_run(str(tmp_path), "r", wait=0):
        aside.touch()
        assert fates(tmp_path, clear=True) == {}
        assert aside.exists()
    assert fates(tmp_path, clear=True) == {"r/.state.json.new": Fate.CLEARED}


def test_a_folder_that_may_not_be_held_yet_is_no_leftover(tmp_path: Path) -> None:
    """An empty one that was made just now; one with anything in it has been held."""
    (tmp_path / BUILT).mkdir()
    assert fates(tmp_path, clear=True) == {}
    (tmp_path / BUILT / "state.json").touch()
    assert fates(tmp_path, clear=True) == {BUILT: Fate.CLEARED}


@pytest.mark.parametrize("step", ["open_folder", "hold"])
def test_a_run_whose_folder_is_cleared_before_it_is_held_is_made_all_the_same(
    tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by a maker that was suspended for longer than an empty folder is left alone."""
    monkeypatch.setattr(leftovers, "_YOUNG", 0)
    real: Callable[..., Any] = getattr(run_creation, step)
    cleared: list[Leftover] = []

    def late(*positional: object, **named: object) -> Any:  # noqa: ANN401 - either of two functions
        if not cleared:
            cleared.extend(find_leftovers(str(tmp_path), clear=True))
        return real(*positional, **named)

    monkeypatch.setattr(run_creation, step, late)
    make_run(tmp_path)
    assert [found.fate for found in cleared] == [Fate.CLEARED]
    assert [path.name for path in tmp_path.iterdir()] == ["r"]


def test_a_run_whose_folder_is_looked_at_before_it_is_held_is_made_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever looks holds it for a moment."""
    real, tries = hold, 0

    def held_by_another(folder: int, *, wait: float, shown_as: str) -> Any:  # noqa: ANN401 - as hold
        nonlocal tries
        tries += 1
        if tries == 1:
            with opened(next(tmp_path.iterdir())) as other, hold(other, wait=0, shown_as="x"):
                return real(folder, wait=wait, shown_as=shown_as).__enter__()
        return real(folder, wait=wait, shown_as=shown_as)

    monkeypatch.setattr(run_creation, "hold", held_by_another)
    make_run(tmp_path)
    assert tries == 2
    assert [path.name for path in tmp_path.iterdir()] == ["r"]


def test_a_run_whose_folder_is_cleared_each_time_is_told_as_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leftovers, "_YOUNG", 0)
    real = open_folder

    def late(path: str) -> int:
        _ = find_leftovers(str(tmp_path), clear=True)
        return real(path)

    monkeypatch.setattr(run_creation, "open_folder", late)
    with (
        pytest.raises(StorageError, match="taken away"),
        create_run(str(tmp_path), run_state(), PIN, [first_entry()]),
    ):
        pytest.fail("made")
    assert list(tmp_path.iterdir()) == []


def test_makers_and_a_doctor_at_once_leave_whole_runs_alone(tmp_path: Path) -> None:
    """Four processes make runs while this one clears without a pause."""
    makers: list[int] = []
    for maker in range(4):
        pid = os.fork()
        if pid == 0:
            with suppress(BaseException):
                for number in range(25):
                    make_run(tmp_path, run_state(f"{maker}-{number}"))
                os._exit(0)
            os._exit(1)
        makers.append(pid)
    statuses: list[int] = []
    while makers:
        assert fates(tmp_path, clear=True) == {}
        pid, status = os.waitpid(makers[0], os.WNOHANG)
        if pid:
            makers.remove(pid)
            statuses.append(status)
    assert statuses == [0] * 4
    assert len(list_runs(str(tmp_path))) == 100
    assert len(list(tmp_path.iterdir())) == 100


# What is not ours


@pytest.mark.parametrize(
    "name",
    [".new", ".new-r", ".new-r-123", ".new-R-0123abcd", ".new-r-0123abcdx", ".trial-0123abcd", "README"],
)
def test_what_has_no_such_name_is_left_alone(tmp_path: Path, name: str) -> None:
    built(tmp_path, name, "state.json")
    before = snapshot(tmp_path)
    assert fates(tmp_path, clear=True) == {}
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("what", ["foreign file", "folder inside", "file", "link", "link to a run"])
def test_what_only_looks_like_a_leftover_is_told_and_kept(tmp_path: Path, what: str) -> None:
    root = tmp_path / "runs"
    root.mkdir()
    match what:
        case "foreign file":
            built(root, BUILT, "state.json", "notes")
        case "folder inside":
            (built(root) / "state.json").mkdir()
        case "file":
            (root / BUILT).write_text("mine")
        case "link":
            (tmp_path / "elsewhere").mkdir()
            (tmp_path / "elsewhere/state.json").touch()
            (root / BUILT).symlink_to(tmp_path / "elsewhere")
        case _:
            (root / BUILT).symlink_to(make_run(root))
    before = {name: seen.content for name, seen in snapshot(tmp_path).items()}
    assert fates(root, clear=True) == {BUILT: Fate.KEPT}
    assert {name: seen.content for name, seen in snapshot(tmp_path).items()} == before


def test_a_run_s_name_that_is_no_folder_is_nothing_to_clear(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("nothing")
    os.mkfifo(tmp_path / "fifo")
    assert fates(tmp_path, clear=True) == {}


def test_a_root_that_is_not_there_has_no_leftovers(tmp_path: Path) -> None:
    assert find_leftovers(str(tmp_path / "missing"), clear=True) == []


@pytest.mark.parametrize("kind", ["built", "aside"])
def test_what_can_t_be_removed_is_told_with_the_reason(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "built":
        built(tmp_path, BUILT, "state.json")
    else:
        (make_run(tmp_path) / ".state.json.new").touch()

    def fail(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "unlink", fail)
    (found,) = find_leftovers(str(tmp_path), clear=True)
    assert (found.fate, found.why) == (Fate.KEPT, "Operation not permitted")


# The trial of the file system


def test_a_file_system_that_can_keep_runs_is_tried_without_a_trace(tmp_path: Path) -> None:
    assert [trial.failure for trial in try_file_system(str(tmp_path))] == [None] * 5
    assert list(tmp_path.iterdir()) == []


def test_at_any_kill_the_trial_leaves_what_can_be_cleared(tmp_path: Path) -> None:
    number, left, killed = 0, 0, True
    while killed:
        number += 1
        killed = killed_before_call(number, lambda: try_file_system(str(tmp_path)))
        for folder in tmp_path.iterdir():
            left += 1
            age(folder)
        assert set(fates(tmp_path, clear=True).values()) <= {Fate.CLEARED}
        assert list(tmp_path.iterdir()) == []
    assert left > 5


def test_a_trial_that_runs_is_no_leftover(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.rename
    seen: list[dict[str, Fate]] = []

    def look(*positional: Any, **named: Any) -> None:  # noqa: ANN401 - as os.rename
        seen.append(fates(tmp_path, clear=True))
        real(*positional, **named)

    monkeypatch.setattr(os, "rename", look)
    assert [trial.failure for trial in try_file_system(str(tmp_path))] == [None] * 5
    assert seen == [{}, {}]
