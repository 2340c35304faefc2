"""``audit``: the same as ``status``, for every run below some folders, whatever else lies there."""

import csv
import fcntl
import io
import json
import os
import subprocess
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from cli.support import AT, BIN, DISABLED, FLAG, TRUE, Bench, Ended, end_of, snapshot
from sandbox_pin.core.audit import AuditRow, Filters
from sandbox_pin.shell.audit import Audit, Share, look_at_all


def told(bench: Bench, *words: str, status: int = 0) -> dict[str, dict[str, Any]]:
    """What an audit of all runs tells, by run; it changes nothing."""
    ended = bench.unchanged("audit", str(bench.root), "--json", *words, status=status)
    found = {row["run"]: row for row in ended.objects}
    assert len(found) == len(ended.objects)
    return found


def test_an_audit_tells_of_each_run_what_status_tells(bench: Bench) -> None:
    _ = bench.run("ran", "--mode", "disabled")
    bench.make("remote", "preferred", kind="remote", backend="bubblewrap")
    bench.make("back", "required")
    bench.damage(
        "back", sandbox_pin={"schema": 1, "mode": "disabled", "source": "created", "recorded_at": AT}
    )
    bench.make("disputed", "required", kind="remote", backend="other")
    bench.damage("disputed", sandbox_pin={**bench.pin("disputed"), "backend": "bubblewrap"})
    bench.make_old("old")
    rows = told(bench)
    assert set(rows) == {"ran", "remote", "back", "disputed", "old"}
    for run, row in rows.items():
        (status,) = bench.unchanged("status", run, "--json", status=0).objects
        for field in ("run", "kind", "in_force", "state_pin", "witness", "passed_over"):
            assert row[field] == status[field], (run, field)
        launch = status["last_launch"]
        if launch is None:
            assert row["last_launch"] is None
        else:
            assert row["last_launch"] == {
                name: launch[name] for name in ("at", "asked", "enforced", "backend")
            }
    assert rows["ran"]["last_launch"]["enforced"] is False
    assert {run: row["finding"] for run, row in rows.items()} == {
        "ran": "pinned",
        "remote": "pinned",
        "back": "pinned",
        "disputed": "disputed",
        "old": "unpinned",
    }
    assert [run for run, row in rows.items() if row["differs"]] != []


def test_damage_is_told_in_the_words_of_status_and_the_rest_goes_on(bench: Bench) -> None:
    bench.make("good")
    bench.make("bad")
    bench.damage("bad", sandbox_pin=...)
    rows = told(bench, status=65)
    status = bench.unchanged("status", "bad", status=65)
    assert rows["bad"]["finding"] == "damaged"
    assert status.err == f"sandbox-pin: {rows['bad']['problem']}\n"
    assert rows["good"]["finding"] == "pinned"


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (["--at-least", "required"], {"weak", "middle", "old", "bad"}),
        (["--at-least", "preferred"], {"weak", "old", "bad"}),
        (["--at-least", "disabled"], {"old", "bad"}),
        (["--unpinned"], {"old"}),
        (["--damaged"], {"bad"}),
        (["--disagree"], {"back"}),
        (["--disagree", "--unpinned"], {"back", "old"}),
    ],
)
def test_filters_show_what_they_find_and_end_with_1(
    bench: Bench, filters: list[str], found: set[str]
) -> None:
    bench.make("weak", "disabled")
    bench.make("middle", "preferred")
    bench.make("far", "preferred", kind="remote")
    bench.make("back", "required")
    bench.damage(
        "back", sandbox_pin={"schema": 1, "mode": "disabled", "source": "created", "recorded_at": AT}
    )
    bench.make_old("old")
    bench.make("bad")
    bench.damage("bad", kind="remote")
    assert set(told(bench, *filters, status=1)) == found


def test_a_filter_that_finds_nothing_ends_with_0_where_all_could_be_read_and_else_with_65(
    bench: Bench,
) -> None:
    bench.make("good")
    assert told(bench, "--at-least", "required", "--unpinned", "--damaged", "--disagree") == {}
    bench.make("bad")
    (bench.root / "bad" / "state.json").unlink()
    assert told(bench, "--unpinned", status=65) == {}


def test_folders_that_are_not_there_and_options_that_contradict_are_wrong_usage(bench: Bench) -> None:
    bench.make()
    root = str(bench.root)
    for words in (
        [],
        [str(bench.home / "none")],
        [root, "--json", "--csv"],
        [root, "--kind", "local"],
        [root, "--log-name", "run.jsonl"],
        [root, "--glob", "/etc/*"],
        [root, "--glob", "../*"],
        [root, "--glob", "*", "--log-name", "../log"],
        [root, "--at-least", "most"],
        [root, "--jobs", "0"],
        [root, "--", "true"],
    ):
        assert bench.unchanged("audit", *words, status=64).out == ""


