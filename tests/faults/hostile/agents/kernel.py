"""System calls that Python has no name for (the numbers are those of all architectures)."""

import ctypes
import os
from typing import Any, Final

_LIBC: Final = ctypes.CDLL(None, use_errno=True)

PTRACE_ATTACH: Final = 16
PTRACE_DETACH: Final = 17
PTRACE_GETREGS: Final = 12
PTRACE_SETREGS: Final = 13
PTRACE_SINGLESTEP: Final = 9
OPEN_TREE: Final = 428
FSOPEN: Final = 430
PIDFD_GETFD: Final = 438
MOUNT_SETATTR: Final = 442
CLONE_NEWUSER: Final = 0x10000000
CLONE_NEWNS: Final = 0x00020000
MS_RDONLY: Final = 1
MS_REMOUNT: Final = 32
MS_BIND: Final = 4096

_LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_LIBC.ptrace.restype = ctypes.c_long


def _checked(answer: int) -> int:
    if answer < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return answer


def mount(source: str, target: str, kind: str | None, flags: int) -> int:
    """The system call of that name."""
    return _checked(
        _LIBC.mount(source.encode(), target.encode(), kind and kind.encode(), ctypes.c_ulong(flags), None)
    )


def umount(target: str) -> int:
    """umount2(2), lazily."""
    return _checked(_LIBC.umount2(target.encode(), 2))


def unshare(flags: int) -> int:
    """The system call of that name."""
    return _checked(_LIBC.unshare(flags))


def setns(descriptor: int) -> int:
    """The system call of that name."""
    return _checked(_LIBC.setns(descriptor, 0))


def ptrace(request: int, pid: int, data: Any = None) -> int:  # noqa: ANN401 - a pointer to anything
    """The system call of that name."""
    return _checked(_LIBC.ptrace(request, pid, None, data))


def syscall(number: int, *arguments: Any) -> int:  # noqa: ANN401 - whatever the call takes
    """The system call of that name."""
    return _checked(_LIBC.syscall(number, *arguments))
