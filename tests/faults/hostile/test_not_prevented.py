"""What no sandbox here prevents, as the documents say: each test pins what does happen."""

import json
import os
import shutil
import socket
from pathlib import Path

from faults.hostile.support import (
    FLAG,
    Desk,
    done,
    is_setuid,
    look,
    scratch,
)


def test_sockets_in_folders_that_it_sees_and_abstract_ones_can_be_reached(desk: Desk) -> None:
    """The network is the host's, and a socket is no file to be read-only."""
    with socket.socket(socket.AF_UNIX) as named, socket.socket(socket.AF_UNIX) as abstract:
        path, name = desk.other / "s", f"hostile-{os.getpid()}"
        named.bind(str(path))
        path.chmod(0o777)
        abstract.bind(f"\0{name}")
        for listener in (named, abstract):
            listener.listen()
        ended = desk.step(desk.agent("sockets", path, f"@{name}"))
        assert ended.status == 0, ended
    assert done(desk.report()) == [str(path), f"@{name}"]


def test_it_reads_what_its_user_reads(desk: Desk) -> None:
    """Configuration and installation included: keep secrets out of its sight."""
    assert desk.step(["sh", "-c", f"cat {desk.other / 'precious'} > told"]).status == 0
    assert (desk.work / "told").read_text() == "precious\n"


def test_it_may_leave_setuid_programs_of_its_own_user_in_its_workspace(desk: Desk) -> None:
    """Of root, where root runs it: for others on the host to run, who can reach the workspace."""
    with scratch(desk.tool.who) as folder:
        program = shutil.copy("/usr/bin/id", folder / "id")
        assert desk.step(desk.agent("rights", program)).status == 0
    left = desk.work / "id"
    assert is_setuid(left)
    assert left.stat().st_uid == desk.tool.who.uid


def test_links_that_an_agent_leaves_lead_an_operator_who_follows_them(desk: Desk) -> None:
    """A folder that another run is given by a name in the agent's workspace is the one it chose."""
    other = desk.home / "projects" / "b"
    other.mkdir()
    os.chown(other, desk.tool.who.uid, -1)
    assert desk.step(desk.agent("swap", desk.other, "x")).status == 0
    words: list[str | Path] = [
        "run",
        "--id",
        "b",
        "--config",
        desk.config,
        "--workspace",
        other,
        "--writable",
        desk.work / "x",
    ]
    ended = desk.call(*words, "--", "touch", desk.other / "new")
    assert (ended.status, (desk.other / "new").exists()) == (0, True), ended


def test_under_disabled_an_agent_accepts_for_itself_and_the_log_tells_it(desk: Desk) -> None:
    """The marker stops a mistake. What it did by the tool stands in the other run's log."""
    assert desk.run("d", mode="disabled").status == 0
    words = [str(desk.tool.command), "step", "--runs", str(desk.root), "a", f"{FLAG}=disabled", "--", "true"]
    ended = desk.call("step", "d", "--", *desk.agent("again", json.dumps([words])))
    assert ended.status == 0, ended
    (marked, unmarked) = json.loads((desk.work / "report.json").read_bytes())
    assert (marked[2], unmarked[2]) == (77, 0)
    (accepted,) = (entry for entry in desk.log() if entry["event"] == "pin_accepted")
    assert (accepted["before"]["mode"], accepted["pin"]["mode"]) == ("required", "disabled")


def test_under_disabled_an_agent_that_undoes_state_and_log_at_once_is_not_seen(desk: Desk) -> None:
    """Two witnesses that one hand rewrites tell nothing; one of them alone is told."""
    assert desk.run("d", mode="disabled").status == 0
    folder = desk.root / "a"
    state, log = folder / "state.json", folder / "run.jsonl"
    script = f'sed -i \'s/"mode": *"required"/"mode":"disabled"/g\' {state}'
    assert desk.call("step", "d", "--", "sh", "-c", script).status == 0
    assert desk.state()["sandbox_pin"]["mode"] == "disabled"
    before = look(folder)
    alone = desk.call("step", "a", "--mode", "disabled", "--", "true")
    assert alone.status == 77, alone
    assert look(folder) == before
    assert desk.call("step", "d", "--", "sh", "-c", script.replace(str(state), str(log))).status == 0
    both = desk.call("step", "a", "--mode", "disabled", "--", "true")
    assert both.status == 0, both
    assert Path(log).exists()
