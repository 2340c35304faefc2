"""What leaves this program: no raw control character on a terminal, one JSON object a line.

No colour and no other escape is ever written, so that ``NO_COLOR`` and ``TERM=dumb`` are kept everywhere:
what matters is told by words and signs, which a pipe, a log and every eye can tell apart.
"""

import contextlib
import json
import os
import shutil
import sys
from datetime import UTC, datetime
from typing import Final, TextIO

import click
import msgspec

from sandbox_pin.cli.screen import Screen, fitted
from sandbox_pin.text import shown

_STANDARD_ERROR: Final = 2
_DELETE: Final = b"\x7f"


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


def screen_of(stream: TextIO) -> Screen | None:
    """The terminal that a stream leads to; ``None`` where it leads elsewhere.

    Its width is ``COLUMNS``, else what the terminal says, else 80.
    """
    try:
        if not stream.isatty():
            return None
    except ValueError:  # it is closed
        return None
    return Screen(width=shutil.get_terminal_size().columns, now=datetime.now(UTC))


def show(line: str = "", screen: Screen | None = None, *, indent: int = 2) -> None:
    """Prints one line of what was asked for, on standard output, as that screen fits it."""
    for piece in fitted(line, screen, indent=indent):
        click.echo(piece)


def show_json(value: object) -> None:
    """Prints a value as one line of JSON, on standard output."""
    click.echo(json_line(value))


def json_line(value: object) -> str:
    """A value as one line of JSON, what is not printable in it escaped."""
    raw = msgspec.json.encode(value)
    text = raw.decode()
    # JSON has all control characters of ASCII escaped, but for one.
    if (raw.isascii() and _DELETE not in raw) or text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else json.dumps(character)[1:-1] for character in text
    )
