"""Plays a host that refuses some system calls: ``seccomp.py REFUSAL COMMAND...``, for that command alone.

A filter of seccomp(2) written by hand, so that it needs no library and no rights. It stays on for good.
"""

import ctypes
import errno
import os
import struct
import sys
from typing import Final

# struct sock_filter: code, jt, jf, k
_LOAD: Final = 0x20
_EQUAL: Final = 0x15
_ANY_BIT: Final = 0x45
_RETURN: Final = 0x06
_ALLOW: Final = 0x7FFF0000
_ERRNO: Final = 0x00050000
_NUMBER: Final = 0
_FIRST_ARGUMENT: Final = 16
_PR_SET_NO_NEW_PRIVS: Final = 38
_PR_SET_SECCOMP: Final = 22
_CLONE_NEWUSER: Final = 0x10000000
_AF_NETLINK: Final = 16

_NUMBERS: Final = {
    "x86_64": {"clone": 56, "unshare": 272, "mount": 165, "socket": 41, "pivot_root": 155},
    "aarch64": {"clone": 220, "unshare": 97, "mount": 40, "socket": 198, "pivot_root": 41},
}
_CLONE3: Final = 435

Rule = list[tuple[int, int, int, int]]


def refuse(number: int, error: int) -> Rule:
    """The call fails, whatever it is asked."""
    return [(_LOAD, 0, 0, _NUMBER), (_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERRNO | error)]


def refuse_with(number: int, error: int, test: int, value: int) -> Rule:
    """The call fails where its first argument is this, or has a bit of it."""
    return [
        (_LOAD, 0, 0, _NUMBER),
        (_EQUAL, 0, 3, number),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (test, 0, 1, value),
        (_RETURN, 0, 0, _ERRNO | error),
    ]


def rules(refusal: str) -> Rule:
    """The filter of one kind of host."""
    numbers = _NUMBERS[os.uname().machine]
    match refusal:
        case "namespaces":
            return [
                *refuse_with(numbers["clone"], errno.EPERM, _ANY_BIT, _CLONE_NEWUSER),
                *refuse_with(numbers["unshare"], errno.EPERM, _ANY_BIT, _CLONE_NEWUSER),
                *refuse(_CLONE3, errno.ENOSYS),
            ]
        case "netlink":
            return refuse_with(numbers["socket"], errno.EPERM, _EQUAL, _AF_NETLINK)
        case _:
            return refuse(numbers[refusal], errno.EPERM)


def main() -> None:
    """Puts the filter on, and becomes the command."""
    program = [*rules(sys.argv[1]), (_RETURN, 0, 0, _ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]

    libc = ctypes.CDLL(None, use_errno=True)
    filtered = Program(len(program), ctypes.addressof(code))
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
        _PR_SET_SECCOMP, 2, ctypes.byref(filtered), 0, 0
    ):
        sys.exit(f"no filter: {os.strerror(ctypes.get_errno())}")
    os.execvp(sys.argv[2], sys.argv[2:])  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    main()
