"""The public names: all documented, all there, and nothing heavy behind them."""

import ast
import inspect
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Final

import msgspec
import pytest

import sandbox_pin

PROGRAM: Final = "import sys, sandbox_pin; print('\\n'.join(sys.modules))"
HEAVY: Final = {"click", "subprocess", "fcntl", "ctypes", "platformdirs", "yaml", "pwd", "tomllib", "socket"}


def test_importing_the_package_imports_the_core_alone() -> None:
    """No command line, process, lock or folder look-up, and nothing of the shell."""
    result = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    loaded = set(result.stdout.split())
    assert "sandbox_pin.core.rule" in loaded
    assert not HEAVY & loaded
    assert not {name for name in loaded if name.startswith(("sandbox_pin.shell", "sandbox_pin.cli"))}


def test_the_public_list_is_sorted_and_whole() -> None:
    """Each public name once, and each that the package imports from its core is public."""
    names = sandbox_pin.__all__
    assert list(names) == sorted(set(names))
    imported = {
        name
        for name, value in vars(sandbox_pin).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    assert imported == set(names)


def documented_aliases() -> set[str]:
    """The names in the core whose assignment is followed by a text: the way to document an alias."""
    found: set[str] = set()
    for path in Path(inspect.getfile(sandbox_pin)).parent.rglob("core/*.py"):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        for statement, follower in pairwise(body):
            if (
                isinstance(statement, ast.AnnAssign)
                and isinstance(statement.target, ast.Name)
                and isinstance(follower, ast.Expr)
                and isinstance(follower.value, ast.Constant)
            ):
                found.add(statement.target.id)
    return found


@pytest.mark.parametrize("name", sandbox_pin.__all__)
def test_each_public_name_is_documented(name: str) -> None:
    """A class and a function by its docstring, an alias by the text behind it."""
    value = getattr(sandbox_pin, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
    else:
        assert name in documented_aliases()


@pytest.mark.parametrize("name", sandbox_pin.__all__)
def test_each_public_record_is_frozen_and_can_be_a_key(name: str) -> None:
    """No record can be changed after it was made."""
    value = getattr(sandbox_pin, name)
    if inspect.isclass(value) and issubclass(value, msgspec.Struct):
        assert value.__struct_config__.frozen
        assert value.__struct_config__.eq
        assert value.__hash__ is not None
