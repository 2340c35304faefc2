"""What a command takes from around it: the time, and the name of the user who runs it (design: "The log")."""

import os
import pwd
import time


def now() -> str:
    """The time in UTC, to the second: ``2026-01-01T00:00:00Z``."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def operator_name() -> str:
    """The login name of the user whose process this is, from the system, never from the environment.

    Who has no entry in the password database is told by number.
    """
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def search_path() -> str:
    """The folders in which a command is looked up: ``PATH``, else the system's own default."""
    return os.environ.get("PATH", os.defpath)
