"""Where one answer turns into another: cases next to a border, where a wrong step shows."""

from functools import cache
from itertools import product

import pytest

from core.strategies import AT
from sandbox_pin import (
    Disputed,
    FromFile,
    FromFlag,
    PinSource,
    PinV1,
    PinV2,
    Refuse,
    RunKind,
    SandboxMode,
    SandboxRequest,
    create_pin,
    decide,
)
from sandbox_pin.core.configuration import Configuration, read_configuration
from sandbox_pin.core.decision import WeakerFact
from sandbox_pin.core.exact_json import walk_members
from sandbox_pin.core.facts import Fact
from sandbox_pin.core.placement import (
    FileObject,
    Identity,
    Item,
    ItemRole,
    LaunchTree,
    Place,
    judge_placement,
)
from sandbox_pin.core.spelling import nearest, within
from sandbox_pin.core.strict_json import find_members

LOCAL, REMOTE = RunKind.LOCAL, RunKind.REMOTE
# The parent's kind and mode, the child's kind and request, and what the child is pinned to.
CHILDREN = [
    (LOCAL, "disabled", LOCAL, "disabled", "disabled"),
    (LOCAL, "preferred", LOCAL, "disabled", "preferred"),
    (LOCAL, "preferred", LOCAL, "preferred", "preferred"),
    (LOCAL, "required", LOCAL, "disabled", "required"),
    (LOCAL, "required", LOCAL, "preferred", "required"),
    (LOCAL, "disabled", LOCAL, "required", "required"),
    (LOCAL, "preferred", REMOTE, "disabled", "preferred"),
    (LOCAL, "required", REMOTE, "disabled", "preferred"),
    (LOCAL, "required", REMOTE, "preferred", "preferred"),
    (REMOTE, "disabled", LOCAL, "disabled", "disabled"),
    (REMOTE, "preferred", LOCAL, "disabled", "required"),
    (REMOTE, "preferred", LOCAL, "preferred", "required"),
    (REMOTE, "preferred", REMOTE, "disabled", "preferred"),
    (REMOTE, "required", REMOTE, "preferred", "preferred"),
]


@pytest.mark.parametrize(("parent_kind", "parent", "kind", "asked", "pinned"), CHILDREN)
def test_a_child_is_held_up_just_as_far_as_its_parent(
    parent_kind: RunKind, parent: str, kind: RunKind, asked: str, pinned: str
) -> None:
    """To the weakest mode of its own kind that is as strong, and no further."""
    above = PinV1(mode=SandboxMode(parent), source=PinSource.CREATED, recorded_at=AT)
    pin = create_pin(SandboxRequest(mode=SandboxMode(asked)), kind=kind, at=AT, parent=(above, parent_kind))
    assert pin == PinV1(mode=SandboxMode(pinned), source=PinSource.CREATED, recorded_at=AT)


def test_a_weaker_fact_says_what_was_pinned_what_is_asked_and_where_it_came_from() -> None:
    """Of a disputed backend both values, the state's first, and ``None`` for no opinion."""
    state = PinV2(mode=SandboxMode.REQUIRED, source=PinSource.CREATED, recorded_at=AT, backend="one")
    witness = PinV2(mode=SandboxMode.REQUIRED, source=PinSource.CREATED, recorded_at=AT, backend="other")
    flag, file = FromFlag(flag="--mode"), FromFile(path="f")
    for pin, asked, pinned in (
        (state, "third", ("one",)),
        (Disputed(state=state, witness=witness), "third", ("one", "other")),
        (Disputed(state=state, witness=witness), None, ("one", "other")),
    ):
        request = SandboxRequest(mode=SandboxMode.DISABLED, mode_from=flag, backend=asked, backend_from=file)
        decision = decide(pin, request, kind=REMOTE, accept_config_change=False, at=AT)
        assert decision == Refuse(
            pin=pin,
            weaker=(
                WeakerFact(fact=Fact.MODE, pinned=("required",), requested="disabled", requested_from=flag),
                WeakerFact(fact=Fact.BACKEND, pinned=pinned, requested=asked, requested_from=file),
            ),
            request=request,
            kind=REMOTE,
        )


