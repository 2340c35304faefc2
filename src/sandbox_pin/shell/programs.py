"""Finds the file that a command word names, as execvp(3) would, but before anything is written."""

import os
import stat

from msgspec import Struct


class Command(Struct, frozen=True, kw_only=True):
    """A command whose program has been found.

    Attributes:
        program: the program's absolute path, links in it not followed.
        words: the command as it was given.
    """

    program: str
    words: tuple[str, ...]

    @property
    def arguments(self) -> list[str]:
        """What is handed to execve(2), the program's path first."""
        return [self.program, *self.words[1:]]


class NotFound(Struct, frozen=True, kw_only=True):
    """There is no such program.

    Attributes:
        word: the command's first word.
        why: what was looked for.
        exists: whether there is something of that name, though it can't be run.
    """

    word: str
    why: str
    exists: bool = False


def find_command(words: tuple[str, ...], *, folder: str, path: str) -> Command | NotFound:
    """The command, its program found.

    Args:
        words: the command; its first word is a path, where it has a slash, or a name to look up.
        folder: where a relative path starts.
        path: the folders to look in, as in ``PATH``.
    """
    word = words[0]
    if "/" in word:
        there = os.path.join(folder, word)
        program = there if _is_program(there) else None
        why = f"{there} is no file that can be run"
    else:
        program = find_program(word, path=path)
        why = "no folder of PATH has a file of that name that can be run"
    if program is None:
        return NotFound(
            word=word, why=why, exists="/" in word and os.path.lexists(os.path.join(folder, word))
        )
    try:
        # The run log tells this path, and is UTF-8: found now, before a pin has moved.
        _ = program.encode()
    except UnicodeEncodeError:
        return NotFound(word=word, why=f"the path {program} is not UTF-8")
    return Command(program=program, words=words)


def find_program(name: str, *, path: str) -> str | None:
    """The first program of this name in the folders of ``path``.

    Relative and empty entries are passed over: they mean the working folder, where an agent writes.
    """
    for folder in path.split(os.pathsep):
        if name and os.path.isabs(folder) and _is_program(program := os.path.join(folder, name)):
            return program
    return None


def _is_program(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode) and os.access(path, os.X_OK)
    except (OSError, ValueError):
        return False
