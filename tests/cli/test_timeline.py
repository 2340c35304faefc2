"""``log --timeline`` and ``log --html``: what they tell, of whatever is in the log; the page is only text."""

import html.parser
import json
import os
import re
import stat
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.support import AT, FLAG, REQUIRED, Bench, needs_sandbox
from core.strategies import any_texts, entries
from sandbox_pin.cli.screen import Screen, columns
from sandbox_pin.cli.timeline_html import POLICY, timeline_html
from sandbox_pin.cli.timeline_text import legend_lines, timeline_lines
from sandbox_pin.core.event import LaunchEnded, LaunchStarted
from sandbox_pin.core.log_line import Damaged, Garbage, LogLine
from sandbox_pin.core.modes import RunKind, SandboxMode
from sandbox_pin.core.record import PinSource, PinV1
from sandbox_pin.core.timeline import make_timeline, timeline_rows
from sandbox_pin.shell.processes import identify

NASTY: Final = "<script>alert('1')</script>\"&\x1b[31m\u202e\u2028\n\x00\ud800"
SCREEN: Final = Screen(
    width=80, now=datetime(2026, 11, 30, 16, tzinfo=UTC), zone=timezone(timedelta(hours=1), "CET")
)
PIN: Final = PinV1(mode=SandboxMode.REQUIRED, source=PinSource.CREATED, recorded_at=AT)

lines: Final = st.lists(
    entries | st.builds(Garbage, why=any_texts) | st.builds(Damaged, why=any_texts), max_size=8
)


class Page(html.parser.HTMLParser):
    """What a browser would make of a page: its tags with their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes a tag."""
        self.tags.add(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        """Notes a text."""
        self.text += data


def page_of(log: list[LogLine], run: str = "r1") -> str:
    """The page of a log."""
    return timeline_html(make_timeline(timeline_rows(log), last=None), run=run, made_at=AT)


def launch(program: str, *, enforced: bool = True, at: str = AT) -> LaunchStarted:
    """The start of a launch."""
    return LaunchStarted(
        at=at,
        run="r1",
        kind=RunKind.LOCAL,
        pin=PIN,
        asked=PIN.mode,
        enforced=enforced,
        backend="bubblewrap" if enforced else None,
        why_not=None if enforced else "bubblewrap is not installed",
        program=program,
        workspace="/w",
        writable=(),
    )


def end(*, at: str = AT, ran: bool = True, code: int | None = 0, name: str | None = None) -> LaunchEnded:
    """The end of a launch."""
    return LaunchEnded(at=at, run="r1", kind=RunKind.LOCAL, pin=PIN, ran=ran, exit_code=code, signal=name)


def text_of(log: list[LogLine], screen: Screen | None = None) -> str:
    """The timeline of a log as text."""
    return "\n".join(timeline_lines(timeline_rows(log), screen))


# The text


def test_the_timeline_tells_each_change_of_the_pin_and_each_launch(bench: Bench) -> None:
    """Mode, who, what request caused it and whence, the flag; sandboxed or not, by what, and the end."""
    config = bench.config(REQUIRED)
    _ = bench.run("r1", "--mode", "disabled", command=("sh", "-c", "exit 3"))
    _ = bench.succeeds("unblock", "r1", "--config", config)
    _ = bench.succeeds("step", "r1", FLAG, "--", "true")
    told = bench.unchanged("log", "r1", "--timeline", status=0).out
    name = bench.log()[0]["operator"]
    for piece in (
        f"CREATED disabled by {name}\n--    asked for disabled (from --mode)",
        "-- !  20",
        "NOT sandboxed (disabled asked): the mode is disabled",
        "FAILED, exit status 3",
        f"RAISED disabled -> required by {name}\n##    asked for required (from {config})",
        f"LOWERED required -> disabled by {name}\n--    asked for disabled (from the built-in default",
        "accepted in the open, with --accept-config-change",
        "ok, exit status 0",
    ):
        assert piece in told, piece


@needs_sandbox
def test_a_sandboxed_launch_names_its_backend(bench: Bench) -> None:
    _ = bench.run("r1", "--mode", "required", command=("sh", "-c", "exit 3"))
    told = bench.succeeds("log", "r1", "--timeline").out
    assert "## >  20" in told
    assert "sandboxed by bubblewrap (required asked)" in told
    assert "FAILED, exit status 3" in told


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        (end(), "ok, exit status 0"),
        (end(code=3), "FAILED, exit status 3"),
        (end(name="SIGKILL", code=None), "ENDED BY SIGKILL"),
        (end(ran=False, code=None), "DID NOT RUN"),
        (end(code=None), "its exit status is not in the log"),
        (launch("/bin/other"), "LOST: nobody saw its end"),
        (Damaged(why="x"), "its end is not in the log"),
    ],
)
def test_each_end_of_a_launch_has_words_of_its_own(ended: LogLine, words: str) -> None:
    """In the text and on the page; what is known by a sign or a colour is known by a word too."""
    log = [launch("/bin/true"), ended]
    assert words in text_of(log)
    assert words in Page(page_of(log)).text


