"""``log --timeline`` and ``log --html``: a run's timeline on the terminal, and as a file."""

import contextlib
import sys
from collections.abc import Iterable, Iterator

import click
from msgspec.structs import replace

from sandbox_pin.cli.output_file import refuse_no_output_file
from sandbox_pin.cli.terminal import say, screen_of
from sandbox_pin.cli.timeline_text import legend_lines, timeline_lines
from sandbox_pin.core.log_line import LogLine
from sandbox_pin.core.run_state import RunStatus
from sandbox_pin.core.timeline import LaunchRow, OpenEnd, Row, make_timeline, timeline_rows
from sandbox_pin.errors import SandboxPinError
from sandbox_pin.shell.durable import write_file
from sandbox_pin.shell.reading import read_run_unlocked
from sandbox_pin.shell.runs import RunFolder
from sandbox_pin.shell.surroundings import now

LAST_IN_HTML = 500
"""How many rows a page has where nothing else is asked for: a browser must show it, and a person read it."""


def show_timeline(folder: RunFolder, lines: Iterable[LogLine], *, last: int | None) -> None:
    """Prints the timeline row by row; only the last rows, where they are asked for, are kept in memory."""
    screen = screen_of(sys.stdout)
    rows: Iterable[Row] = _settled(folder, timeline_rows(lines))
    if last is not None:
        timeline = make_timeline(rows, last=last)
        rows = timeline.rows
        if timeline.left_out:
            say(f"{timeline.left_out} older rows are left out")
    for line in legend_lines(screen):
        click.echo(line)
    for line in timeline_lines(rows, screen):
        click.echo(line)


def write_timeline(folder: RunFolder, lines: Iterable[LogLine], path: str, *, last: int | None) -> None:
    """Writes the timeline as an HTML file, whole, for its owner alone where there was none.

    Raises:
        UsageError: no file can be put there.
        StorageError: it could not be written.
    """
    from sandbox_pin.cli.timeline_html import timeline_html  # noqa: PLC0415 - no other output needs it

    refuse_no_output_file(path, option="--html", root=folder.root)
    timeline = make_timeline(_settled(folder, timeline_rows(lines)), last=last or LAST_IN_HTML)
    page = timeline_html(timeline, run=folder.run, made_at=now())
    write_file(path, page.encode())
    say(f"{path}: the timeline of {folder.run}, {len(timeline.rows)} rows")


def _settled(folder: RunFolder, rows: Iterable[Row]) -> Iterator[Row]:
    """The rows; the launch that the log leaves open as the run's state knows it, read after the log."""
    for row in rows:
        if isinstance(row, LaunchRow) and row.ended is OpenEnd.OPEN:
            yield replace(row, ended=_look(folder))
        else:
            yield row


def _look(folder: RunFolder) -> OpenEnd:
    with contextlib.suppress(SandboxPinError):
        reading = read_run_unlocked(folder)
        if reading.busy:
            return OpenEnd.RUNNING
        if reading.loaded.state.status is RunStatus.RUNNING:
            return OpenEnd.LOST
    return OpenEnd.OPEN
