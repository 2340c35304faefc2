"""One run of an audit as a line: of a table, of CSV, of JSON."""

import csv
import io
from typing import Final

from sandbox_pin.cli.terminal import json_line
from sandbox_pin.core.audit import AuditRow, LastLaunch
from sandbox_pin.core.describe import describe_held
from sandbox_pin.core.modes import Strength
from sandbox_pin.core.record import Disputed, Unpinned, pinned_backend
from sandbox_pin.text import shown

_TABLE: Final = "{:<28}  {:<6}  {:<9}  {:<12}  {:<12}  {:>4}  {:<20}  {}"
TABLE_HEADER: Final = _TABLE.format(
    "RUN", "KIND", "PIN", "STRENGTH", "SOURCE", "AGE", "LAST LAUNCH", "ENFORCED"
)

_STRENGTHS: Final = {
    None: "-",
    Strength.LOGICAL: "logical",
    Strength.WHERE_CAPABLE: "where able",
    Strength.ALWAYS: "always",
}
_COLUMNS: Final = (
    "path", "run", "kind", "finding", "mode", "backend", "source", "recorded_at", "age", "strength",
    "state_mode", "witness_mode", "differs", "launched_at", "launch_asked", "launch_enforced",
    "launch_backend", "passed_over", "problem",
)  # fmt: skip
CSV_HEADER: Final = ",".join(_COLUMNS)

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
_UNITS: Final = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


def table_line(row: AuditRow) -> str:
    """A line of the table; what is wrong with a run stands behind it."""
    launch = row.last_launch
    pin = row.in_force
    if pin is None:
        return shown(
            f"{row.path:<28}  {row.kind or '-':<6}  {row.finding}"
            + (f": {row.problem}" if row.problem else "")
        )
    mode, source = ("-", "-") if isinstance(pin, Unpinned | Disputed) else (pin.mode, pin.source)
    line = _TABLE.format(
        row.path,
        row.kind or "-",
        mode if mode != "-" else row.finding,
        _STRENGTHS[row.strength],
        source,
        age_in_words(row.age),
        "none" if launch is None else launch.at,
        _enforced(launch),
    )
    notes: list[str] = []
    if row.differs:
        notes.append(
            f"the state says {describe_held(row.state_pin)}, the run log {describe_held(row.witness)}"
        )
    if row.passed_over:
        notes.append(f"{row.passed_over} torn line(s) at the log's end")
    if row.problem is not None:
        notes.append(row.problem)
    return shown("; ".join([line.rstrip(), *notes]))


def _enforced(launch: LastLaunch | None) -> str:
    if launch is None:
        return ""
    return f"by {launch.backend}" if launch.enforced else "NO"


def age_in_words(age: int | None) -> str:
    """An age in its largest unit: ``3d``."""
    if age is None or age < 0:
        return "-"
    return next((f"{age // seconds}{unit}" for seconds, unit in _UNITS if age >= seconds), "0s")


def json_row(row: AuditRow) -> str:
    """All of it, as one JSON object."""
    return json_line(row)


def csv_line(row: AuditRow) -> str:
    """All of it in cells, of which no spreadsheet takes one for a formula."""
    pin, launch = row.in_force, row.last_launch
    held = None if pin is None or isinstance(pin, Unpinned | Disputed) else pin
    state = row.state_pin
    cells = (
        row.path,
        row.run,
        row.kind,
        row.finding,
        None if held is None else held.mode,
        None if held is None else pinned_backend(held),
        None if held is None else held.source,
        None if held is None else held.recorded_at,
        row.age,
        row.strength,
        None if state is None or isinstance(state, Unpinned) else state.mode,
        None if row.witness is None else row.witness.mode,
        _yes(row.differs),
        None if launch is None else launch.at,
        None if launch is None else launch.asked,
        None if launch is None else _yes(launch.enforced),
        None if launch is None else launch.backend,
        row.passed_over,
        row.problem,
    )
    text = io.StringIO()
    _ = csv.writer(text, lineterminator="").writerow([_cell(cell) for cell in cells])
    return text.getvalue()


def _yes(value: bool) -> str:  # noqa: FBT001 - a value that is told, no switch
    return "true" if value else "false"


def _cell(value: str | int | None) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        return str(int(value))
    text = shown(value)
    # A quote before it is what spreadsheets read as "text follows" (OWASP, "CSV Injection").
    return f"'{text}" if text.startswith(_FORMULA) else text