@pytest.mark.parametrize(
    ("ended", "words"),
    [(end(code=127), "FAILED, exit status 127"), (end(name="SIGVTALRM", code=None), "ENDED BY SIGVTALRM")],
)
def test_how_a_launch_ended_is_whole_in_the_chart_too(ended: LogLine, words: str) -> None:
    """It stands in chart and table, however long the launch took."""
    log = [launch("/bin/true"), ended]
    assert Page(page_of(log)).text.count(words) == 2


def test_a_launch_that_lives_still_runs_and_one_whose_controller_is_gone_is_lost(bench: Bench) -> None:
    """Only the state knows."""
    living = identify(os.getpid())
    assert living is not None
    folder = bench.make("r1", "required", status="running", launch=living)
    log = folder / "run.jsonl"
    started = {**bench.log()[0], "event": "launch_started", "asked": "required", "enforced": True}
    for key in ("request", "operator", "parent"):
        del started[key]
    started |= {"backend": "bubblewrap", "why_not": None, "program": "/bin/true", "writable": []}
    _ = log.write_bytes(log.read_bytes() + json.dumps(started).encode() + b"\n")
    assert "still running" in bench.succeeds("log", "r1", "--timeline").out
    bench.damage("r1", launch={"pid": living.pid, "started": living.started + 1, "boot": living.boot})
    assert "LOST: nobody saw its end" in bench.succeeds("log", "r1", "--timeline").out
    bench.damage("r1", status="ready", launch=None)
    assert "its end is not in the log" in bench.succeeds("log", "r1", "--timeline").out
    _ = (folder / "state.json").write_bytes(b"{")
    assert "its end is not in the log" in bench.succeeds("log", "r1", "--timeline").out


@pytest.mark.parametrize("output", [("--timeline",), ("--html", "page.html")])
def test_torn_and_damaged_lines_are_told_as_what_they_are(output: tuple[str, ...], bench: Bench) -> None:
    """And the status is the log's: 65."""
    path = bench.make("r1", "required") / "run.jsonl"
    _ = path.write_bytes(path.read_bytes() + b'{"event"\n{"event":"pin_removed"}\n')
    ended = bench.call("log", "r1", *output)
    assert ended.status == 65
    assert "sandbox-pin recover r1" in ended.err
    told = ended.out if output == ("--timeline",) else Page(Path("page.html").read_text("utf-8")).text
    for piece in ("TORN", "line 2, passed over", "DAMAGED", "line 3", "pin_removed"):
        assert piece in told


@given(lines, st.integers(20, 200))
@settings(max_examples=60)
def test_at_a_terminal_no_line_is_wider_than_it_and_none_holds_an_escape(
    log: list[LogLine], width: int
) -> None:
    screen = Screen(width=width, now=SCREEN.now, zone=SCREEN.zone)
    for line in (*legend_lines(screen), *timeline_lines(timeline_rows(log), screen)):
        assert columns(line) <= max(width, 30)
        assert line.isprintable()


