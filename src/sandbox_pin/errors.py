"""The errors that leave this library: one small family, where the type says whose fault it is.

Outcomes that are ordinary (a refused request, a host that can't enforce) are values, not errors: see
``core/decision.py`` and ``core/gate.py``. An exception of another type that leaves this library is a bug.

| error | whose fault | exit status |
|---|---|---|
| ``UsageError`` | the caller's: a bad run id, no such run, a run in another status | 64 |
| ``InsideLaunchError`` | the caller's: only the operator may do that | 77 |
| ``StateError`` | the file's: a pin, a state or a log line that is damaged | 65 |
| ``StorageError`` | the system's: a read or write failed | 74 |
| ``BusyError`` | nobody's: another command holds the run | 75 |
| ``ConfigurationError`` | the operator's: a configuration that doesn't say one clear thing | 78 |
| ``PlacementError`` | the operator's: what decides about the sandbox lies where a launch can write | 78 |
"""

from typing import Self

from sandbox_pin.text import shown


class SandboxPinError(Exception):
    """Base of the family: a problem, and as data whatever a person needs to mend it.

    Attributes:
        problem: what was found, in a few words.
        file: the file that it was found in, where the raiser knew it.
        field: the path of the field in that file, such as ``sandbox_pin.mode``.
        expected: what would have been right.
        remedy: what to do about it.
    """

    def __init__(
        self,
        problem: str,
        *,
        file: str | None = None,
        field: str | None = None,
        expected: str | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.file = file
        self.field = field
        self.expected = expected
        self.remedy = remedy

    def __str__(self) -> str:
        where = [part for part in (self.file, self.field) if part]
        text = ": ".join([*where, self.problem])
        if self.expected:
            text += f"; expected {self.expected}"
        if self.remedy:
            text += f". {self.remedy}"
        # What was found may come from an agent's hand: no control character of it reaches a terminal.
        return shown(text)

    def located(
        self, *, file: str | None = None, under: str | None = None, remedy: str | None = None
    ) -> Self:
        """The same error, told where: decoders see bytes, their caller knows whose.

        Args:
            file: the file that the bytes came from.
            under: the field that they are the value of; it goes before the error's own field.
            remedy: what to do, where the error has none yet.
        """
        return type(self)(
            self.problem,
            file=file or self.file,
            field=".".join(part for part in (under, self.field) if part) or None,
            expected=self.expected,
            remedy=self.remedy or remedy,
        )


class UsageError(SandboxPinError):
    """The call is wrong: a bad run id, no such run, a run already there, a run in another status."""


class InsideLaunchError(UsageError):
    """From inside a launch, something was asked that only the operator may do."""


class StateError(SandboxPinError):
    """A pin, a state or a whole log line is damaged, or of a version that this one does not know."""


class ConfigurationError(SandboxPinError):
    """The configuration, or a value handed in by a program, does not say one clear thing."""


class PlacementError(ConfigurationError):
    """Something that decides about the sandbox lies where a launch can write."""


class BusyError(SandboxPinError):
    """Another command, or a launch that outlived its command, holds the run."""


class StorageError(SandboxPinError):
    """The system could not read or write."""


class UncertainStorageError(StorageError):
    """The new content is visible, but its folder could not be flushed after the rename.

    Whether it would survive a power cut is not known; the next command reads what is there and settles it.
    """
