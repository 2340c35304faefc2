"""Tries to get at the file system by mounts, namespaces and devices: ``mounts FOLDER FILE``."""

import ctypes
import os
import stat
import sys
from pathlib import Path

from faults.hostile.agents import kernel
from faults.hostile.agents.attempts import Attempts

folder, file = sys.argv[1:]
attempts = Attempts()
attempt = attempts.attempt
REMOUNT = kernel.MS_REMOUNT | kernel.MS_BIND


def in_child(flags: int) -> bool:
    """Whether a child gets into namespaces of its own, where it would have all capabilities again."""
    pid = os.fork()
    if pid == 0:
        try:
            _ = kernel.unshare(flags)
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0


def set_attributes() -> int:
    """mount_setattr(2): clear read-only, recursively."""
    attributes = (ctypes.c_uint64 * 4)(0, kernel.MS_RDONLY, 0, 0)
    return kernel.syscall(kernel.MOUNT_SETATTR, -100, b"/", 0x8000, ctypes.byref(attributes), 32)


def join(kind: str) -> int:
    """setns(2) into the namespace that the first process is in, whoever that is."""
    descriptor = os.open(f"/proc/1/ns/{kind}", os.O_RDONLY)
    return kernel.setns(descriptor)


def node(kind: int, major: int, minor: int) -> None:
    """A device of one's own, opened."""
    name = f"node-{major}-{minor}"
    os.mknod(name, kind | 0o666, os.makedev(major, minor))
    os.close(os.open(name, os.O_RDONLY))


def chroot_out() -> None:
    """The old way out of a changed root."""
    Path("inner").mkdir(exist_ok=True)
    os.chroot("inner")


disk = Path(folder).stat().st_dev
for path in ("/", folder, str(Path(folder).parent)):
    attempt(f"remount {path} for all", lambda path=path: kernel.mount("none", path, None, kernel.MS_REMOUNT))  # type: ignore[misc]
    attempt(f"remount {path}", lambda path=path: kernel.mount("none", path, None, REMOUNT))  # type: ignore[misc]
attempt("mount over", lambda: kernel.mount("none", folder, "tmpfs", 0))
attempt("bind over", lambda: kernel.mount(".", folder, None, kernel.MS_BIND))
attempt("bind a writable copy", lambda: kernel.mount(folder, ".", None, kernel.MS_BIND))
attempt("mount proc", lambda: kernel.mount("proc", ".", "proc", 0))
for path in ("/run", "/proc/sys", "/tmp"):  # noqa: S108 - the sandbox's own
    attempt(f"umount {path}", lambda path=path: kernel.umount(path))  # type: ignore[misc]
attempt("fsopen", lambda: kernel.syscall(kernel.FSOPEN, b"tmpfs", 0))
attempt("open_tree", lambda: kernel.syscall(kernel.OPEN_TREE, -100, b"/", 1))
attempt("mount_setattr", set_attributes)
attempt("user namespace", lambda: in_child(kernel.CLONE_NEWUSER))
attempt("user and mount namespace", lambda: in_child(kernel.CLONE_NEWUSER | kernel.CLONE_NEWNS))
attempt("mount namespace", lambda: in_child(kernel.CLONE_NEWNS))
attempt("join mnt", lambda: join("mnt"))
attempt("join user", lambda: join("user"))
attempt("chroot", chroot_out)
attempt("mem", lambda: node(stat.S_IFCHR, 1, 1))
attempt("kmsg", lambda: node(stat.S_IFCHR, 1, 11))
attempt("disk", lambda: node(stat.S_IFBLK, os.major(disk), os.minor(disk)))
for path in ("/dev/mem", "/dev/kmsg", "/dev/port", "/proc/kcore", "/proc/sysrq-trigger"):
    attempt(f"open {path}", lambda path=path: os.close(os.open(path, os.O_WRONLY)))  # type: ignore[misc]
attempt("write", lambda: os.close(os.open(file, os.O_WRONLY)))
attempts.tell()
