"""What holds for every value that the shell hands out: it is frozen, and built by name."""

import pytest
from msgspec import Struct

import sandbox_pin.shell
from core.structs import structs_of
from sandbox_pin.shell.bubblewrap import Report

PUBLIC = [struct for struct in structs_of(sandbox_pin.shell) if not struct.__name__.startswith("_")]


@pytest.mark.parametrize("struct", PUBLIC)
def test_a_value_never_changes(struct: type[Struct]) -> None:
    assert struct.__struct_config__.frozen


# bwrap's report is made by its own reader alone.
@pytest.mark.parametrize("struct", [struct for struct in PUBLIC if struct is not Report])
def test_a_value_is_built_by_name(struct: type[Struct]) -> None:
    """Two texts in the wrong order would pass a type checker: not even the first is taken by its position."""
    with pytest.raises(TypeError, match="positional"):
        _ = struct(None)
