"""What leaves this program: no raw control character on a terminal, one JSON object a line."""

import contextlib
import json
import os
import sys
from typing import Final

import click
import msgspec

from sandbox_pin.text import shown

_STANDARD_ERROR: Final = 2


def say(text: str) -> None:
    """Tells the operator something, on standard error.

    That nobody listens any more (``2>&1 | head``) must neither stop a command half way, when a pin has moved
    and nothing is launched yet, nor give it an exit status that looks like the launched command's.
    """
    _tell(f"sandbox-pin: {shown(text)}")


def say_lines(lines: list[str]) -> None:
    """Tells the operator one thing in several lines, on standard error."""
    say(lines[0])
    for line in lines[1:]:
        _tell(f"  {shown(line)}")


def _tell(line: str) -> None:
    encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
    with contextlib.suppress(OSError):
        _ = os.write(_STANDARD_ERROR, f"{line}\n".encode(encoding, "backslashreplace"))


def show(line: str = "") -> None:
    """Prints one line of what was asked for, on standard output."""
    click.echo(shown(line))


def show_json(value: object) -> None:
    """Prints a value as one line of JSON, on standard output."""
    click.echo(json_line(value))


def json_line(value: object) -> str:
    """A value as one line of JSON, what is not printable in it escaped."""
    text = msgspec.json.encode(value).decode()
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else json.dumps(character)[1:-1] for character in text
    )
