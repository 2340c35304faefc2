"""Goes for its launcher, whose number it reads in the file ``controller``: ``processes HALF HALF``."""

import os
import signal
import sys
import time
from pathlib import Path

from faults.hostile.agents import kernel
from faults.hostile.agents.attempts import Attempts

secret = "".join(sys.argv[1:]).encode()  # whole in no command line
attempts = Attempts()
attempt = attempts.attempt
told = Path("controller")
while not told.exists():
    time.sleep(0.005)
pid = int(told.read_text())


def has_the_secret(process: Path) -> bool:
    """Whether it can be read off a process of whatever number."""
    found = b""
    for name in ("environ", "cmdline"):
        try:
            found += (process / name).read_bytes()
        except OSError:
            continue
    return secret in found


mine = str(os.getpid())
readable = [path for path in Path("/proc").iterdir() if path.name.isdigit() and path.name != mine]
attempt("the secret in any environment", lambda: any(map(has_the_secret, readable)))
attempt("the secret in its own", lambda: secret in Path("/proc/self/environ").read_bytes())
attempt("environment", lambda: Path(f"/proc/{pid}/environ").read_bytes())
attempt("memory", lambda: os.close(os.open(f"/proc/{pid}/mem", os.O_RDWR)))
attempt("descriptors", lambda: list(Path(f"/proc/{pid}/fd").iterdir()))
attempt("root", lambda: Path(f"/proc/{pid}/root").stat())
attempt("limits", lambda: os.sched_setaffinity(pid, {0}))
attempt("priority", lambda: os.setpriority(os.PRIO_PROCESS, pid, 19))
attempt("pidfd", lambda: os.pidfd_open(pid))
attempt("ptrace", lambda: kernel.ptrace(kernel.PTRACE_ATTACH, pid))
attempt("hangup", lambda: os.kill(pid, signal.SIGHUP))
attempt("kill", lambda: os.kill(pid, signal.SIGKILL))
attempts.tell()
