"""``schema``: the shapes of our records, for programs in other languages."""

from collections.abc import Mapping
from typing import Final

import click

from sandbox_pin.cli.exit_status import ExitStatus
from sandbox_pin.cli.options import no_words
from sandbox_pin.core.json_schema import Document, json_schema


@click.command("schema")
@click.argument(
    "document",
    type=click.Choice([document.value for document in Document]),
    default=Document.PIN.value,
    metavar="[pin|log]",  # each version of click has brackets of its own
)
@click.pass_obj
def _schema(words: tuple[str, ...] | None, *, document: str) -> int:
    """Print the JSON Schema of the pin, or of the run log's entries.

    A repeated key, 1.0 for 1 and half a surrogate pair pass a schema, and are refused all the same.
    """
    no_words(words)
    click.echo(json_schema(Document(document)), nl=False)
    return ExitStatus.OK


COMMANDS: Final[Mapping[str, click.Command]] = {"schema": _schema}
