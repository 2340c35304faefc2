"""``log``: every line of a run's log, or its timeline."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import click

from sandbox_pin.cli.exit_status import ExitStatus
from sandbox_pin.cli.log_lines import log_line
from sandbox_pin.cli.options import EXIT_STATUSES, no_words, shared_options
from sandbox_pin.cli.terminal import say, screen_of, show, show_json
from sandbox_pin.core.log_line import Damaged, Garbage, LogLine
from sandbox_pin.errors import StateError, UsageError
from sandbox_pin.shell.run_log import STARTS_ANEW
from sandbox_pin.shell.runs import RunFolder, check_run_id, open_run, runs_root

Words = tuple[str, ...] | None


@click.command("log", epilog=EXIT_STATUSES)
@click.argument("run")
@shared_options("runs", "json")
@click.option("--timeline", is_flag=True, help="Show how the pin and the launches went on.")
@click.option("--html", metavar="FILE", help="Write the timeline as one HTML file, its last 500 rows.")
@click.option("--last", metavar="N", type=click.IntRange(1, 1_000_000), help="Only a timeline's last N rows.")
@click.pass_obj
def _log(
    words: Words,
    *,
    run: str,
    runs: str | None,
    as_json: bool,
    timeline: bool,
    html: str | None,
    last: int | None,
) -> int:
    """Show a run's log, every line of it, or its timeline."""
    no_words(words)
    if as_json + timeline + (html is not None) > 1:
        raise UsageError("--json, --timeline and --html are not one output", expected="one of them")
    if last is not None and not timeline and html is None:
        raise UsageError("--last is of a timeline", expected="--timeline or --html too")
    with open_run(runs_root(runs), check_run_id(run)) as folder:
        watched = _Watched(folder)
        if html is not None or timeline:
            from sandbox_pin.cli.timeline import show_timeline, write_timeline  # noqa: PLC0415 - only they need it

            if html is not None:
                write_timeline(folder, watched.lines(), html, last=last)
            else:
                show_timeline(folder, watched.lines(), last=last)
        else:
            _show_lines(folder, watched.lines(), as_json=as_json)
        if watched.damage is not None:
            raise StateError(watched.damage, file=folder.log.shown_as, remedy=_remedy(folder))
    return ExitStatus.OK


class _Watched:
    """A log's lines, and whether one of them was damaged."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self.damage: str | None = None

    def lines(self) -> Iterator[LogLine]:
        """Every line.

        Raises:
            StateError: there is no log.
            StorageError: it could not be read.
        """
        try:
            for line in self._folder.log.lines():
                if isinstance(line, Damaged):
                    self.damage = self.damage or line.why
                yield line
        except FileNotFoundError:
            raise StateError(
                "missing",
                file=self._folder.log.shown_as,
                expected="the run's log",
                remedy=_remedy(self._folder),
            ) from None


def _remedy(folder: RunFolder) -> str:
    return f"{folder.command('recover')} {STARTS_ANEW}"


def _show_lines(folder: RunFolder, lines: Iterable[LogLine], *, as_json: bool) -> None:
    screen = screen_of(sys.stdout)
    for line in lines:
        if not as_json:
            show(log_line(line, screen), screen)
        elif isinstance(line, Damaged | Garbage):
            say(f"{folder.log.shown_as}: {log_line(line)}")
        else:
            show_json(line)


COMMANDS: Final[Mapping[str, click.Command]] = {"log": _log}
