"""Audits run roots and other orchestrators' states: reads, and changes nothing; takes no lock.

It streams: what is held in memory is a batch of rows and the runs that wait for a second look. Runs are told
in the order in which the file system lists them and the workers come to them: in none.
"""

import contextlib
import os
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Final

from msgspec import Struct

from sandbox_pin.core.audit import AuditRow, Filters, Finding, finds
from sandbox_pin.core.audit_summary import Summary, summarize_rows
from sandbox_pin.errors import UsageError
from sandbox_pin.shell.audit_look import ForeignFiles, Looker
from sandbox_pin.shell.audit_walk import Glob, Place, walk_glob, walk_runs
from sandbox_pin.shell.durable import open_folder
from sandbox_pin.shell.reading import BETWEEN_TWO_WRITES

BATCH: Final = 256
"""How many rows are told at once, and how many runs wait for a second look at the most."""

_PATIENCE: Final = (1, 3, 10)
"""How long to wait before each later look, in times of what lies between two writes of a command.

The flushes between them may take long where the machine is busy.
"""

Line = Callable[[AuditRow], str]


class Batch(Struct, frozen=True, kw_only=True):
    """Some runs, told.

    Attributes:
        text: the lines of those that are to be shown, each with its line end.
        summary: how many of each they are.
    """

    text: str
    summary: Summary


class Audit(Struct, frozen=True, kw_only=True):
    """What is audited, and what is looked for.

    Attributes:
        paths: the folders: run roots, or where another orchestrator keeps its states.
        foreign: how it keeps them; ``None``: these are run roots.
        filters: which runs are shown; all, where none is given.
        now: the time, in seconds since the epoch.
    """

    paths: tuple[str, ...]
    foreign: ForeignFiles | None
    filters: Filters
    now: float


class Share(Struct, frozen=True, kw_only=True):
    """One worker's part of the runs: each run is in one part, whoever asks, as long as they are forked alike.

    Attributes:
        number: which part, from 0.
        of: how many there are.
    """

    number: int = 0
    of: int = 1

    def has(self, place: Place) -> bool:
        """Whether a run is in this part."""
        return self.of == 1 or hash(place) % self.of == self.number


@contextlib.contextmanager
def opened_roots(paths: Sequence[str]) -> Generator[list[tuple[str, int]]]:
    """The folders that the operator named, open. A link among these is followed: the operator named it.

    Raises:
        UsageError: one is not there.
        StateError: one is no folder.
        StorageError: the system could not open one.
    """
    with contextlib.ExitStack() as stack:
        roots: list[tuple[str, int]] = []
        for path in paths:
            try:
                descriptor = open_folder(path)
            except FileNotFoundError:
                raise UsageError("no such folder", file=path) from None
            _ = stack.callback(os.close, descriptor)
            roots.append((path, descriptor))
        yield roots


def places(roots: Sequence[tuple[str, int]], foreign: ForeignFiles | None) -> Iterator[Place]:
    """Everything that there is to look at."""
    pattern = None if foreign is None else Glob(foreign.glob)
    for number, (_, descriptor) in enumerate(roots):
        if pattern is None:
            yield from walk_runs(number, descriptor)
        else:
            yield from walk_glob(number, descriptor, pattern)


def look_at_all(audit: Audit, *, line: Line, share: Share) -> Iterator[Batch]:
    """Looks at one part of the runs.

    What seems damaged, gone, or not the same in state and log is looked at again: another command may have
    been between its two writes (``reading.read_run_unlocked``).

    Args:
        audit: what to look at.
        line: how a run is shown, without its line end.
        share: which part.

    Raises:
        UsageError: a folder is not there, or the pattern is none.
        StateError: one of the folders is none.
        StorageError: the system could not open one.
    """
    with opened_roots(audit.paths) as roots:
        looker = Looker(roots, foreign=audit.foreign, now=audit.now)
        rows: list[AuditRow] = []
        again: list[Place] = []
        for place in places(roots, audit.foreign):
            if not share.has(place):
                continue
            row = looker.look(place)
            if _is_settled(row):
                rows.append(row)
            else:
                again.append(place)
            if len(again) >= BATCH:
                rows += _second_looks(looker, again)
                again.clear()
            if len(rows) >= BATCH:
                yield _told(rows, audit.filters, line)
                rows.clear()
        rows += _second_looks(looker, again)
        looker.close()
        yield _told(rows, audit.filters, line)


def _is_settled(row: AuditRow) -> bool:
    return row.problem is None and not row.differs and row.finding is not Finding.VANISHED


def _second_looks(looker: Looker, again: Sequence[Place]) -> list[AuditRow]:
    """What these runs are at a later look; whether state and log still differ is asked more than once."""
    settled: list[AuditRow] = []
    differing: list[AuditRow] = []
    waiting = again
    for times_longer in _PATIENCE:
        if not waiting:
            break
        time.sleep(BETWEEN_TWO_WRITES * times_longer)
        looked = [(place, looker.look(place)) for place in waiting]
        settled += [row for _, row in looked if not row.differs]
        differing = [row for _, row in looked if row.differs]
        waiting = [place for place, row in looked if row.differs]
    return settled + differing


def _told(rows: Sequence[AuditRow], filters: Filters, line: Line) -> Batch:
    shown = [line(row) for row in rows if not filters.given or finds(filters, row)]
    return Batch(text="".join(f"{text}\n" for text in shown), summary=summarize_rows(rows, filters))
