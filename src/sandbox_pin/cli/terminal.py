"""What leaves this program: no raw control character on a terminal, one JSON object a line."""

import json

import click
import msgspec

from sandbox_pin.text import shown


def say(text: str) -> None:
    """Tells the operator something, on standard error."""
    click.echo(f"sandbox-pin: {shown(text)}", err=True)


def say_lines(lines: list[str]) -> None:
    """Tells the operator one thing in several lines, on standard error."""
    say(lines[0])
    for line in lines[1:]:
        click.echo(f"  {shown(line)}", err=True)


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