@given(lines)
def test_elsewhere_every_text_is_whole_and_every_time_as_it_is_stored(log: list[LogLine]) -> None:
    told = text_of(log)
    for line in log:
        if isinstance(line, LaunchStarted) and line.program.isprintable():
            assert f"{line.at.encode('unicode_escape').decode()}" in told or not line.at.isascii()
            assert line.program in told


def test_the_last_rows_alone_are_shown_where_that_is_asked_for(bench: Bench) -> None:
    _ = bench.run("r1", "--mode", "disabled")
    ended = bench.succeeds("log", "r1", "--timeline", "--last", "1")
    assert "LAUNCH" in ended.out
    assert "CREATED" not in ended.out
    assert "1 older rows are left out" in ended.err


def test_a_log_of_any_length_takes_the_memory_of_a_line() -> None:
    def log(count: int) -> Iterator[LogLine]:
        for _ in range(count):
            yield launch("/bin/true")
            yield end()
            yield Garbage(why="torn")

    tracemalloc.start()
    try:
        peaks: list[int] = []
        for count in (100, 10_000):
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            for _ in timeline_lines(timeline_rows(log(count)), None):
                pass
            peaks.append(tracemalloc.get_traced_memory()[1] - before)
    finally:
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 100_000


# The page


@given(lines, any_texts)
@settings(max_examples=60)
def test_whatever_the_log_holds_is_text_on_the_page(log: list[LogLine], run: str) -> None:
    """The tags and attributes are those of a page of an empty log, or of ours; no raw control character."""
    page = Page(page_of(log, run))
    assert page.tags <= OUR_TAGS
    assert {name for name, _ in page.attributes} <= OUR_ATTRIBUTES
    assert all(line.isprintable() for line in page.text.split("\n"))
    _ = page_of(log, run).encode()


OUR_TAGS: Final = {
    *("html", "head", "meta", "title", "style", "body", "header", "main", "section", "h1", "h2", "p", "a"),
    *("bdi", "strong", "ul", "li", "table", "caption", "thead", "tbody", "tr", "th", "td", "time"),
    *("svg", "desc", "defs", "pattern", "rect", "path", "circle", "text"),
}
OUR_ATTRIBUTES: Final = {
    *("lang", "charset", "http-equiv", "content", "name", "class", "href", "id", "scope", "role", "datetime"),
    *("aria-labelledby", "aria-hidden", "data-label", "viewbox", "width", "height", "x", "y", "d"),
    *("patternunits", "patterntransform", "cx", "cy", "r"),
}


def test_markup_in_the_log_is_shown_as_it_was_written() -> None:
    page = page_of([launch(NASTY), end(name=NASTY, code=None), Garbage(why=NASTY), Damaged(why=NASTY)], NASTY)
    assert "<script" not in page
    assert page.count("&lt;script&gt;alert(&#x27;1&#x27;)&lt;/script&gt;&quot;&amp;") >= 4
    assert r"\x1b[31m\u202e\u2028\n\x00\ud800" in page


def test_the_page_asks_for_nothing_and_may_ask_for_nothing() -> None:
    """No script, no font, no address; and a policy that would stop them."""
    page = page_of([launch("/bin/true"), end()])
    assert f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">' in page
    assert POLICY == "default-src 'none'; style-src 'unsafe-inline'"
    assert page.index("Content-Security-Policy") < page.index("<style>")
    parsed = Page(page)
    assert not parsed.tags & {"script", "link", "img", "iframe", "object", "embed", "use", "image"}
    assert not [name for name, _ in parsed.attributes if name.startswith("on")]
    links = [value for name, value in parsed.attributes if name in {"href", "src", "xlink:href"}]
    assert links == ["#table"]
    assert re.findall(r"url\(([^)]*)\)", page) == ["#hatch", "#dots", "#cross"]
    assert "//" not in page.replace("<!DOCTYPE html>", "")