def test_links_fifos_and_files_too_large_are_told_and_not_followed(bench: Bench) -> None:
    """Whatever an agent plants in a run root: each is told, nothing outside is read, nothing hangs."""
    bench.make("good")
    outside = bench.make("away")
    outside = outside.rename(bench.home / "outside")
    (bench.root / "folder-link").symlink_to(outside)
    (bench.root / "file").write_text("no folder")
    gone = ("state-link", "state-fifo", "state-folder", "state-missing")
    for run in (*gone, "state-huge", "log-fifo", "log-link"):
        bench.make(run)
    state = {run: bench.root / run / "state.json" for run in (*gone, "state-huge")}
    for run in gone:
        state[run].unlink()
    state["state-link"].symlink_to(outside / "state.json")
    os.mkfifo(state["state-fifo"])
    state["state-folder"].mkdir()
    os.truncate(state["state-huge"], 1 << 40)
    for run in ("log-fifo", "log-link"):
        (bench.root / run / "run.jsonl").unlink()
    os.mkfifo(bench.root / "log-fifo" / "run.jsonl")
    (bench.root / "log-link" / "run.jsonl").symlink_to(outside / "run.jsonl")
    ended = bench.call("audit", str(bench.root), "--json")
    rows = {row["run"]: row for row in ended.objects}
    assert ended.status == 65
    assert rows.pop("good")["finding"] == "pinned"
    assert {run: row["finding"] for run, row in rows.items()} == {
        "folder-link": "damaged",
        "file": "damaged",
        "state-link": "damaged",
        "state-fifo": "damaged",
        "state-folder": "damaged",
        "state-huge": "damaged",
        "state-missing": "damaged",
        "log-fifo": "unreadable",
        "log-link": "unreadable",
    }
    assert "it is a link, and not followed" in rows["folder-link"]["problem"]
    assert all(run in row["problem"] for run, row in rows.items())


def test_a_log_that_can_t_be_read_alone_ends_with_74(bench: Bench) -> None:
    folder = bench.make("r1")
    (folder / "run.jsonl").unlink()
    (folder / "run.jsonl").mkdir()
    assert told(bench, status=74)["r1"]["finding"] == "unreadable"
    assert set(told(bench, "--at-least", "disabled", status=1)) == {"r1"}


def test_any_number_of_jobs_tells_the_same_runs(bench: Bench) -> None:
    for number in range(30):
        bench.make(f"r{number}", ["disabled", "preferred", "required"][number % 3])
    bench.damage("r7", status="gone")
    told_by = {jobs: told(bench, "--jobs", jobs, status=65) for jobs in ("1", "2", "3")}
    for rows in told_by.values():
        for row in rows.values():
            del row["age"]
    assert len(told_by["1"]) == 30
    assert told_by["1"] == told_by["2"] == told_by["3"]


def test_csv_has_no_cell_that_is_a_formula_and_no_control_character(bench: Bench) -> None:
    bench.make("r1")
    pin = {"schema": 1, "mode": "required", "source": "created", "recorded_at": "=cmd|' /C calc'!A0"}
    bench.damage("r1", sandbox_pin=pin)
    _ = (bench.root / "r1" / "run.jsonl").write_text("")
    tasks = bench.home / "tasks"
    tasks.mkdir()
    for number, text in enumerate(["=1+1", "+1", "-1", "@a", "\x1b[31m", "a\nb"]):
        (tasks / f"{number}.json").write_text(json.dumps({"sandbox_pin": {**pin, "recorded_at": text}}))
        (tasks / f"{text}.json").write_text("{}")
    ended = bench.call("audit", str(tasks), "--glob", "*", "--csv")
    assert ended.status == 0
    header, *rows = csv.reader(io.StringIO(ended.out))
    assert len(rows) == 12
    for row in rows:
        assert len(row) == len(header)
        assert not any(cell.startswith(("=", "+", "-", "@")) for cell in row)
        assert all(cell.isprintable() for cell in row)
    for form in ([], ["--json"]):
        out = bench.call("audit", str(tasks), "--glob", "*", *form).out
        assert all(line.isprintable() for line in out.splitlines())
        assert len(out.splitlines()) >= 12


# Another orchestrator's states


