"""Run folders: made whole or not at all, held by one command, everything foreign in them kept."""

import errno
import json
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from core.strategies import AT, Members, foreign_keys, foreign_values, oracle_json, pins
from sandbox_pin import ConfigurationError, PinSource, PinV1, SandboxMode, SandboxPin, StateError, Unpinned
from sandbox_pin.core.run_state import RunStatus
from sandbox_pin.errors import BusyError, StorageError, UncertainStorageError, UsageError
from sandbox_pin.shell import runs
from sandbox_pin.shell.locks import hold
from sandbox_pin.shell.run_creation import create_run, root_made
from sandbox_pin.shell.runs import (
    check_run_id,
    hold_run,
    list_runs,
    log_path,
    make_run_id,
    open_run,
    runs_root,
    state_path,
)
from shell.support import (
    ENDED,
    PIN,
    WEAK,
    first_entry,
    killed_before_call,
    make_run,
    mode_of,
    run_state,
    snapshot,
)

# Ids


@pytest.mark.parametrize("run", ["a", "0", "a.b_c-d", "20260101t000000z-ab12cd", "z" * 64, "a..", "1."])
def test_ids_that_are_one(tmp_path: Path, run: str) -> None:
    assert check_run_id(run) == run
    make_run(tmp_path, run_state(run))
    assert list_runs(str(tmp_path)) == [run]


@pytest.mark.parametrize(
    "run",
    [
        "",
        ".",
        "..",
        "../x",
        "a/b",
        "/abs",
        "-a",
        "_a",
        ".new-r-00",
        "A",
        "é",
        "\u0661",
        "a b",
        "a\n",
        "\na",
        "a\nb",
        "a\0",
        "\udcff",
        "z" * 65,
        "z" * 300,
    ],
)
def test_ids_that_are_none_are_refused_before_any_file_is_touched(tmp_path: Path, run: str) -> None:
    root = str(tmp_path)
    before = snapshot(tmp_path)
    asks: tuple[Callable[[], object], ...] = (
        lambda: check_run_id(run),
        lambda: state_path(root, run),
        lambda: log_path(root, run),
        lambda: open_run(root, run).__enter__(),
        lambda: hold_run(root, run, wait=0).__enter__(),
        lambda: create_run(root, replace(run_state(), run=run), PIN, []).__enter__(),
    )
    for ask in asks:
        with pytest.raises(UsageError, match="1 to 64 of") as caught:
            ask()
        assert str(caught.value).isprintable()
    assert snapshot(tmp_path) == before


def test_ids_that_are_made_up_are_ids_that_sort_by_their_time() -> None:
    ids = [make_run_id(at) for at in (AT, "2026-01-01T00:00:01Z", "2026-02-01T00:00:00Z")]
    assert ids == sorted(ids)
    assert [check_run_id(run) for run in ids] == ids
    assert len({make_run_id(AT) for _ in range(20)}) == 20


# The root


@pytest.mark.parametrize(
    ("option", "variable", "expected"),
    [
        ("/runs", "/other", "/runs"),
        ("rel/../runs", "/other", "{cwd}/runs"),
        (None, "/other", "/other"),
        (None, "/other//x/../y", "/other/y"),
        (None, "", "{state}/sandbox-pin/runs"),
        (None, None, "{state}/sandbox-pin/runs"),
    ],
)
def test_the_root_is_the_option_else_the_variable_else_the_user_s(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    option: str | None,
    variable: str | None,
    expected: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv(runs.RUNS_VARIABLE, raising=False)
    if variable is not None:
        monkeypatch.setenv(runs.RUNS_VARIABLE, variable)
    assert runs_root(option) == expected.format(cwd=tmp_path, state=tmp_path / "state")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("option", "variable"), [("", "/other"), (None, "rel"), (None, "./x"), (None, "~/x")]
)
def test_a_root_that_means_another_folder_in_each_place_is_refused(
    monkeypatch: pytest.MonkeyPatch, option: str | None, variable: str
) -> None:
    monkeypatch.setenv(runs.RUNS_VARIABLE, variable)
    with pytest.raises(UsageError, match="expected"):
        runs_root(option)


def test_the_root_is_made_with_its_parents_and_what_stayed_empty_is_taken_back(tmp_path: Path) -> None:
    root = tmp_path / "a/b/runs"
    with root_made(str(root)):
        assert mode_of(root) == 0o700
    assert list(tmp_path.iterdir()) == []
    with root_made(str(root)):
        make_run(root)
    assert list_runs(str(root)) == ["r"]


