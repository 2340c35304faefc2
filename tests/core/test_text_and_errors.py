"""What a person reads: printable, located, and saying what to do."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sandbox_pin
from core.strategies import any_texts
from sandbox_pin import (
    BusyError,
    ConfigurationError,
    PlacementError,
    SandboxPinError,
    StateError,
    StorageError,
    UncertainStorageError,
    UsageError,
)
from sandbox_pin.text import shown

FAMILY = [
    SandboxPinError,
    UsageError,
    StateError,
    StorageError,
    UncertainStorageError,
    BusyError,
    ConfigurationError,
    PlacementError,
]


@given(any_texts)
def test_a_shown_text_is_printable(text: str) -> None:
    """No control character, line end, override or lone surrogate gets through, and showing twice is once."""
    assert shown(text).isprintable()
    assert shown(shown(text)) == shown(text)


@given(any_texts)
def test_a_printable_text_is_shown_as_it_is(text: str) -> None:
    """And so is the printable part of any text."""
    printable = "".join(filter(str.isprintable, text))
    assert shown(printable) == printable
    if text.isprintable():
        assert shown(text) == text


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("two\nlines", r"two\nlines"),
        ("\x1b[31m", r"\x1b[31m"),
        ("\0", r"\x00"),
        ("\x85\u2028", r"\x85\u2028"),
        ("\u202eabc", r"\u202eabc"),
        ("\ud800", r"\ud800"),
        ("é €", "é €"),
        ("\U000e0001", r"\U000e0001"),
    ],
)
def test_what_is_not_printable_is_an_escape(text: str, escaped: str) -> None:
    """One by one, the ways to forge a line or a colour."""
    assert shown(text) == escaped


@pytest.mark.parametrize("error", FAMILY)
def test_an_error_says_all_that_it_knows(error: type[SandboxPinError]) -> None:
    """File, field, problem, expected and remedy, each where it is known."""
    whole = error("bad", file="f", field="a.b", expected="good", remedy="Mend it.")
    assert str(whole) == "f: a.b: bad; expected good. Mend it."
    assert str(error("bad")) == "bad"
    assert str(error("bad", field="a")) == "a: bad"
    assert str(error("bad", file="f", remedy="Mend it.")) == "f: bad. Mend it."


@pytest.mark.parametrize("error", FAMILY)
def test_a_located_error_keeps_what_it_had(error: type[SandboxPinError]) -> None:
    """The type, problem and expectation stay; place and remedy are added, never overwritten by nothing."""
    bare = error("bad", expected="good")
    there = bare.located(file="f", under="pin", remedy="Mend it.")
    assert type(there) is error
    assert str(there) == "f: pin: bad; expected good. Mend it."
    again = error("bad", file="f", field="mode", remedy="First.").located(under="pin", remedy="Second.")
    assert str(again) == "f: pin.mode: bad. First."
    assert str(again.located()) == str(again)
    assert str(again.located(file="g")) == "g: pin.mode: bad. First."
    assert str(bare) == "bad; expected good"
    assert bare.located(file="f").field is None


@given(any_texts, st.none() | any_texts, st.none() | any_texts, st.none() | any_texts)
def test_no_control_character_of_an_error_reaches_a_terminal(
    problem: str, file: str | None, field: str | None, expected: str | None
) -> None:
    """What was found may come from an agent's hand."""
    error = SandboxPinError(problem, file=file, field=field, expected=expected)
    assert str(error).isprintable()
    assert str(copy.copy(error)) == str(error)


def test_the_family_tells_whose_fault_it_is() -> None:
    """One base; a placement is a configuration, an uncertain write is a failed one, and no other kinship."""
    parents = {error: error.__base__ for error in FAMILY}
    assert parents.pop(SandboxPinError) is Exception
    assert parents.pop(PlacementError) is ConfigurationError
    assert parents.pop(UncertainStorageError) is StorageError
    assert set(parents.values()) == {SandboxPinError}
    assert all(error.__name__ in sandbox_pin.__all__ for error in FAMILY)
