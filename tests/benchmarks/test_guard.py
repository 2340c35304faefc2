"""The guard of instruction counts fails on what is over, and never holds a figure to nothing."""

import pytest
from benchmarks.guard import MARGIN, MARGIN_ELSEWHERE, figures_over, limits_for

COMMITTED = {
    "one": {"decode_pin": 1.0, "decide": 4.0},
    "other": {"decode_pin": 2.0, "decide": 3.0},
}
NAMES = ["decode_pin", "decide"]


def over(here: str, **counted: float) -> list[str]:
    return figures_over(counted, limits_for(here, COMMITTED, names=list(counted)))


def test_the_committed_figures_themselves_pass() -> None:
    assert over("one", **COMMITTED["one"]) == []


def test_a_figure_within_the_margin_passes() -> None:
    assert over("one", decode_pin=1.0 + 0.9 * MARGIN, decide=4.0) == []


@pytest.mark.parametrize("name", NAMES)
def test_each_figure_that_is_over_is_named(name: str) -> None:
    raised = COMMITTED["one"] | {name: COMMITTED["one"][name] * (1 + 1.1 * MARGIN)}
    assert over("one", **raised) == [name]


def test_all_that_are_over_are_named() -> None:
    assert over("one", decode_pin=9.0, decide=9.0) == NAMES


def test_a_python_without_figures_is_held_to_the_highest_committed_ones() -> None:
    assert over("unknown", decode_pin=2.0, decide=4.0) == []
    assert over("unknown", decode_pin=2.0 * (1 + 1.1 * MARGIN_ELSEWHERE), decide=4.0) == ["decode_pin"]


def test_a_figure_that_was_never_committed_is_over() -> None:
    assert over("one", decode_pin=1.0, decide=4.0, new=0.01) == ["new"]
    assert over("unknown", new=0.01) == ["new"]


def test_where_nothing_is_committed_everything_is_over() -> None:
    assert figures_over({"decide": 0.01}, limits_for("one", {}, names=["decide"])) == ["decide"]
