"""Each public name is told: its meaning, its errors, and a place on an API page."""

import ast
import builtins
import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Final

import pytest

from docs.blocks import ROOT
from sandbox_pin import SandboxPinError

MODULES: Final = tuple(
    importlib.import_module(name)
    for name in ("sandbox_pin", "sandbox_pin.errors", "sandbox_pin.shell", "sandbox_pin.testing")
    if importlib.util.find_spec(name) is not None
)
TOLD: Final = MODULES[:1] + MODULES[2:3]
"""``sandbox_pin`` and ``sandbox_pin.shell``: what only helps to test implements no section of the design."""

_RAISES: Final = re.compile(r"^Raises:\n((?:    .*\n|\n)+)", flags=re.MULTILINE)


def public_names(module: ModuleType) -> list[str]:
    """What a module promises: ``__all__``, or the classes and functions that it defines itself."""
    listed: list[str] | None = getattr(module, "__all__", None)
    if listed is not None:
        return listed
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]


def public(modules: tuple[ModuleType, ...] = MODULES) -> Iterator[object]:
    """Each public name of each module."""
    for module in modules:
        for name in public_names(module):
            yield pytest.param(module, name, id=f"{module.__name__}.{name}")


@pytest.mark.parametrize(("module", "name"), tuple(public()))
def test_each_public_name_has_its_place_on_an_api_page(module: ModuleType, name: str) -> None:
    """``docs/generate.py`` makes the pages, and this looks at what is there."""
    page = ROOT / "docs" / "api" / f"{module.__name__.replace('_', '-')}.md"
    assert f"\n::: {module.__name__}.{name}\n" in page.read_text(encoding="utf-8")


def public_functions(modules: tuple[ModuleType, ...] = MODULES) -> Iterator[object]:
    """Each public function, and each public method of a public class."""
    found: dict[FunctionType, str] = {}
    for module in modules:
        for name in public_names(module):
            value = getattr(module, name)
            if isinstance(value, FunctionType):
                found[value] = name
            elif inspect.isclass(value):
                for key, method in vars(value).items():
                    if isinstance(method, FunctionType) and not key.startswith("_"):
                        found[method] = f"{name}.{key}"
    for function, name in found.items():
        yield pytest.param(function, id=name)


def documented(function: FunctionType) -> set[type[Exception]]:
    """The errors that its docstring names under ``Raises:``."""
    section = _RAISES.search(f"{inspect.getdoc(function) or ''}\n")
    names = re.findall(r"^    (\w+):", section[1], flags=re.MULTILINE) if section else []
    return {error_named(name, function) for name in names}


def error_named(name: str, function: FunctionType) -> type[Exception]:
    """The class of this name, as the function's module knows it, or as the family or Python does."""
    errors = sys.modules["sandbox_pin.errors"]
    value = function.__globals__.get(name) or getattr(errors, name, None) or getattr(builtins, name)
    assert isinstance(value, type)
    assert issubclass(value, Exception)
    return value


class Raised(ast.NodeVisitor):
    """The errors of ours that a function's own text raises, or lets through from what it calls by name."""

    def __init__(self, function: FunctionType) -> None:
        self.found: set[type[Exception]] = set()
        self._function = function
        self._caught: list[set[type[Exception]]] = []
        self._handling: list[set[type[Exception]]] = []

    def visit_Raise(self, node: ast.Raise) -> None:
        """One that is made here; or, in a handler, the one that is handled, told further."""
        made = node.exc.func if isinstance(node.exc, ast.Call) else None
        if isinstance(made, ast.Name):
            value = self._function.__globals__.get(made.id)
            if isinstance(value, type):
                self._add({value})
        elif self._handling:
            self._add(self._handling[-1])
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """What the called function's docstring names."""
        if isinstance(node.func, ast.Name):
            value = self._function.__globals__.get(node.func.id)
            value = inspect.unwrap(value) if callable(value) else value
            if isinstance(value, FunctionType) and value.__module__.startswith("sandbox_pin."):
                self._add(documented(value))
        self.generic_visit(node)

    def visit_Try(self, node: ast.Try) -> None:
        """What is raised in the body is held against the handlers; what they raise, against those outside."""
        caught = [self._classes(handler.type) for handler in node.handlers]
        self._caught.append(set().union(*caught))
        self._visit(node.body)
        _ = self._caught.pop()
        self._visit(node.orelse)
        for handler, classes in zip(node.handlers, caught, strict=True):
            self._handling.append(classes)
            self._visit(handler.body)
            _ = self._handling.pop()
        self._visit(node.finalbody)

    def _visit(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self.visit(statement)

    def _classes(self, named: ast.expr | None) -> set[type[Exception]]:
        parts = named.elts if isinstance(named, ast.Tuple) else [named]
        names = [part.id for part in parts if isinstance(part, ast.Name)]
        return {value for name in names if isinstance(value := self._function.__globals__.get(name), type)}

    def _add(self, raised: set[type[Exception]]) -> None:
        caught = set().union(*self._caught)
        self.found |= {
            error
            for error in raised
            if issubclass(error, SandboxPinError) and not any(issubclass(error, by) for by in caught)
        }


@pytest.mark.parametrize("function", tuple(public_functions()))
def test_each_error_that_a_public_function_lets_through_is_in_its_docstring(function: FunctionType) -> None:
    """Raised by itself, or named by what it calls and not caught; a base of it will do."""
    seen = Raised(function)
    seen.visit(ast.parse(textwrap.dedent(inspect.getsource(function))))
    told = documented(function)
    assert not {error for error in seen.found if not any(issubclass(error, base) for base in told)}


@pytest.mark.parametrize("function", tuple(public_functions(TOLD)))
def test_each_argument_of_a_public_function_is_told(function: Callable[..., object]) -> None:
    """By name under ``Args:``, or in the text where that is one sentence."""
    text = inspect.getdoc(function)
    assert text
    names = [name for name in inspect.signature(function).parameters if name not in {"self", "cls"}]
    if len(names) > 1:
        assert not [
            name for name in names if re.search(rf"^    {name}:|``{name}``", text, re.MULTILINE) is None
        ]


def told_of(module: ModuleType, name: str) -> str:
    """The docstring of a public name, and of the module that it is made in."""
    value = getattr(module, name)
    made_in = getattr(value, "__module__", None)
    if made_in not in sys.modules or not str(made_in).startswith("sandbox_pin"):
        # An alias: its text stands behind it, and its values' modules tell the rest.
        return ""
    return f"{inspect.getdoc(value)}\n{sys.modules[made_in].__doc__}"


@pytest.mark.parametrize(("module", "name"), tuple(public(TOLD)))
def test_each_public_name_says_which_section_of_the_design_it_implements(
    module: ModuleType, name: str
) -> None:
    """In its docstring or in its module's; an error belongs to each that raises it, and so to none."""
    text = told_of(module, name)
    if text and getattr(module, name).__module__ != "sandbox_pin.errors":
        assert re.search(r'[Dd]esign: "', text)


def test_each_section_of_the_design_that_the_source_names_is_there() -> None:
    """A word of the table, a rule, or a heading."""
    design = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    sections = set(re.findall(r"^(?:\*\*|#+ |\| )([^*|#\n]+?)[.:]?(?:\*\*| \||$)", design, re.MULTILINE))
    named = {
        section
        for path in sorted((ROOT / "src").rglob("*.py"))
        for quoted in re.findall(r'[Dd]esign: ("[^)\n]+)', path.read_text(encoding="utf-8"))
        for section in re.findall(r'"([^"]+)"', quoted)
    }
    assert named
    assert named <= sections