def test_a_very_long_text_is_cut_short_in_its_middle() -> None:
    page = page_of([launch("/start/" + "x" * 1_000_000 + "/end"), end()])
    assert len(page) < 20_000
    assert "/start/x" in page
    assert "x/end" in page


def test_who_does_not_see_the_chart_has_its_name_its_summary_and_a_table() -> None:
    page = page_of([launch("/bin/true", enforced=False), end(at="2026-01-01T00:00:05Z")])
    assert 'role="img" aria-labelledby="chart-title chart-description"' in page
    assert '<title id="chart-title">' in page
    assert "Launches: 1, of which 1 NOT sandboxed." in page
    rows = re.findall(r'<tr role="row"><td.*?</tr>', page)
    assert len(rows) == 1
    for piece in (AT, "LAUNCH", "/bin/true", "bubblewrap is not installed", "5 s: ok, exit status 0"):
        assert piece in rows[0]


def test_a_page_has_the_last_500_rows_unless_told_otherwise_and_says_so(bench: Bench) -> None:
    path = bench.make("r1", "required") / "run.jsonl"
    _ = path.write_bytes(path.read_bytes() + b"x\n" + path.read_bytes() * 501)
    _ = bench.succeeds("log", "r1", "--html", "page.html")
    assert "3 older rows are left out" in Path("page.html").read_text("utf-8")
    _ = bench.succeeds("log", "r1", "--html", "page.html", "--last", "600")
    assert "left out" not in Page(Path("page.html").read_text("utf-8")).text


# The page's file


def test_a_new_page_is_private_whole_and_nothing_else_is_left(bench: Bench) -> None:
    _ = bench.make("r1", "required")
    _ = bench.succeeds("log", "r1", "--html", "page.html")
    assert stat.S_IMODE(Path("page.html").stat().st_mode) == 0o600
    assert [path.name for path in bench.desk.iterdir()] == ["page.html"]


def test_a_link_at_the_page_s_path_is_replaced_and_not_followed(bench: Bench) -> None:
    _ = bench.make("r1", "required")
    target = bench.desk / "target"
    _ = target.write_text("kept")
    (bench.desk / "page.html").symlink_to(target)
    _ = bench.succeeds("log", "r1", "--html", "page.html")
    assert target.read_text() == "kept"
    assert not (bench.desk / "page.html").is_symlink()


@pytest.mark.parametrize("option", ["--html", "--result"])
@pytest.mark.parametrize("what", ["fifo", "link to a device", "folder", "no folder", "loop"])
def test_nothing_is_put_in_the_place_of_what_is_no_file(option: str, what: str, bench: Bench) -> None:
    """A rename onto /dev/null would take it from every program of the system."""
    _ = bench.make("r1", "disabled")
    path = bench.desk / "page"
    match what:
        case "fifo":
            os.mkfifo(path)
        case "link to a device":
            path.symlink_to("/dev/null")
        case "folder":
            path.mkdir()
        case "loop":
            path.symlink_to(path)
        case _:
            path = bench.desk / "none" / "page"
    words = ("log", "r1") if option == "--html" else ("step", "r1")
    command = () if option == "--html" else ("--", *bench.touches())
    ended = bench.unchanged(*words, option, str(path), *command, status=64)
    assert option in ended.err


@pytest.mark.parametrize(
    "words", [("--json", "--timeline"), ("--timeline", "--html", "x"), ("--last", "3"), ("--last", "0")]
)
def test_outputs_that_contradict_each_other_are_a_wrong_call(words: tuple[str, ...], bench: Bench) -> None:
    _ = bench.make("r1", "disabled")
    _ = bench.unchanged("log", "r1", *words, status=64)


def test_a_missing_log_is_damage_and_makes_no_page(bench: Bench) -> None:
    (bench.make("r1", "disabled") / "run.jsonl").unlink()
    _ = bench.unchanged("log", "r1", "--html", "page.html", status=65)
    _ = bench.unchanged("log", "r1", "--timeline", status=65)
