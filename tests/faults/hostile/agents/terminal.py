"""Types into the terminal that it was given as its input."""

import fcntl
import os
import struct
import termios

from faults.hostile.agents.attempts import Attempts

attempts = Attempts()


def type_into(descriptor: int) -> None:
    """As if the operator had."""
    for character in "touch typed\n":
        _ = fcntl.ioctl(descriptor, termios.TIOCSTI, character.encode())


def take() -> int:
    """Makes it one's own controlling terminal first, from a new session."""
    if os.fork() == 0:
        os.setsid()
        status = 0
        try:
            _ = fcntl.ioctl(0, termios.TIOCSCTTY, 1)
            type_into(0)
        except OSError:
            status = 1
        os._exit(status)
    return os.wait()[1]


attempts.came_of["is a terminal"] = str(os.isatty(0))
attempts.attempt("its input", lambda: type_into(0))
attempts.attempt("by its name", lambda: type_into(os.open("/dev/tty", os.O_RDWR)))
attempts.attempt("taken over", lambda: take() == 0)
attempts.attempt("its foreground", lambda: fcntl.ioctl(0, termios.TIOCSPGRP, struct.pack("i", os.getpgrp())))
attempts.tell()
