"""The profile's promises, by launching: what a command inside really can't do, root's launches included."""

import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from sandbox_pin.core.placement import ItemRole, Reason, judge_placement
from sandbox_pin.shell.bubblewrap import Profile, Report, open_memory, read_report, sandbox_arguments
from sandbox_pin.shell.placement import gather_item, gather_tree
from shell.support import sandboxed, snapshot

# The scripts are run by the system's own shell: what lies in /tmp is not to be seen inside.


@pytest.fixture(params=["below /tmp", "elsewhere"])
def top(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A folder to work in: one that the private /tmp would cover, and one that it would not."""
    if request.param == "below /tmp":
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            yield Path(folder)
        return
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        yield Path(folder)


@pytest.fixture
def work(top: Path) -> Path:
    """A workspace."""
    (top / "work").mkdir()
    return top / "work"


def told(workspace: Path, script: str, *, new_session: bool = True) -> list[str]:
    """The lines that a script writes, inside; it must end well."""
    end = sandboxed(workspace, f"exec > out 2> errors; {script}", new_session=new_session)
    assert (end.ran, end.exit_code) == (True, 0), (end, (workspace / "errors").read_text())
    return (workspace / "out").read_text().splitlines()


def test_the_workspace_is_writable_and_is_where_the_command_starts(work: Path) -> None:
    assert told(work, "pwd; mkdir new; echo x > new/file") == [str(work)]
    assert (work / "new/file").read_text() == "x\n"


@pytest.mark.parametrize(
    "name", ["with space", "line\nbreak", "--ro-bind", "ü\u202e", "'\"$(touch x)`", "\udcff"]
)
def test_any_name_of_a_workspace_will_do(work: Path, name: str) -> None:
    folder = work / name
    folder.mkdir()
    end = sandboxed(folder, "echo x > file")
    assert (end.ran, end.exit_code) == (True, 0)
    assert [path.name for path in work.iterdir()] == [name]
    assert (folder / "file").read_text() == "x\n"


def test_nothing_outside_can_be_written_through_names_links_or_hard_links(work: Path) -> None:
    outside = work.parent / "outside"
    outside.mkdir()
    (outside / "file").write_text("precious")
    (work / "link").symlink_to(outside)
    before = snapshot(outside)
    script = f"""
        try() {{ "$@" && echo "could $*"; }}
        try touch {outside}/new
        try sh -c 'echo x > {outside}/file'
        try sh -c 'echo x > link/file'
        try rm {outside}/file
        try mv {outside} {work}/moved
        try chmod 777 {outside}/file
        try ln {outside}/file {work}/hard
        try touch /etc/new /usr/new /var/new /root/new /new
        true
    """
    assert told(work, script) == []
    assert snapshot(outside) == before


def test_root_can_t_make_the_file_system_writable_again(work: Path) -> None:
    """Without dropping its capabilities, a root's launch could."""
    script = """
        mount -o remount,bind,rw / && echo remounted
        mount -o remount,rw / && echo remounted
        mount -t tmpfs none /etc && echo mounted
        mount --bind . /etc && echo mounted
        umount /run && echo unmounted
        umount /proc/sys && echo unmounted
        touch /etc/new && echo written
        true
    """
    assert told(work, script) == []
    assert not Path("/etc/new").exists()


def test_root_can_t_change_the_kernel_s_settings(work: Path) -> None:
    """They belong to root, and /proc is not read-only by itself. What is written is what stands there."""
    names = ["kernel/core_pattern", "vm/swappiness", "kernel/hostname", "net/ipv4/ip_forward"]
    script = "\n".join(
        f"value=$(cat /proc/sys/{name}); (echo $value > /proc/sys/{name}) && echo wrote {name}"
        for name in names
    )
    assert told(work, script + "\ntrue") == []
    assert told(work, "test -w /proc/sysrq-trigger && (: >> /proc/sysrq-trigger) && echo opened; true") == []


def test_no_capability_is_left_and_none_can_be_had(work: Path) -> None:
    sets = told(work, "grep -E '^Cap(Inh|Prm|Eff|Bnd|Amb)' /proc/self/status")
    assert {line.split()[1] for line in sets} == {"0" * 16}
    assert told(work, "grep NoNewPrivs /proc/self/status") == ["NoNewPrivs:\t1"]


def test_no_further_user_namespace_can_be_made(work: Path) -> None:
    assert told(work, "unshare -U true && echo made; unshare -Ur true && echo made; true") == []


def test_processes_of_the_host_are_not_seen(work: Path) -> None:
    seen = told(work, "for p in /proc/[0-9]*; do echo ${p#/proc/}; done")
    assert 1 <= len(seen) <= 3
    assert max(map(int, seen)) < 10
    assert told(work, f"kill -0 {os.getpid()} && echo reached; true") == []


@pytest.mark.parametrize("space", ["user", "pid", "ipc", "uts", "mnt"])
def test_namespaces_of_its_own(work: Path, space: str) -> None:
    (inside,) = told(work, f"readlink /proc/self/ns/{space}")
    assert inside != str(Path(f"/proc/self/ns/{space}").readlink())


def test_the_network_is_the_host_s(work: Path) -> None:
    """An agent must reach its model; the documents say so."""
    assert told(work, "readlink /proc/self/ns/net") == [str(Path("/proc/self/ns/net").readlink())]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(10)
        port = listener.getsockname()[1]
        if not Path("/bin/bash").exists():
            pytest.skip("needs bash to open a connection")
        assert told(work, f"bash -c 'echo hello > /dev/tcp/127.0.0.1/{port}'") == []
        connection = listener.accept()[0]
        with connection:
            assert connection.recv(64) == b"hello\n"


def test_tmp_is_private_and_writable(work: Path) -> None:
    with tempfile.NamedTemporaryFile(dir="/tmp") as file:
        script = f"test -e {file.name} && echo seen; touch /tmp/new && echo made"
        assert told(work, script) == ["made"]
    assert not Path("/tmp/new").exists()  # noqa: S108 - the same


def test_run_is_empty_and_read_only(work: Path) -> None:
    """The host's sockets are there: those of a container engine would let an agent out."""
    shown = told(work, "ls -A /run; touch /run/new && echo made; mkdir /run/x && echo made; true")
    assert [line for line in shown if line not in {"systemd", "resolvconf", "NetworkManager"}] == []
    assert told(work, "cd /var/run && pwd -P; true") in (["/run"], ["/var/run"])


def test_the_hidden_folder_is_empty_and_read_only(top: Path, work: Path) -> None:
    """States hold the commands of other runs, and commands hold secrets."""
    root = top / "runs"
    (root / "r").mkdir(parents=True)
    (root / "r/state.json").write_text("secret")
    before = snapshot(root)
    end = sandboxed(
        work,
        f"exec > out; ls -A {root}; cat {root}/r/state.json; touch {root}/new && echo made; "
        f"rmdir {root} && echo removed; mv {root} {root}2 && echo moved; true",
        hidden=(root,),
    )
    assert (end.ran, end.exit_code, (work / "out").read_text()) == (True, 0, "")
    assert snapshot(root) == before


def test_a_workspace_below_the_hidden_folder_is_seen_alone(top: Path) -> None:
    root = top / "runs"
    work = root / "r/work"
    work.mkdir(parents=True)
    (root / "r/state.json").write_text("secret")
    (root / "other").mkdir()
    end = sandboxed(
        work,
        f"exec > out; cd {root} && find . | sort; touch {root}/new {root}/r/new; true",
        hidden=(root,),
    )
    assert (end.ran, end.exit_code) == (True, 0)
    assert (work / "out").read_text().split() == [".", "./r", "./r/work", "./r/work/out"]
    assert sorted(path.name for path in root.rglob("*")) == ["other", "out", "r", "state.json", "work"]


def test_a_hidden_folder_below_run_or_tmp_is_hidden_with_them(work: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder, "state.json").touch()
        end = sandboxed(work, f"test ! -e {folder}/state.json", hidden=(Path(folder), Path("/run/x")))
        assert (end.ran, end.exit_code) == (True, 0)


def test_writable_folders_are_writable_nested_ones_and_what_lies_between_too(top: Path, work: Path) -> None:
    for name in ("a/inner/deep", "a-b", "work/inner"):
        (top / name).mkdir(parents=True)
    writable = (top / "a/inner/deep", top / "a-b", top / "a", work / "inner")
    end = sandboxed(
        work,
        f"touch {top}/a/1 {top}/a/inner/2 {top}/a/inner/deep/3 {top}/a-b/4 inner/5; touch {top}/6; true",
        writable=writable,
    )
    assert (end.ran, end.exit_code) == (True, 0)
    made = sorted(path.name for path in top.rglob("*") if path.is_file())
    assert made == ["1", "2", "3", "4", "5"]


def test_a_writable_folder_below_a_read_only_one_opens_that_alone(top: Path, work: Path) -> None:
    (top / "closed/open").mkdir(parents=True)
    end = sandboxed(
        work, f"touch {top}/closed/open/x; touch {top}/closed/y; true", writable=(top / "closed/open",)
    )
    assert (end.ran, end.exit_code) == (True, 0)
    assert [path.name for path in (top / "closed").rglob("*") if path.is_file()] == ["x"]


def test_a_session_of_its_own_unless_it_is_told_to_share(work: Path) -> None:
    """A session from outside has no number inside."""
    script = "cut -d' ' -f6 /proc/self/stat"
    assert told(work, script) != ["0"]
    assert told(work, script, new_session=False) == ["0"]


def test_a_state_in_the_workspace_is_for_the_placement_to_refuse(work: Path) -> None:
    """The profile binds the workspace whole: a file bound read-only in it is undone by the next rename."""
    state = work / "runs/r/state.json"
    state.parent.mkdir(parents=True)
    state.touch()
    (violation,) = judge_placement([gather_item(ItemRole.STATE, str(state))], [gather_tree(str(work))])
    assert violation.reason is Reason.IN_TREE


# The arguments


def test_a_user_namespace_is_demanded_and_never_only_tried() -> None:
    arguments = sandbox_arguments("/usr/bin/bwrap", Profile(workspace="/work"))
    assert "--unshare-user" in arguments
    assert not {"--unshare-all", "--unshare-user-try", "--share-net", "--unshare-net"} & set(arguments)
    assert arguments[arguments.index("--cap-drop") + 1] == "ALL"
    assert arguments[0] == "/usr/bin/bwrap"
    assert arguments[-3:] == ["--chdir", "/work", "--"]


def test_what_is_mounted_later_does_not_cover_the_workspace() -> None:
    profile = Profile(workspace="/tmp/w", writable=("/runs/r/x",), hidden=("/runs",))  # noqa: S108 - a name
    arguments = sandbox_arguments("bwrap", profile, status=9)
    words = ("/", "/dev", "/proc", "/proc/sys", "/tmp", "/runs", "/runs/r/x", "/tmp/w")  # noqa: S108 - the same
    places = [arguments.index(word) for word in words]
    assert places == sorted(places)
    assert arguments[arguments.index("--json-status-fd") + 1] == "9"
    last_bind = max(place for place, word in enumerate(arguments) if word == "--bind")
    assert all(place > last_bind for place, word in enumerate(arguments) if word == "--remount-ro")


# The report

REPORTS: Final = [
    (b"", Report()),
    (b'{ "child-pid": 7 }\n', Report(child_pid=7)),
    (b'{ "child-pid": 7, "mnt-namespace": 1 }\n{ "exit-code": 0 }\n', Report(child_pid=7, exit_code=0)),
    (b'{ "child-pid": 7 }\n{ "exit-code": 4', Report(child_pid=7)),
    (b'garbage\n[]\n"x"\n{"exit-code": 1}', Report(exit_code=1)),
    (b'{"exit-code": "0"}\n{"exit-code": 0.5}\n{"exit-code": true}\n', Report()),
]


@pytest.mark.parametrize(("said", "report"), REPORTS)
def test_only_whole_lines_of_the_report_count(said: bytes, report: Report) -> None:
    with open_memory("status") as status:
        os.write(status.fileno(), said)
        assert read_report(status) == report
        assert not os.get_inheritable(status.fileno())
    with suppress(ValueError):
        status.fileno()
        pytest.fail("left open")
