"""Times as a person reads them: the moment of reading and the zone are given."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.support import AT, Bench
from sandbox_pin.cli.times import age, describe_duration, duration, local_time
from sandbox_pin.shell.moment import parse_time

NOW: Final = datetime(2026, 11, 30, 16, 3, 5, tzinfo=UTC)
CET: Final = timezone(timedelta(hours=1), "CET")

not_times: Final = st.sampled_from(
    ["", "yesterday", "2026-11-30", "2026-11-30T13:03:05", "13:03", "\ud800", "\u0662\u0660\u0662\u0666"]
)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("2026-11-30T13:03:05Z", "2026-11-30 14:03:05 CET"),
        ("2026-11-30T13:03:05.999+00:00", "2026-11-30 14:03:05 CET"),
        ("2026-11-30T23:30:00-05:00", "2026-12-01 05:30:00 CET"),
        ("0001-01-02T00:00:00Z", "0001-01-02 01:00:00 CET"),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
    ],
)
def test_a_time_is_told_in_the_zone(text: str, told: str) -> None:
    """Where the calendar ends there is no such time in that zone: the stored text stays."""
    assert local_time(text, CET) == told


@given(not_times)
def test_what_is_no_time_is_told_as_it_is_and_has_no_age(text: str) -> None:
    """A time without its zone is none: it would be another moment for each reader."""
    assert parse_time(text) is None
    assert local_time(text, CET) == text
    assert age(text, NOW) is None
    assert duration(text, AT) is duration(AT, text) is None


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0, "just now"),
        (1, "1 second ago"),
        (59, "59 seconds ago"),
        (60, "1 minute ago"),
        (3 * 3600 + 59, "3 hours ago"),
        (86400, "1 day ago"),
        (729 * 86400, "729 days ago"),
        (730 * 86400, "2 years ago"),
        (-1, "in 1 second"),
        (-3 * 3600, "in 3 hours"),
        (-3 * 86400 - 1, "in 3 days"),
    ],
)
def test_the_age_is_in_the_largest_unit_and_never_negative(seconds: int, told: str) -> None:
    assert age((NOW - timedelta(seconds=seconds)).isoformat(), NOW) == told


@given(st.text(max_size=64) | st.datetimes(timezones=st.just(UTC)).map(datetime.isoformat))
def test_no_text_ends_a_command(text: str) -> None:
    """Whatever a record holds as its time."""
    assert local_time(text, CET) or not text
    told = age(text, NOW)
    assert told is None or "-" not in told


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0, "under 1 s"), (5, "5 s"), (125, "2 min 5 s"), (3600, "1 h"), (90061, "1 d 1 h"), (86460, "1 d")],
)
def test_a_duration_is_told_in_its_two_largest_units(seconds: int, told: str) -> None:
    assert describe_duration(timedelta(seconds=seconds)) == told


def test_a_clock_that_was_put_back_tells_no_duration() -> None:
    assert duration("2026-01-01T00:00:01Z", "2026-01-01T00:00:00Z") is None
    assert duration("2026-01-01T00:00:00Z", "2026-01-01T01:00:05+01:00") == timedelta(seconds=5)


@pytest.mark.parametrize(
    "zone", ["", "Nowhere/None", ":", "A" * 300, "<\x1b[31m>-3", "/etc/passwd", "XYZ999"]
)
def test_no_zone_of_the_environment_ends_a_command(zone: str, bench: Bench) -> None:
    """A real process at a terminal, as a zone is read once a process."""
    _ = bench.make("r1", "required")
    ended = bench.at_a_terminal("status", "r1", env={"TZ": zone})
    assert ended.status == 0
    assert "pinned to  required (created 20" in ended.out
