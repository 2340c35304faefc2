"""How many runs of each an audit has seen."""

from collections.abc import Iterable

from msgspec import Struct

from sandbox_pin.core.audit import AuditRow, Filters, Finding, finds
from sandbox_pin.core.modes import SandboxMode
from sandbox_pin.core.record import SandboxPin


class Summary(Struct, frozen=True, kw_only=True):
    """How many runs there are of each.

    Attributes:
        found: how many the filters found.
        counts: how many by kind (``""``: not known), and by mode or finding.
    """

    found: int
    counts: dict[str, dict[str, int]]

    @property
    def total(self) -> int:
        """How many runs were looked at."""
        return sum(sum(modes.values()) for modes in self.counts.values())

    def count(self, finding: Finding) -> int:
        """How many are damaged, unreadable, vanished, unpinned or disputed."""
        return sum(modes.get(finding, 0) for modes in self.counts.values())


def summarize_rows(rows: Iterable[AuditRow], filters: Filters) -> Summary:
    """How many of these rows there are of each."""
    found = 0
    counts: dict[str, dict[str, int]] = {}
    for row in rows:
        found += finds(filters, row)
        modes = counts.setdefault(row.kind or "", {})
        label = label_of(row)
        modes[label] = modes.get(label, 0) + 1
    return Summary(found=found, counts=counts)


def label_of(row: AuditRow) -> str:
    """What a row is counted under: its mode, or what keeps it from having one."""
    if row.finding is Finding.PINNED and isinstance(row.in_force, SandboxPin):
        return row.in_force.mode
    return row.finding


def add_summaries(one: Summary, other: Summary) -> Summary:
    """The summary of the rows of both."""
    counts = {kind: dict(modes) for kind, modes in one.counts.items()}
    for kind, modes in other.counts.items():
        sums = counts.setdefault(kind, {})
        for label, count in modes.items():
            sums[label] = sums.get(label, 0) + count
    return Summary(found=one.found + other.found, counts=counts)


def describe_summary(summary: Summary, filters: Filters) -> list[str]:
    """The summary in lines, by kind and mode."""
    lines = [
        f"{summary.total} run{'' if summary.total == 1 else 's'}"
        + (f", {summary.found} found" if filters.given else "")
    ]
    order: list[str] = [*SandboxMode, *Finding]
    for kind, modes in sorted(summary.counts.items(), reverse=True):
        parts = [f"{modes[label]} {label}" for label in order if label in modes]
        lines.append(f"{kind or 'of unknown kind'}: {', '.join(parts)}")
    return lines