def test_states_of_another_orchestrator_are_told_as_check_takes_them(bench: Bench) -> None:
    tasks = bench.home / "tasks" / "deep"
    tasks.mkdir(parents=True)
    for name in ("one", "two", "three"):
        (tasks / f"{name}.json").write_text(json.dumps({"id": name}))
    files = ["--state", str(tasks / "one.json"), "--log", str(tasks / "one.log"), "--kind", "remote"]
    bench.succeeds("check", *files, "--mode", "preferred")
    (tasks / "two.json").write_text(json.dumps({"id": "two", "kind": "local", "protocol": 3}))
    words = ["--glob", "**/*.json", "--log-name", "{stem}.log", "--kind", "remote", "--json"]
    ended = bench.unchanged("audit", str(bench.home / "tasks"), *words, status=0)
    rows = {row["run"]: row for row in ended.objects}
    assert {run: (row["kind"], row["finding"]) for run, row in rows.items()} == {
        "one": ("remote", "pinned"),
        "two": ("local", "unpinned"),
        "three": ("remote", "unpinned"),
    }
    assert rows["one"]["in_force"]["mode"] == "preferred"
    assert rows["one"]["strength"] == 2
    # An orchestrator that wrote its state anew without the pin: the witness holds.
    (tasks / "one.json").write_text("{}")
    ended = bench.unchanged("audit", str(bench.home / "tasks"), *words, "--disagree", status=1)
    (row,) = ended.objects
    assert (row["in_force"]["mode"], row["state_pin"]) == ("preferred", {"type": "unpinned"})
    # Where the states say from which protocol on they have a pin, a missing one is damage.
    ended = bench.unchanged("audit", str(bench.home / "tasks"), *words, "--pinned-since", "3", status=65)
    assert {row["run"]: row["finding"] for row in ended.objects} == {
        "one": "pinned",
        "two": "damaged",
        "three": "damaged",
    }


def test_a_state_whose_kind_is_not_its_log_s_is_damaged(bench: Bench) -> None:
    folder = bench.make("r1", "preferred", kind="remote")
    state = json.loads((folder / "state.json").read_bytes())
    (folder / "state.json").write_text(json.dumps({**state, "kind": "local"}))
    words = ["--glob", "*/state.json", "--log-name", "run.jsonl", "--json"]
    (row,) = bench.unchanged("audit", str(bench.root), *words, status=65).objects
    assert "expected remote, as its log says" in row["problem"]


def test_of_a_state_that_says_no_kind_nothing_is_shown_to_hold(bench: Bench) -> None:
    tasks = bench.home / "tasks"
    tasks.mkdir()
    pin = {"schema": 1, "mode": "required", "source": "created", "recorded_at": AT}
    (tasks / "a.json").write_text(json.dumps({"sandbox_pin": pin}))
    words = ["audit", str(tasks), "--glob", "*.json", "--at-least", "required"]
    bench.unchanged(*words, status=1)
    bench.unchanged(*words, "--kind", "local", status=0)


@pytest.mark.parametrize("form", [(), ("--json",), ("--csv",)])
def test_a_pattern_that_matches_nothing_is_a_wrong_call(form: tuple[str, ...], bench: Bench) -> None:
    """A misspelt pattern must not look like an audit that found nothing wrong; one match of all is enough."""
    tasks, empty = bench.home / "tasks", bench.home / "empty"
    tasks.mkdir()
    empty.mkdir()
    (tasks / "a.json").write_text("{}")
    words = ["audit", str(tasks), str(empty), "--at-least", "required", *form, "--glob"]
    ended = bench.unchanged(*words, "*.jsn", status=64)
    assert f"'*.jsn' matches nothing below {tasks}, {empty}" in ended.err
    assert bench.unchanged(*words, "*.json", status=1).err.count("matches nothing") == 0


@pytest.mark.parametrize("form", [(), ("--json",), ("--csv",)])
def test_run_roots_without_a_run_are_told_and_no_error(form: tuple[str, ...], bench: Bench) -> None:
    """As they are before the first run."""
    bench.root.mkdir()
    ended = bench.unchanged("audit", str(bench.root), "--at-least", "required", *form, status=0)
    assert f"warning: there is no run in {bench.root}" in ended.err
    bench.make("r1", "required")
    ended = bench.unchanged("audit", str(bench.root), "--at-least", "required", *form, status=0)
    assert "warning" not in ended.err


def test_a_pattern_enters_no_link(bench: Bench) -> None:
    """A link that the pattern names is told; one that ``**`` could pass through is passed over."""
    tasks, outside = bench.home / "tasks", bench.home / "outside"
    (tasks / "a").mkdir(parents=True)
    outside.mkdir()
    for folder in (tasks / "a", outside):
        (folder / "state.json").write_text("{}")
    (tasks / "b").symlink_to(outside)
    (tasks / "c.json").symlink_to(outside / "state.json")
    named = bench.call("audit", str(tasks), "--glob", "*/state.json", "--json")
    assert [
        (row["path"], row["finding"]) for row in sorted(named.objects, key=lambda row: str(row["path"]))
    ] == [
        (f"{tasks}/a/state.json", "unpinned"),
        (f"{tasks}/b", "damaged"),
        (f"{tasks}/c.json", "damaged"),
    ]
    deep = bench.call("audit", str(tasks), "--glob", "**/*.json", "--json")
    assert {(row["path"], row["finding"]) for row in deep.objects} == {
        (f"{tasks}/a/state.json", "unpinned"),
        (f"{tasks}/c.json", "damaged"),
    }


