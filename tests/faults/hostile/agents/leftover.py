"""Leaves a process behind that goes on writing ``beat``: ``leftover daemon|daemon-and-wait|tracer...``."""

import ctypes
import os
import signal
import struct
import sys
import time
from pathlib import Path

from faults.hostile.agents import kernel

_NAMES = (
    "r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax "
    "rip cs eflags rsp ss fs_base gs_base ds es fs gs"
)
_PRCTL, _PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _WALL = 157, 1, 4, 0x40000000
_NONE = (1 << 64) - 1


class Registers(ctypes.Structure):
    """Those of x86_64."""

    _fields_ = [(name, ctypes.c_uint64) for name in _NAMES.split()]


def set_for_the_first(option: int, value: int) -> None:
    """Calls prctl(2) as the sandbox's first process, which waits, and lets it wait on."""
    before = Registers()
    _ = kernel.ptrace(kernel.PTRACE_GETREGS, 1, ctypes.byref(before))
    number = before.rax if before.orig_rax == _NONE else before.orig_rax
    call = Registers.from_buffer_copy(before)
    # It stands behind the instruction of its wait, or before it by now: that is run as another call.
    rip = before.rip if before.orig_rax == _NONE else before.rip - 2
    call.rax, call.rdi, call.rsi, call.rip, call.orig_rax = _PRCTL, option, value, rip, _NONE
    _ = kernel.ptrace(kernel.PTRACE_SETREGS, 1, ctypes.byref(call))
    _ = kernel.ptrace(kernel.PTRACE_SINGLESTEP, 1)
    _ = os.waitpid(1, _WALL)
    before.rax, before.rip, before.orig_rax = number, rip, _NONE
    _ = kernel.ptrace(kernel.PTRACE_SETREGS, 1, ctypes.byref(before))


def outlive_the_controller() -> int:
    """Makes the first process forget to die with its parent, and hides it; what it tells an end by."""
    _ = kernel.ptrace(kernel.PTRACE_ATTACH, 1)
    _ = os.waitpid(1, _WALL)
    set_for_the_first(_PR_SET_PDEATHSIG, 0)
    (descriptor,) = (
        int(path.name) for path in Path("/proc/1/fd").iterdir() if "eventfd" in str(path.readlink())
    )
    taken = kernel.syscall(kernel.PIDFD_GETFD, os.pidfd_open(1), descriptor, 0)
    set_for_the_first(_PR_SET_DUMPABLE, 0)
    _ = kernel.ptrace(kernel.PTRACE_DETACH, 1)
    return taken


def beat() -> None:
    """Goes on for as long as it is let, but no longer than a test."""
    for number in range(1000):
        _ = Path("beat").write_text(str(number))
        time.sleep(0.02)


if os.fork() != 0:
    while not Path("beat").exists():
        time.sleep(0.005)
    if sys.argv[1] == "daemon":
        sys.exit(0)
    time.sleep(20)
os.setsid()
for ignored in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
    _ = signal.signal(ignored, signal.SIG_IGN)
if os.fork() != 0:
    os._exit(0)
if sys.argv[1].startswith("tracer"):
    _ = Path("leftover").write_text("began")
    try:
        event = outlive_the_controller()
        if sys.argv[1] == "tracer":
            _ = os.write(event, struct.pack("Q", 1))  # the command has ended, and well
    except OSError as error:
        _ = Path("leftover").write_text(str(error))
    else:
        _ = Path("leftover").write_text("did")
beat()
