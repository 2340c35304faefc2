"""What holds for every value of the core: it is frozen, told apart by its tag, and built by name."""

import importlib
import pkgutil
from typing import Final

import pytest
from msgspec import Struct
from msgspec.structs import fields

import sandbox_pin.core
from sandbox_pin.core.placement_facts import Identity, MountBelow, Place

BY_POSITION: Final = {Identity, Place, MountBelow}
"""Pairs whose order everyone knows."""


def structs() -> list[type[Struct]]:
    """Every public one that a module of the core defines."""
    found: list[type[Struct]] = []
    for module in pkgutil.iter_modules(sandbox_pin.core.__path__, "sandbox_pin.core."):
        names = vars(importlib.import_module(module.name))
        found += [
            value
            for name, value in names.items()
            if isinstance(value, type)
            and issubclass(value, Struct)
            and value.__module__ == module.name
            and not name.startswith("_")
        ]
    return found


@pytest.mark.parametrize("struct", structs())
def test_a_value_never_changes(struct: type[Struct]) -> None:
    assert struct.__struct_config__.frozen


@pytest.mark.parametrize("struct", [struct for struct in structs() if struct not in BY_POSITION])
def test_a_value_is_built_by_name(struct: type[Struct]) -> None:
    """Two texts in the wrong order would pass a type checker."""
    if "__annotations__" in vars(struct):
        with pytest.raises(TypeError, match="positional"):
            _ = struct(*[None] * len(fields(struct)))


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
