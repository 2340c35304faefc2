"""``recover``: the operator's own act. What is damaged is kept; the run is pinned to required."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.support import AT, FLAG, REQUIRED, TRUE, Bench, read_log
from sandbox_pin.shell.processes import identify

PIN = {"schema": 1, "mode": "required", "source": "created", "recorded_at": AT}
Damage = Callable[[Path], None]


def _cut(at: float) -> Damage:
    def cut(path: Path) -> None:
        raw = path.read_bytes()
        _ = path.write_bytes(raw[: int(len(raw) * at)])

    return cut


def _write(data: bytes) -> Damage:
    def write(path: Path) -> None:
        _ = path.write_bytes(data)

    return write


def _remove(path: Path) -> None:
    path.unlink()


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    _ = (path / "inside").write_text("kept")


def _fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _link(path: Path) -> None:
    aside = path.with_name("elsewhere")
    _ = path.rename(aside)
    path.symlink_to(aside)


STATE_DAMAGE: dict[str, Damage] = {
    "cut at the start": _cut(0.02),
    "cut in the middle": _cut(0.5),
    "cut near the end": _cut(0.97),
    "blanked": _write(b""),
    "of foreign bytes": _write(b"\x89PNG\r\n\x1a\n\xff\x00"),
    "of NULs": _write(b"\0" * 400),
    "a folder": _folder,
    "a FIFO": _fifo,
    "a link": _link,
    "missing": _remove,
}
LOG_DAMAGE: dict[str, Damage] = {
    "missing": _remove,
    "empty": _write(b""),
    "cut to garbage": _cut(0.6),
    "of NULs": _write(b"\0" * 400),
    "of an unknown event": _write(b'{"event":"pin_removed"}\n'),
    "a folder": _folder,
    "a FIFO": _fifo,
    "a link": _link,
}


def _kept(bench: Bench, name: str) -> list[str]:
    return sorted(
        path.name for path in (bench.root / "r1").iterdir() if path.name.startswith(f"{name}.damaged")
    )


def _goes_on(bench: Bench) -> None:
    """Weaker is refused, and accepted with the flag; nothing of the recovery is left behind."""
    assert (bench.pin()["mode"], bench.pin()["source"]) == ("required", "strengthened")
    _ = bench.unchanged("unblock", "r1", "--mode", "preferred", status=77)
    _ = bench.succeeds("unblock", "r1", "--mode", "disabled", FLAG)
    _ = bench.succeeds("step", "r1", "--", *bench.touches())
    assert (bench.workspace / "launched").exists()


@pytest.mark.parametrize("mode", ["disabled", "required"])
@pytest.mark.parametrize("name", STATE_DAMAGE)
def test_a_damaged_state_is_kept_aside_and_started_anew(name: str, mode: str, bench: Bench) -> None:
    """What the log tells is kept: kind and workspace; and the pin is required, whatever it was."""
    path = bench.make("r1", mode) / "state.json"
    STATE_DAMAGE[name](path)
    there = path.exists() or path.is_symlink()
    content = path.read_bytes() if path.is_file() else b""
    ended = bench.succeeds("recover", "r1")
    kept = _kept(bench, "state.json")
    assert len(kept) == there
    if path.is_file() and kept and (path.parent / kept[0]).is_file():
        assert (path.parent / kept[0]).read_bytes() == content
    assert all(word in ended.out for word in (*kept, "required", FLAG))
    assert bench.state() == {
        **bench.state(),
        "protocol": 12,
        "kind": "local",
        "status": "blocked",
        "workspace": str(bench.workspace),
    }
    assert bench.events() == ["run_created", "run_recovered"]
    assert bench.log()[-1]["kept"] == kept
    assert bench.log()[-1]["before"]["mode"] == mode
    _goes_on(bench)


@pytest.mark.parametrize("name", LOG_DAMAGE)
def test_a_damaged_log_is_kept_aside_and_started_anew(name: str, bench: Bench) -> None:
    """The state keeps all that it says besides, and the run is pinned to required."""
    path = bench.make("r1", "disabled", status="blocked", command=(TRUE,)) / "run.jsonl"
    bench.damage("r1", theirs="kept")
    LOG_DAMAGE[name](path)
    there = path.exists() or path.is_symlink()
    _ = bench.succeeds("recover", "r1")
    kept = _kept(bench, "run.jsonl")
    assert len(kept) == there
    assert bench.events() == ["run_recovered"]
    assert bench.log()[-1]["kept"] == kept
    assert bench.log()[-1]["before"]["mode"] == "disabled"
    assert bench.state() == {**bench.state(), "theirs": "kept", "created_at": AT, "command": [TRUE]}
    _goes_on(bench)


@pytest.mark.parametrize("pin", [..., {}, None, "", [], {**PIN, "schema": 3}])
def test_a_damaged_pin_alone_loses_nothing_else_of_the_state(pin: object, bench: Bench) -> None:
    bench.make("r1", "disabled", command=(TRUE,))
    bench.damage("r1", sandbox_pin=pin, theirs=[1.5])
    _ = bench.succeeds("recover", "r1")
    assert bench.state() == {**bench.state(), "theirs": [1.5], "command": [TRUE], "status": "blocked"}
    assert len(_kept(bench, "state.json")) == 1
    _ = bench.succeeds("resume", "r1", FLAG)


def test_where_both_are_damaged_the_run_is_of_the_kind_that_no_mode_weakens(bench: Bench) -> None:
    """Nothing tells the workspace any more, so that no launch can follow: that is said, and is damage."""
    folder = bench.make("r1", "disabled")
    _ = (folder / "state.json").write_bytes(b"")
    _ = (folder / "run.jsonl").write_bytes(b"\0\0")
    _ = bench.succeeds("recover", "r1")
    assert (bench.state()["kind"], bench.pin()["mode"]) == ("remote", "required")
    assert len(_kept(bench, "state.json")) == len(_kept(bench, "run.jsonl")) == 1
    _ = bench.succeeds("status", "r1")
    ended = bench.unchanged("unblock", "r1", FLAG, status=65)
    assert "workspace" in ended.err
    assert "sandbox-pin run" in ended.err


def test_kinds_that_differ_are_settled_for_the_stronger(bench: Bench) -> None:
    bench.make("r1", "preferred")
    bench.damage("r1", kind="remote")
    _ = bench.succeeds("recover", "r1")
    assert bench.state()["kind"] == bench.log()[-1]["kind"] == "remote"
    _ = bench.succeeds("unblock", "r1", "--mode", "required")


def test_what_was_damaged_is_told_without_the_advice_to_recover(bench: Bench) -> None:
    """That is what this command has just done: neither "nothing was changed" nor "recover it" holds."""
    bench.make("r1", "disabled")
    bench.damage("r1", sandbox_pin=None)
    ended = bench.succeeds("recover", "r1")
    assert "sandbox_pin: found null" in ended.out
    assert "Nothing was changed" not in ended.out
    assert "sandbox-pin recover" not in ended.out


def test_a_second_recovery_keeps_what_the_first_kept(bench: Bench) -> None:
    path = bench.make("r1", "disabled") / "state.json"
    for content in (b"first", b"second"):
        _ = path.write_bytes(content)
        _ = bench.succeeds("recover", "r1")
    kept = [(path.parent / name).read_bytes() for name in _kept(bench, "state.json")]
    assert sorted(kept) == [b"first", b"second"]


@pytest.mark.parametrize("status", ["ready", "blocked"])
def test_where_nothing_is_damaged_nothing_is_recovered(status: str, bench: Bench) -> None:
    bench.make("r1", "disabled", status=status)
    assert "nothing to recover" in bench.unchanged("recover", "r1", status=64).err
    _ = bench.make_old("r2")
    assert "nothing to recover" in bench.unchanged("recover", "r2", status=64).err


def test_a_newer_protocol_is_no_damage(bench: Bench) -> None:
    bench.make("r1", "disabled")
    bench.damage("r1", protocol=13)
    assert "newer sandbox-pin" in bench.unchanged("recover", "r1", status=65).err


def test_a_run_whose_launch_lives_is_not_recovered(bench: Bench) -> None:
    launch = identify(os.getpid())
    bench.make("r1", "disabled", status="running", launch=launch)
    bench.damage("r1", sandbox_pin=None)
    assert "busy" in bench.unchanged("recover", "r1", status=75).err


def test_a_pinned_backend_outlives_the_recovery(bench: Bench) -> None:
    path = bench.make("r1", "required", kind="remote", backend="bubblewrap") / "state.json"
    _ = path.write_bytes(b"")
    _ = bench.succeeds("recover", "r1")
    assert bench.pin()["backend"] == "bubblewrap"


# Another orchestrator's files


def _foreign(bench: Bench) -> tuple[Path, Path, tuple[str, ...]]:
    folder = bench.home / "theirs"
    folder.mkdir()
    state, log = folder / "task.json", folder / "task.log"
    return state, log, ("--state", str(state), "--log", str(log), "--kind", "local")


@pytest.mark.parametrize("raw", [b'{"a": 1.50, "sandbox_pin": null, "b": NaN}', b"{", b"", b"\0" * 40])
@pytest.mark.parametrize("log", [None, b"", b"{}\n", b"\0\0\n"])
def test_another_orchestrators_files_are_started_anew(raw: bytes, log: bytes | None, bench: Bench) -> None:
    """What can be read of the state is kept byte for byte; the damaged files stay beside it."""
    state, path, words = _foreign(bench)
    _ = state.write_bytes(raw)
    state.chmod(0o640)
    if log is not None:
        _ = path.write_bytes(log)
    _ = bench.succeeds("recover", *words)
    entry = read_log(path)[-1]
    assert entry["event"] == "run_recovered"
    assert all((state.parent / name).exists() for name in entry["kept"])
    assert raw in [(state.parent / name).read_bytes() for name in entry["kept"]]
    if raw.startswith(b'{"a"'):
        assert state.read_bytes().startswith(b'{"a": 1.50, "sandbox_pin": {"schema":1')
        assert state.read_bytes().endswith(b'"b": NaN}')
    assert state.stat().st_mode & 0o777 == 0o640
    _ = bench.unchanged("check", *words, status=77)
    _ = bench.succeeds("check", *words, "--config", bench.config(REQUIRED))
    _ = bench.succeeds("check", *words, FLAG)


def test_another_orchestrators_whole_files_are_left_alone(bench: Bench) -> None:
    state, _, words = _foreign(bench)
    _ = state.write_text(json.dumps({"sandbox_pin": PIN}))
    assert "nothing to recover" in bench.unchanged("recover", *words, status=64).err
    state.unlink()
    _ = bench.unchanged("recover", *words, status=64)
