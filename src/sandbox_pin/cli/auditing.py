"""``audit``: tells every run's pin below some folders, and finds those that are held to too little."""

import contextlib
import gc
import sys
import time
from collections.abc import Callable, Generator, Mapping
from typing import Final

import click

from sandbox_pin.cli.audit_lines import CSV_HEADER, TABLE_HEADER, csv_line, json_row, table_line
from sandbox_pin.cli.exit_status import ExitStatus
from sandbox_pin.cli.options import mode_option, no_words, shared_options
from sandbox_pin.cli.terminal import say, show
from sandbox_pin.core.audit import Filters, Finding
from sandbox_pin.core.audit_summary import Summary, add_summaries, describe_summary
from sandbox_pin.core.modes import RunKind, SandboxMode
from sandbox_pin.errors import UsageError
from sandbox_pin.shell.audit import Audit
from sandbox_pin.shell.audit_look import STEM, ForeignFiles
from sandbox_pin.shell.audit_workers import look_in_parallel

_STATUSES: Final = """\b
Exit status:
  0   everything could be read, and no filter found anything
  1   a filter found something
  64  wrong usage, no such folder, or --glob matches nothing
  65  a run is damaged (and no filter found anything)
  74  something could not be read (and nothing else of the above)
  130 Ctrl-C
"""


@click.command("audit", epilog=_STATUSES)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@mode_option("--at-least", "Find runs held to less than MODE gives a run of their kind.")
@click.option("--unpinned", is_flag=True, help="Find runs from before pins.")
@click.option("--damaged", is_flag=True, help="Find runs that are damaged or can't be read.")
@click.option("--disagree", is_flag=True, help="Find runs whose state and log don't say the same.")
@click.option(
    "--glob",
    metavar="PATTERN",
    help="The PATHs are no run roots: audit the state files below that match, such as '**/state.json'. "
    "** enters no links.",
)
@click.option(
    "--kind", type=click.Choice([kind.value for kind in RunKind]), help="With --glob: where no file says it."
)
@click.option(
    "--log-name",
    metavar="NAME",
    help=f"With --glob: the run log beside each state; {STEM} in it is the state's name without its ending.",
)
@click.option(
    "--pinned-since",
    metavar="N",
    type=click.IntRange(1),
    help="With --glob: the states' first protocol that has a pin [default: they say nothing of their age].",
)
@click.option(
    "--jobs", metavar="N", type=click.IntRange(1, 1024), help="Processes to read with [default: the cores]."
)
@shared_options("json")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@click.pass_obj
def _audit(
    words: tuple[str, ...] | None,
    *,
    paths: tuple[str, ...],
    at_least: SandboxMode | None,
    unpinned: bool,
    damaged: bool,
    disagree: bool,
    glob: str | None,
    kind: str | None,
    log_name: str | None,
    pinned_since: int | None,
    jobs: int | None,
    as_json: bool,
    as_csv: bool,
) -> int:
    """Tell the pin of every run in these run roots, and change nothing.

    With filters only the runs that one of them finds are shown. A run that is damaged, unpinned or disputed
    can't be shown to be held to a mode, so --at-least finds it too. Runs are shown in no order.
    """
    no_words(words)
    if as_json and as_csv:
        raise UsageError("--json and --csv are both given", expected="one of them")
    foreign = _foreign(glob, kind, log_name, pinned_since)
    filters = Filters(at_least=at_least, unpinned=unpinned, damaged=damaged, disagree=disagree)
    audit = Audit(paths=paths, foreign=foreign, filters=filters, now=time.time())
    line = json_row if as_json else csv_line if as_csv else table_line
    header = None if as_json else CSV_HEADER if as_csv else TABLE_HEADER
    summary = Summary(found=0, counts={})
    gc.freeze()  # what is imported stays: no collection looks through it once more, in the workers neither
    batches = look_in_parallel(audit, line=line, jobs=jobs)
    with contextlib.closing(batches), _progress() as tell:
        for batch in batches:
            if header is not None and (batch.text or as_csv):
                show(header)
                header = None
            summary = add_summaries(summary, batch.summary)
            tell(summary, batch.text)
    if not summary.total:
        _tell_nothing_found(paths, glob)
    print_summary = say if as_json or as_csv else show
    for text in describe_summary(summary, filters):
        print_summary(text)
    return _status(summary)


def _foreign(
    glob: str | None, kind: str | None, log_name: str | None, pinned_since: int | None
) -> ForeignFiles | None:
    if glob is None:
        if kind is not None or log_name is not None or pinned_since is not None:
            raise UsageError("--kind, --log-name or --pinned-since without --glob", expected="--glob PATTERN")
        return None
    if log_name is not None and (not log_name or "/" in log_name or "\0" in log_name):
        raise UsageError(f"found {log_name!r}", field="--log-name", expected="a file name, without a folder")
    return ForeignFiles(
        glob=glob, kind=None if kind is None else RunKind(kind), log_name=log_name, pinned_since=pinned_since
    )


def _tell_nothing_found(paths: tuple[str, ...], glob: str | None) -> None:
    """An audit of nothing must not look like one that found nothing wrong.

    Raises:
        UsageError: there is a pattern. Run roots may have no run yet.
    """
    folders = ", ".join(paths)
    if glob is not None:
        expected = "a pattern of the states' paths below them"
        raise UsageError(f"{glob!r} matches nothing below {folders}", field="--glob", expected=expected)
    say(f"warning: there is no run in {folders}")


def _status(summary: Summary) -> ExitStatus:
    if summary.found:
        return ExitStatus.FOUND
    if summary.count(Finding.DAMAGED):
        return ExitStatus.DAMAGED
    return ExitStatus.STORAGE if summary.count(Finding.UNREADABLE) else ExitStatus.OK


def _print(_: Summary, text: str) -> None:
    click.echo(text, nl=False)


@contextlib.contextmanager
def _progress() -> Generator[Callable[[Summary, str], None]]:
    """Prints what is told, and on a terminal how far the audit is, where rich is there to show it."""
    if not sys.stderr.isatty():
        yield _print
        return
    try:
        from rich.console import Console  # noqa: PLC0415 - 60 ms, on a terminal alone
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415
    except ImportError:
        yield _print
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.completed} runs, {task.fields[found]} found"),
        TimeElapsedColumn(),
    )
    # It has no thread of its own: the workers are forked while it is there.
    progress = Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False)
    task = progress.add_task("audit", total=None, found=0)

    def tell(summary: Summary, text: str) -> None:
        if text:
            progress.stop()
            click.echo(text, nl=False)
        progress.start()
        progress.update(task, completed=summary.total, found=summary.found, refresh=True)

    try:
        yield tell
    finally:
        progress.stop()


COMMANDS: Final[Mapping[str, click.Command]] = {"audit": _audit}