def test_a_root_that_was_there_is_not_taken_back(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    root.mkdir()
    before = snapshot(tmp_path)
    with root_made(str(root)):
        pass
    assert snapshot(tmp_path) == before
    with suppress(ZeroDivisionError), root_made(str(root / "deep")):
        raise ZeroDivisionError
    assert list(root.iterdir()) == []


def test_only_what_was_made_is_taken_back_and_only_where_it_is_empty(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    with root_made(str(tmp_path / "there/new/runs")):
        (tmp_path / "there/new/beside").touch()
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["beside", "new", "there"]


def test_a_root_that_can_t_be_made_leaves_none_of_its_parents(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="File name too long"), root_made(f"{tmp_path}/new/{'x' * 300}"):
        pytest.fail("made")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["file", "fifo", "link to nothing"])
def test_a_root_that_is_no_folder_is_refused_and_stays(tmp_path: Path, name: str) -> None:
    path = tmp_path / "runs"
    if name == "file":
        path.touch()
    elif name == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("nothing")
    before = snapshot(tmp_path)
    with pytest.raises(StorageError, match="could not be made"), root_made(str(path)):
        pytest.fail("made")
    assert snapshot(tmp_path) == before


def test_nobody_else_may_enter_what_was_made_for_the_root(tmp_path: Path) -> None:
    """Under a loose umask too: who may write a folder above the root may put another root in its place."""
    root = tmp_path / "a/b/runs"
    before = os.umask(0)
    try:
        with root_made(str(root)):
            assert {mode_of(path) for path in (root, *root.parents[:2])} == {0o700}
    finally:
        os.umask(before)


def test_runs_are_listed_in_order_and_nothing_else(tmp_path: Path) -> None:
    for run in ("b", "a", "c"):
        make_run(tmp_path, run_state(run))
    (tmp_path / ".new-x-00000000").mkdir()
    (tmp_path / "README").touch()
    assert list_runs(str(tmp_path)) == ["a", "b", "c"]
    assert list_runs(str(tmp_path / "missing")) == []
    with pytest.raises(StorageError, match="could not be read"):
        list_runs(str(tmp_path / "README"))


# Making a run


@pytest.mark.parametrize("umask", [0, 0o022, 0o077])
def test_a_run_is_its_owner_s_alone_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        folder = make_run(tmp_path)
        with hold_run(str(tmp_path), "r", wait=0) as held:
            held.log.append(ENDED)
            loaded = held.load()
            held.save(loaded, replace(loaded.state, status=RunStatus.BLOCKED), WEAK)
    finally:
        os.umask(before)
    assert mode_of(folder) == 0o700
    assert {path.name: mode_of(path) for path in folder.iterdir()} == {
        "state.json": 0o600,
        "run.jsonl": 0o600,
    }


def test_a_new_run_is_held_whole_and_where_it_belongs(tmp_path: Path) -> None:
    with create_run(str(tmp_path), run_state(), PIN, [first_entry(), ENDED]) as folder:
        assert folder.path == str(tmp_path / "r")
        with pytest.raises(BusyError), hold_run(str(tmp_path), "r", wait=0):
            pytest.fail("held twice")
        loaded = folder.load()
        assert (loaded.state, loaded.pin) == (run_state(), PIN)
        assert list(folder.log.lines()) == [first_entry(), ENDED]
        assert list_runs(str(tmp_path)) == ["r"]
    with hold_run(str(tmp_path), "r", wait=0) as again:
        assert again.load() == loaded


def test_an_error_of_the_command_does_not_take_the_run_back(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), create_run(str(tmp_path), run_state(), PIN, [first_entry()]):
        raise ZeroDivisionError
    with open_run(str(tmp_path), "r") as folder:
        assert folder.load().pin == PIN
        assert folder.log.last_entry() == first_entry()


@pytest.mark.parametrize("what", ["run", "folder", "empty folder", "file", "link to nothing", "link"])
def test_a_name_that_is_taken_is_refused_and_nothing_changes(tmp_path: Path, what: str) -> None:
    path = tmp_path / "r"
    match what:
        case "run":
            make_run(tmp_path)
        case "folder":
            (path / "inner").mkdir(parents=True)
        case "empty folder":
            path.mkdir()
        case "file":
            path.touch()
        case "link":
            (tmp_path / "target").mkdir()
            path.symlink_to("target")
        case _:
            path.symlink_to("nothing")
    before = {name: seen for name, seen in snapshot(tmp_path).items() if name != "."}
    with (
        pytest.raises(UsageError, match="of that name already"),
        create_run(str(tmp_path), run_state(), WEAK, [first_entry(pin=WEAK)]),
    ):
        pytest.fail("made")
    assert {name: seen for name, seen in snapshot(tmp_path).items() if name != "."} == before


@pytest.mark.parametrize("call", ["mkdir", "open", "write", "fsync", "rename"])
@pytest.mark.parametrize("nth", [1, 2, 3, 4, 5])
def test_a_failure_leaves_the_whole_run_or_nothing(
    tmp_path: Path, call: str, nth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 0
    real: Callable[..., object] = getattr(os, call)

    def fail(*positional: object, **named: object) -> object:
        nonlocal count
        count += 1
        if count == nth:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*positional, **named)

    error: StorageError | None = None
    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        try:
            make_run(tmp_path)
        except StorageError as caught:
            error = caught
    made = [path.name for path in tmp_path.iterdir()]
    if count < nth or (isinstance(error, UncertainStorageError) and made):
        assert made == ["r"]
        with open_run(str(tmp_path), "r") as folder:
            assert folder.load().pin == PIN
            assert folder.log.last_entry() == first_entry()
    else:
        assert isinstance(error, StorageError)
        assert made == []


def test_an_entry_that_can_t_be_written_makes_no_run(tmp_path: Path) -> None:
    odd = replace(first_entry(), workspace="\udcff")
    with pytest.raises(ConfigurationError), create_run(str(tmp_path), run_state(), PIN, [odd]):
        pytest.fail("made")
    assert list(tmp_path.iterdir()) == []


def test_at_any_kill_there_is_the_whole_run_or_none(tmp_path: Path) -> None:
    """Killed before each of its system calls in turn."""
    number = 0
    found: list[bool] = []
    killed = True
    while killed:
        number += 1
        root = tmp_path / str(number)
        root.mkdir()
        killed = killed_before_call(number, lambda root=root: make_run(root))  # type: ignore[misc]
        found.append(list_runs(str(root)) == ["r"])
        if found[-1]:
            with hold_run(str(root), "r", wait=0) as folder:
                assert folder.load().pin == PIN
                assert folder.log.last_entry() == first_entry()
    assert found == sorted(found)
    assert number > 15
    assert found[-1]
    assert not found[0]


@pytest.mark.parametrize("place", ["write", "rename"])
def test_an_interrupted_command_leaves_nothing_aside(
    tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The operator's Ctrl-C is no ``OSError``."""

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, place, interrupt)
    with pytest.raises(KeyboardInterrupt):
        make_run(tmp_path)
    assert list(tmp_path.iterdir()) == []


# Holding and saving


def test_no_such_run_is_the_caller_s_fault(tmp_path: Path) -> None:
    for opener in (open_run(str(tmp_path), "r"), hold_run(str(tmp_path), "r", wait=0)):
        with pytest.raises(UsageError, match="no such run"), opener:
            pytest.fail("opened")
    with pytest.raises(UsageError, match="no such run"), open_run(str(tmp_path / "missing"), "r"):
        pytest.fail("opened")


@pytest.mark.parametrize("what", ["file", "link", "fifo"])
def test_a_run_that_is_no_folder_is_damage_at_once(tmp_path: Path, what: str) -> None:
    if what == "file":
        (tmp_path / "r").touch()
    elif what == "link":
        (tmp_path / "r").symlink_to("nothing")
    else:
        os.mkfifo(tmp_path / "r")
    with pytest.raises(StateError, match="expected a folder"), hold_run(str(tmp_path), "r", wait=0):
        pytest.fail("opened")


@pytest.mark.parametrize("what", ["replaced", "removed", "linked"])
def test_a_folder_that_was_replaced_while_it_was_waited_for_is_not_used(
    tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is locked then is not what is there."""
    folder = make_run(tmp_path)
    real = hold

    def late(*positional: object, **named: object) -> object:
        monkeypatch.setattr(runs, "hold", real)
        folder.rename(tmp_path / "old")
        if what == "replaced":
            make_run(tmp_path)
        if what == "linked":
            (tmp_path / "r").symlink_to("old")
        return real(*positional, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(runs, "hold", late)
    with pytest.raises(UsageError, match="replaced or removed"), hold_run(str(tmp_path), "r", wait=0):
        pytest.fail("held")


def test_a_missing_state_is_damage(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    (folder / "state.json").unlink()
    with open_run(str(tmp_path), "r") as opened, pytest.raises(StateError, match="state.json: missing"):
        opened.load()
    assert [path.name for path in folder.iterdir()] == ["run.jsonl"]


FOREIGN: Final = foreign_keys.filter(lambda key: key not in {"protocol", "sandbox_pin"})


def raw_members(raw: bytes) -> list[tuple[str, object]]:
    """The members of an object, in order, each number as it is spelled."""
    found = oracle_json(raw)
    assert isinstance(found, Members)
    return list(found)


@given(
    st.lists(st.tuples(FOREIGN, foreign_values), max_size=4),
    st.lists(
        st.tuples(st.sampled_from(RunStatus), pins, st.lists(st.text(max_size=5), max_size=2)), max_size=3
    ),
    st.randoms(use_true_random=False),
)
def test_what_is_not_ours_is_kept_byte_for_byte_over_saves(
    others: list[tuple[str, str]], saves: list[tuple[RunStatus, SandboxPin, list[str]]], random: object
) -> None:
    """Its bytes, its place, and white space around it; repeated keys and odd numbers too."""
    with tempfile.TemporaryDirectory() as root:
        path = make_run(Path(root)) / "state.json"
        own = json.loads(path.read_bytes())
        pieces = [f"{json.dumps(key, ensure_ascii=False)} :\t{value}" for key, value in others]
        members = [json.dumps(name) + ":" + json.dumps(value) for name, value in own.items()]
        mixed = [*members[:3], *pieces, *members[3:]]
        path.write_text("\n{" + " ,\n".join(mixed) + " }\n\n", encoding="utf-8")
        before = [member for member in raw_members(path.read_bytes()) if member[0] not in own]
        with hold_run(root, "r", wait=0) as folder:
            loaded = folder.load()
            for status, pin, words in saves:
                after = replace(loaded.state, status=status, command=tuple(words))
                loaded = folder.save(loaded, after, pin)
                assert folder.load() == loaded
                assert (loaded.state, loaded.pin) == (after, pin)
        raw = path.read_bytes()
        for piece in pieces:
            assert piece.encode() in raw
        after_members = raw_members(raw)
        names = set(own) | {"command"}
        assert [member for member in after_members if member[0] not in names] == [
            member for member in before if member[0] not in names
        ]


def test_a_save_that_changes_nothing_writes_the_same_bytes(tmp_path: Path) -> None:
    path = make_run(tmp_path) / "state.json"
    before = path.read_bytes()
    with hold_run(str(tmp_path), "r", wait=0) as folder:
        loaded = folder.load()
        assert folder.save(loaded, loaded.state, PIN) == loaded
    assert path.read_bytes() == before


def test_a_state_from_before_pins_gets_one_by_a_save(tmp_path: Path) -> None:
    path = make_run(tmp_path) / "state.json"
    old = {**json.loads(path.read_bytes()), "protocol": 11}
    del old["sandbox_pin"]
    path.write_text(json.dumps(old))
    with hold_run(str(tmp_path), "r", wait=0) as folder:
        loaded = folder.load()
        assert loaded.pin == Unpinned()
        folder.save(loaded, replace(loaded.state, protocol=12), PIN)
        assert folder.load().pin == PIN


def test_a_command_that_is_not_utf_8_can_t_be_saved_and_changes_nothing(tmp_path: Path) -> None:
    """A program that calls this gets an error of the family, as from every other writer."""
    folder = make_run(tmp_path)
    before = snapshot(folder)
    with hold_run(str(tmp_path), "r", wait=0) as held:
        loaded = held.load()
        with pytest.raises(ConfigurationError):
            held.save(loaded, replace(loaded.state, command=("\udcff",)), PIN)
    assert snapshot(folder) == before


def test_a_killed_save_leaves_the_old_or_the_new_state(tmp_path: Path) -> None:
    make_run(tmp_path)
    weaker = PinV1(mode=SandboxMode.PREFERRED, source=PinSource.ACCEPTED, recorded_at=AT)

    def save() -> None:
        with hold_run(str(tmp_path), "r", wait=0) as folder:
            loaded = folder.load()
            folder.save(loaded, replace(loaded.state, status=RunStatus.BLOCKED), weaker)

    number = 0
    found: list[SandboxPin | Unpinned] = []
    killed = True
    while killed:
        number += 1
        killed = killed_before_call(number, save)
        with hold_run(str(tmp_path), "r", wait=0) as folder:
            found.append(folder.load().pin)
            loaded = folder.load()
            folder.save(loaded, replace(loaded.state, status=RunStatus.READY), PIN)
    assert found == [PIN] * found.count(PIN) + [weaker] * found.count(weaker)
    assert 0 < found.count(weaker) < number
