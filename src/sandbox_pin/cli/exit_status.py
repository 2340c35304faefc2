"""The exit statuses: the launched command's own, else by sysexits(3head)."""

from enum import IntEnum

from sandbox_pin.errors import (
    BusyError,
    ConfigurationError,
    InsideLaunchError,
    SandboxPinError,
    StateError,
    StorageError,
)


class ExitStatus(IntEnum):
    """What a command ends with when it is not the launched command's own status."""

    OK = 0
    FOUND = 1
    """``audit``: a filter found something; ``doctor``: something needs attention."""
    USAGE = 64
    """The call is wrong, or the run is in another status."""
    DAMAGED = 65
    """State or log is damaged."""
    UNENFORCEABLE = 69
    """The host can't enforce what the mode demands, or the sandbox failed before the command ran."""
    BUG = 70
    """A bug in sandbox-pin."""
    STORAGE = 74
    """Something could not be read or written."""
    BUSY = 75
    """Another command, or a launch that outlived its command, holds the run."""
    REFUSED = 77
    """The request is weaker than the pin; or the flag, or recover, was used from inside a launch."""
    CONFIGURATION = 78
    """The configuration, or the placement of what decides."""
    NOT_RUNNABLE = 126
    """The command's program was found, but could not be run."""
    NOT_FOUND = 127
    """The command's program was not found."""
    INTERRUPTED = 130
    """Ctrl-C came while nothing was launched."""


def status_of(error: SandboxPinError) -> ExitStatus:
    """The exit status of an error, by its type."""
    match error:
        case InsideLaunchError():
            return ExitStatus.REFUSED
        case StateError():
            return ExitStatus.DAMAGED
        case StorageError():
            return ExitStatus.STORAGE
        case BusyError():
            return ExitStatus.BUSY
        case ConfigurationError():
            return ExitStatus.CONFIGURATION
        case _:
            return ExitStatus.USAGE
