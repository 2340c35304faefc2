"""The arithmetic of ratios, and the page out of fixed results."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from benchmarks.line import Aim, AtLeast, AtMost, Figure, Line, NoAim
from benchmarks.page import page_of, plain_row
from benchmarks.plot import plot_of
from benchmarks.ratio import Ratio, is_met, ratio_of
from benchmarks.results import Machine, Measured, Results, read_results, write_results


def a_line(work: str, aim: Aim) -> Line:
    """A line that is never measured."""
    return Line(work, "a <peer>", Figure(lambda _: 1.0), Figure(lambda _: 1.0), aim)


LINES = [a_line("fast", AtLeast(7)), a_line("dear", AtMost(1.5)), a_line("told", NoAim())]
RESULTS = Results(
    date="2026-01-01",
    machine=Machine(
        processor="a processor",
        cores=2,
        kernel="Linux 6",
        python="CPython 3.11.0",
        versions={"msgspec": "0.19"},
    ),
    quick=False,
    lines=[
        Measured(name="fast / a <peer>", ours=[1.0, 2.0, 3.0], theirs=[16.0, 18.0, 15.0]),
        Measured(name="dear / a <peer>", ours=[4.0, 4.0, 4.0], theirs=[2.0, 2.0, 2.0]),
        Measured(name="told / a <peer>", ours=[2.0], theirs=[1.0]),
        Measured(name="a line of an older version", ours=[1.0], theirs=[1.0]),
    ],
)


def test_a_ratio_is_the_median_of_the_pairs_with_their_quartiles() -> None:
    """The pairs are 16, 9 and 5."""
    assert ratio_of(RESULTS.lines[0], AtLeast(7)) == Ratio(9.0, 7.0, 12.5)


def test_a_cost_is_the_other_way_round() -> None:
    """Ours takes twice what the peer takes."""
    assert ratio_of(RESULTS.lines[1], AtMost(1.5)) == Ratio(2.0, 2.0, 2.0)


def test_one_pair_is_its_own_spread() -> None:
    """No quartiles of one."""
    assert ratio_of(RESULTS.lines[2], NoAim()) == Ratio(0.5, 0.5, 0.5)


@pytest.mark.parametrize(
    ("aim", "value", "met"),
    [
        (AtLeast(7), 7.0, True),
        (AtLeast(7), 6.99, False),
        (AtMost(1.5), 1.5, True),
        (AtMost(1.5), 1.51, False),
        (NoAim(), 0.1, None),
    ],
)
def test_an_aim_is_met_at_its_border(aim: Aim, value: float, met: bool | None) -> None:
    """The border belongs to what is met."""
    assert is_met(Ratio(value, 0.0, 99.0), aim) is met


def test_the_page_tells_each_line_its_aim_and_why_one_is_not_met() -> None:
    """And leaves out what is no line any more."""
    page = page_of(RESULTS, LINES)
    assert "| fast | a <peer> | 9.00 times as fast (7.00 to 12.5) | at least 7 | met |" in page
    assert "| dear | a <peer> | 2.00 times the cost (2.00 to 2.00) | at most 1.5 | **not met** |" in page
    assert "| told | a <peer> | 0.50 times as fast (0.50 to 0.50) |  | told only |" in page
    assert "* **dear, beside a <peer>**: not looked into yet." in page
    assert "older version" not in page
    for fact in (
        "2026-01-01",
        "a processor, 2 cores, Linux 6",
        "CPython 3.11.0",
        "msgspec 0.19",
        "make bench",
    ):
        assert fact in page


def test_a_row_for_the_terminal() -> None:
    """The same, in one line."""
    row = plain_row(LINES[1], Ratio(2.0, 1.9, 2.1))
    assert row == "dear | a <peer> | 2.00 times the cost (1.90 to 2.10) | at most 1.5 | not met"


def test_the_plot_is_svg_with_a_row_for_each_aim() -> None:
    """Labels are escaped; met and missed are told apart by more than colour."""
    root = ET.fromstring(plot_of(RESULTS, LINES))  # noqa: S314 - our own text
    texts = ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "fast / a <peer>" in texts
    assert "told / a <peer>" not in texts
    dots = [dot.get("class") for dot in root.iter("{http://www.w3.org/2000/svg}circle")]
    assert dots == ["met", "missed"]


def test_results_read_back_equal(tmp_path: Path) -> None:
    """So that the page can be made anew from them."""
    write_results(tmp_path / "results.json", RESULTS)
    assert read_results(tmp_path / "results.json") == RESULTS