# Output


def test_a_table_has_a_line_a_run_and_a_summary(bench: Bench) -> None:
    bench.make("r1", "preferred")
    ended = bench.unchanged("audit", str(bench.root), status=0)
    header, line, total, local = ended.out.splitlines()
    assert header.split()[:3] == ["RUN", "KIND", "PIN"]
    assert line.split()[:5] == [f"{bench.root}/r1", "local", "preferred", "where", "able"]
    assert (total, local) == ("1 run", "local: 1 preferred")
    assert ended.err == ""


def test_no_escapes_where_no_terminal_is(bench: Bench) -> None:
    bench.make("r1")
    for env in ({}, {"NO_COLOR": "1"}, {"FORCE_COLOR": "1"}):
        ended = bench.real("audit", str(bench.root), env=env)
        assert ended.status == 0
        assert "\x1b" not in ended.out + ended.err


def test_a_reader_that_goes_away_ends_it_quietly(bench: Bench) -> None:
    for number in range(600):
        (bench.root / f"r{number}").mkdir(parents=True)
    for jobs in ("1", "2"):
        command = f"{BIN}/sandbox-pin audit {bench.root} --json --jobs {jobs} | head -n 1"
        done = subprocess.run(
            ["/bin/sh", "-c", command], env=bench.environment(), capture_output=True, check=False, timeout=60
        )
        assert (done.stdout.count(b"\n"), done.stderr) == (1, b"")


# Growth, and company


def test_memory_does_not_grow_with_the_runs(bench: Bench) -> None:
    """Fifteen times as many runs, each second one damaged: hardly more memory at the peak."""
    bench.make("r0")
    raw, log = ((bench.root / "r0" / name).read_bytes() for name in ("state.json", "run.jsonl"))

    def line(row: AuditRow) -> str:
        return row.run

    def peak(first: int, count: int) -> int:
        for number in range(first, count):
            folder = bench.root / f"r{number}"
            folder.mkdir(exist_ok=True)
            _ = (folder / "state.json").write_bytes(
                b"{" if number % 2 else raw.replace(b'"r0"', f'"r{number}"'.encode())
            )
            _ = (folder / "run.jsonl").write_bytes(log.replace(b'"r0"', f'"r{number}"'.encode()))
        audit = Audit(paths=(str(bench.root),), foreign=None, filters=Filters(), now=time.time())
        tracemalloc.start()
        try:
            assert sum(batch.summary.total for batch in look_at_all(audit, line=line, share=Share())) == count
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    _ = peak(1, 200)
    few, many = peak(200, 200), peak(200, 3000)
    assert many < few * 1.5 + 200_000


def test_commands_that_run_meanwhile_are_never_told_as_damage_or_disagreement(bench: Bench) -> None:
    """Real steps in a loop, which raise the pin and lower it, beside audits that look again and again."""
    disabled = bench.config(DISABLED)
    bench.make("r1", "disabled")
    bench.make("r2", "disabled")
    steps = f"""for i in 1 2 3; do
        sandbox-pin step r1 --mode preferred -- {TRUE} || exit 1
        sandbox-pin step r1 --mode disabled {FLAG} -- {TRUE} || exit 1
        sandbox-pin step r2 --config {disabled} -- {TRUE} || exit 1
    done"""
    process = bench.start_program(Path("/bin/sh"), "-c", steps)
    audits: list[Ended] = []
    while process.poll() is None or not audits:
        audits.append(bench.call("audit", str(bench.root), "--damaged", "--disagree"))
    ended = end_of(process)
    assert ended.status == 0, ended
    assert [audit for audit in audits if audit.status != 0] == []


def test_runs_that_come_and_go_meanwhile_stop_nothing(bench: Bench) -> None:
    bench.make("stays")
    script = f"""cd {bench.root}; for i in $(seq 60); do
        cp -r stays .new; mv .new goes; rm -r goes
    done"""
    process = subprocess.Popen(["/bin/sh", "-c", script])
    audits: list[Ended] = []
    while process.poll() is None or not audits:
        audits.append(bench.call("audit", str(bench.root), "--json"))
    assert process.wait() == 0
    for audit in audits:
        rows = {row["run"]: row for row in audit.objects}
        assert rows.pop("stays")["finding"] == "pinned"
        # The copy has another's id in its state, and is taken apart while it is looked at.
        assert set(rows) <= {"goes"}


def test_an_audit_changes_nothing_and_takes_no_lock(bench: Bench) -> None:
    folder = bench.make("r1")
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        before = snapshot(bench.home)
        assert bench.call("audit", str(bench.root)).status == 0
        assert snapshot(bench.home) == before
    finally:
        os.close(held)
