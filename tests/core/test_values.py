"""What holds for every value of the core: it is frozen, told apart by its tag, and built by name."""

from typing import Final

import pytest
from msgspec import Struct
from msgspec.structs import fields

import sandbox_pin.core
from core.structs import structs_of
from sandbox_pin.core.placement_facts import Identity, MountBelow, Place

BY_POSITION: Final = {Identity, Place, MountBelow}
"""Pairs whose order everyone knows."""


def structs() -> list[type[Struct]]:
    """Every public one of the core."""
    return [struct for struct in structs_of(sandbox_pin.core) if not struct.__name__.startswith("_")]


@pytest.mark.parametrize("struct", structs())
def test_a_value_never_changes(struct: type[Struct]) -> None:
    """Nor does what it is made from: an attribute of a base that is not frozen could be set."""
    bases = [base for base in struct.__mro__ if issubclass(base, Struct) and base is not Struct]
    assert all(base.__struct_config__.frozen for base in bases)


@pytest.mark.parametrize("struct", [struct for struct in structs() if struct not in BY_POSITION])
def test_a_value_is_built_by_name(struct: type[Struct]) -> None:
    """Two texts in the wrong order would pass a type checker: not even the first is taken by its position."""
    if fields(struct):
        with pytest.raises(TypeError, match="positional"):
            _ = struct(None)


DECODED: Final = {"configuration", "event", "record", "request", "run_state"}


@pytest.mark.parametrize("struct", structs())
def test_what_is_read_from_a_file_has_no_unknown_key(struct: type[Struct]) -> None:
    """A key that is passed over could be the one that mattered to whoever wrote it."""
    if struct.__module__.rpartition(".")[2] in DECODED and struct.__name__ not in {
        "Garbage",
        "Damaged",
        "Unpinned",
        "Disputed",
    }:
        assert struct.__struct_config__.forbid_unknown_fields


TAGS: Final = {
    "decision": ("Refuse", "Accept", "Strengthen", "Upgrade", "Unchanged"),
    "gate": ("Enforce", "RunUnenforced", "RefuseLaunch"),
    "host": ("Capable", "Incapable"),
}


def snake(name: str) -> str:
    """``RefuseLaunch`` as ``refuse_launch``."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


@pytest.mark.parametrize(
    ("field", "name"), [(field, name) for field, names in TAGS.items() for name in names]
)
def test_json_tells_a_value_by_its_own_name(field: str, name: str) -> None:
    (struct,) = [struct for struct in structs() if struct.__name__ == name]
    assert struct.__struct_config__.tag_field == field
    assert struct.__struct_config__.tag == snake(name)


@pytest.mark.parametrize("name", ["Unpinned", "Disputed"])
def test_what_stands_in_a_pin_s_place_is_told_by_its_name(name: str) -> None:
    (struct,) = [struct for struct in structs() if struct.__name__ == name]
    assert struct.__struct_config__.tag == snake(name)
    assert struct.__struct_config__.tag_field == "type"