@pytest.mark.parametrize("key", ["sandbox_mode", "SANDBOX_MODE", "sandboxMode"])
def test_one_word_with_another_s_value_is_another_s(key: str) -> None:
    """However it is written: other tools have a key of that name."""
    assert read_configuration({key: "workspace-write"}, file="c") == Configuration(file="c")


def test_a_package_in_another_file_system_holds_no_tree() -> None:
    """Even where both have the same path in theirs."""

    def folder(device: str, inode: int) -> FileObject:
        place = Place(device, "/srv")
        return FileObject(
            path="/srv", identity=Identity(inode, inode), place=place, is_folder=True, link_count=2
        )

    package = Item(role=ItemRole.PACKAGE, path="/p", folders=(), end=folder("8:1", 1), holds=True)
    assert judge_placement([package], [LaunchTree(path="/t", root=folder("8:2", 2))]) == ()


@pytest.mark.parametrize("role", [role for role in ItemRole if role is not ItemRole.LAUNCH_TREE])
def test_a_violation_says_what_the_item_is(role: ItemRole) -> None:
    """In a tree, and with a second name."""
    place = Place("8:1", "/t")
    root = FileObject(path="/t", identity=Identity(1, 1), place=place, is_folder=True, link_count=2)
    end = FileObject(
        path="/t/x", identity=Identity(1, 2), place=Place("8:1", "/t/x"), is_folder=False, link_count=2
    )
    item = Item(role=role, path="/t/x", folders=(root,), end=end)
    found = judge_placement([item], [LaunchTree(path="/t", root=root)])
    assert found
    assert {(violation.role, violation.path) for violation in found} == {(role, "/t/x")}


WORDS = [
    "".join(letters)
    for alphabet, longest in (("ab", 4), ("abc", 3))
    for length in range(longest + 1)
    for letters in product(alphabet, repeat=length)
]


@cache
def slips_between(one: str, other: str) -> int:
    """The textbook's definition: too many, missing, wrong, or two neighbours exchanged."""
    if not one or not other:
        return len(one) + len(other)
    slips = min(
        slips_between(one[:-1], other) + 1,
        slips_between(one, other[:-1]) + 1,
        slips_between(one[:-1], other[:-1]) + (one[-1] != other[-1]),
    )
    if len(one) > 1 and one[-2:] == other[-1:] + other[-2:-1]:
        slips = min(slips, slips_between(one[:-2], other[:-2]) + 1)
    return slips


@pytest.mark.parametrize("one", sorted(set(WORDS)))
def test_the_distance_of_words_is_the_textbook_s(one: str) -> None:
    for other in WORDS:
        slips = slips_between(one, other)
        assert within(slips, one, other)
        assert not within(slips - 1, one, other)


def test_two_neighbours_are_exchanged_within_a_word_alone() -> None:
    """Not its last letter with its first: three letters too many are three slips."""
    assert nearest("ababb", ["ab", "abbbc"]) == "abbbc"


KEYS = [
    *('"a"', '""', '"a:"', '"}:{"', r'"\""', r'"\":"', r'"\\"', r'"\\:"', r'"\\\""', r'"\\\":"', r'"\\\\"'),
    *(r'"a\\\"b"', r'"\"\""', r'"\\:\""', r'"\u003a\""'),
]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("other", KEYS)
@pytest.mark.parametrize("gap", ["", " ", "\n\t"])
def test_both_ways_to_find_members_find_them_in_the_same_places(key: str, other: str, gap: str) -> None:
    """However the key before is spelled: escaped quotes, and escaped escapes, do not end or open it."""
    raw = f'{gap}{{{gap}{key}{gap}:{gap}"x:{{"{gap},{gap}{other}{gap}:{gap}[1]{gap}}}{gap}'.encode()
    found = find_members(raw)
    assert found == walk_members(raw)
    assert [raw[member.start : member.end] for member in found] == [b'"x:{"', b"[1]"]
