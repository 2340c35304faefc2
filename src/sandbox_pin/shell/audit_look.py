"""One look at one run: what ``status`` would tell of it, as a row; no lock taken, no link followed."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct

from sandbox_pin.core.audit import (
    AuditRow,
    Finding,
    finding_of,
    last_launch_of,
    strength_of,
)
from sandbox_pin.core.describe import find_difference
from sandbox_pin.core.event import LaunchStarted
from sandbox_pin.core.log_end import LogEnd
from sandbox_pin.core.modes import RunKind
from sandbox_pin.core.record import Disputed, SandboxPin, Unpinned
from sandbox_pin.core.rule import pin_in_force
from sandbox_pin.core.state import read_kind
from sandbox_pin.errors import SandboxPinError, StateError, StorageError
from sandbox_pin.shell.audit_folders import Folders
from sandbox_pin.shell.audit_walk import Place
from sandbox_pin.shell.durable import read_regular
from sandbox_pin.shell.foreign import pin_beside
from sandbox_pin.shell.moment import parse_time
from sandbox_pin.shell.reading import read_run
from sandbox_pin.shell.run_log import FileRunLog
from sandbox_pin.shell.runs import RunFolder

STEM: Final = "{stem}"
"""What stands in a log's name for its state's file name without its ending."""


class ForeignFiles(Struct, frozen=True, kw_only=True):
    """How another orchestrator keeps its states.

    Attributes:
        glob: which files are states.
        kind: who owns the work where neither log nor state says so.
        log_name: the log's name beside the state, ``{stem}`` replaced; ``None``: there are no logs.
        pinned_since: the first value of a state's ``protocol`` that has a pin; ``None``: it says nothing of
            its age.
    """

    glob: str
    kind: RunKind | None = None
    log_name: str | None = None
    pinned_since: int | None = None


class Looker:
    """Looks at runs below some folders, each open.

    Args:
        roots: the folders' paths and descriptors.
        foreign: how another orchestrator keeps its states; ``None``: these are run roots.
        now: the time, in seconds since the epoch.
    """

    def __init__(self, roots: Sequence[tuple[str, int]], *, foreign: ForeignFiles | None, now: float) -> None:
        self._roots = roots
        self._folders = Folders(roots)
        self._foreign = foreign
        self._now = datetime.fromtimestamp(now, UTC)

    def close(self) -> None:
        """Closes the folder that was looked at last."""
        self._folders.close()

    def look(self, place: Place) -> AuditRow:
        """What there is to tell of one run, its damage included."""
        root = self._roots[place.root][0]
        folder_path = os.path.join(root, place.way) if place.way else root
        path = folder_path if self._foreign is None or not place.name else f"{folder_path}/{place.name}"
        run = place.way if self._foreign is None else os.path.splitext(place.name or place.way)[0]
        try:
            folder = self._folders.enter(place.root, place.way, again=self._foreign is None)
            if not place.name:
                raise StorageError("it could not be entered a moment ago", file=path)
            if self._foreign is None:
                return self._own(root, place.way, folder, path)
            return self._other(self._foreign, folder, place.name, path)
        except FileNotFoundError:
            return AuditRow(path=path, run=run, finding=Finding.VANISHED)
        except SandboxPinError as error:
            finding = Finding.UNREADABLE if isinstance(error, StorageError) else Finding.DAMAGED
            return AuditRow(path=path, run=run, finding=finding, problem=str(error))

    def _own(self, root: str, run: str, folder: int, path: str) -> AuditRow:
        reading = read_run(RunFolder(root, run, folder))
        return self._row(
            path=path,
            run=run,
            kind=reading.loaded.state.kind,
            state_pin=reading.loaded.pin,
            witness=reading.witness,
            in_force=reading.in_force,
            launch=reading.last_launch,
            passed_over=reading.passed_over,
            failure=reading.log_failure,
        )

    def _other(self, foreign: ForeignFiles, folder: int, name: str, path: str) -> AuditRow:
        run = os.path.splitext(name)[0]
        end: LogEnd | StorageError | None = None
        if foreign.log_name is not None:
            log_name = foreign.log_name.replace(STEM, run)
            end = FileRunLog(folder, log_name, shown_as=f"{os.path.dirname(path)}/{log_name}").find_end()
        raw = read_regular(folder, name, shown_as=path)
        try:
            tail = end.tail if isinstance(end, LogEnd) else end
            pin = pin_beside(raw, tail, pinned_since=foreign.pinned_since)
            stated = read_kind(raw)
        except StateError as error:
            raise error.located(file=path) from None
        entry = end.tail.entry if isinstance(end, LogEnd) else None
        kind = stated or foreign.kind
        if entry is not None:
            kind = entry.kind
            if stated is not None and stated is not kind:
                raise StateError(
                    f"found {stated}", file=path, field="kind", expected=f"{kind}, as its log says"
                )
        witness = None if entry is None else entry.pin
        return self._row(
            path=path,
            run=run if entry is None else entry.run,
            kind=kind,
            state_pin=pin,
            witness=witness,
            in_force=pin_in_force(pin, witness, kind=kind or RunKind.REMOTE),
            launch=end.launch if isinstance(end, LogEnd) else None,
            passed_over=end.tail.passed_over if isinstance(end, LogEnd) else 0,
            failure=end if isinstance(end, StorageError) else None,
        )

    def _row(
        self,
        *,
        path: str,
        run: str,
        kind: RunKind | None,
        state_pin: SandboxPin | Unpinned,
        witness: SandboxPin | None,
        in_force: SandboxPin | Disputed | Unpinned,
        launch: LaunchStarted | None,
        passed_over: int,
        failure: StorageError | None,
    ) -> AuditRow:
        return AuditRow(
            path=path,
            run=run,
            finding=finding_of(in_force) if failure is None else Finding.UNREADABLE,
            kind=kind,
            in_force=in_force,
            strength=strength_of(in_force, kind),
            age=None if isinstance(in_force, Unpinned | Disputed) else _age(in_force.recorded_at, self._now),
            state_pin=state_pin,
            witness=witness,
            differs=find_difference(state_pin, witness) is not None,
            last_launch=last_launch_of(launch),
            passed_over=passed_over,
            problem=None if failure is None else str(failure),
        )


def _age(recorded_at: str, now: datetime) -> int | None:
    recorded = parse_time(recorded_at)
    return None if recorded is None else int((now - recorded).total_seconds())
