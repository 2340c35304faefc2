"""The exact walk and the look for repeated keys, against the standard library's whole reader."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.strategies import BuiltState, Members, Refused, oracle_json, refused, states
from sandbox_pin import StateError
from sandbox_pin.core.exact_json import Member, refuse_repeated_keys, walk_members


@given(states())
def test_a_walk_finds_every_member_where_it_stands(state: BuiltState) -> None:
    """Each key in order, repeated ones included, and the exact bytes of its value."""
    found = walk_members(state.raw)
    assert [(member.start, member.end) for member in found] == [
        (part.start, part.end) for part in state.parts
    ]
    assert [member.key for member in found if member.key.isascii()] == [
        part.key for part in state.parts if part.key.isascii()
    ]


@st.composite
def mutated_states(draw: st.DrawFn) -> bytes:
    """A state with a cut or an insertion somewhere."""
    raw = draw(states()).raw
    start = draw(st.integers(0, len(raw)))
    end = draw(st.integers(start, min(len(raw), start + 6)))
    piece = draw(
        st.sampled_from([b"", b",", b":", b"{", b"}", b"[", b'"', b"\\", b"1", b" ", b"\x0b", b"\0"])
    )
    return raw[:start] + piece + raw[end:]


@given(mutated_states() | st.binary(max_size=20))
def test_a_walk_reads_what_the_standard_library_reads(raw: bytes) -> None:
    """The walk accepts exactly the objects that the standard library does; else a StateError.

    Of bytes that are no UTF-8 the library has no one reading; there only the kind of outcome is held.
    """
    value = oracle_json(raw)
    found = outcome(raw)
    if is_utf8(raw):
        assert isinstance(found, Refused) != isinstance(value, Members)
    if not isinstance(found, Refused):
        assert isinstance(value, Members)
        assert len(found) == len(value)


def outcome(raw: bytes) -> list[Member] | Refused:
    """What a walk gives; any exception but ``StateError`` goes through and fails the test."""
    try:
        return walk_members(raw)
    except StateError as error:
        return refused(error)


def is_utf8(raw: bytes) -> bool:
    """Whether the bytes are UTF-8."""
    try:
        _ = raw.decode()
    except UnicodeDecodeError:
        return False
    return True


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b"[]", r"found \[\]"),
        (b"null", "found null"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b'{"a":' + b"[" * 10**5 + b"]" * 10**5 + b"}", "nested too deeply"),
        (b"{1:2}", "not a string"),
        (b'{"a" 1}', "':'"),
        (b'{"a":1 "b":2}', "','"),
        (b'{"a":1,}', "not JSON"),
        (b'{"a":1', "','"),
        (b"{", "not JSON"),
        (b"{\x0b}", "not JSON"),
        (b"\x0c{}", "begins no object"),
        (b'{"a"\x85:1}', "not UTF-8|':'"),
        (b'{"a":\xc2\xa01}', "not JSON"),
        (b"{} {}", "more text"),
    ],
)
def test_each_way_not_to_be_an_object_is_told(raw: bytes, words: str) -> None:
    """An operator reads what is wrong with the file."""
    with pytest.raises(StateError, match=words):
        _ = walk_members(raw)


def depth_of_repetition(value: object) -> bool:
    """Whether an object anywhere in this value has a key twice."""
    if isinstance(value, Members):
        return len(dict(value)) != len(value) or any(depth_of_repetition(inner) for _, inner in value)
    return isinstance(value, list) and any(map(depth_of_repetition, value))


@given(states())
def test_a_repeated_key_at_any_depth_is_found(state: BuiltState) -> None:
    """Refused exactly where the standard library sees a key twice in one object."""
    value = oracle_json(state.raw)
    assert not isinstance(value, Refused)
    if depth_of_repetition(value):
        with pytest.raises(StateError, match="given twice"):
            refuse_repeated_keys(state.raw)
    else:
        refuse_repeated_keys(state.raw)


@pytest.mark.parametrize("raw", [b"[" * 10**5, b"{", b'{"a":\xff}'])
def test_what_the_second_reader_can_not_read_is_a_state_error(raw: bytes) -> None:
    """No other exception leaves the look for repeated keys."""
    with pytest.raises(StateError):
        refuse_repeated_keys(raw)
