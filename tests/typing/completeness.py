"""Holds the types to be whole: every public name's, every expression's, and every stub's.

1. ``pyright --verifytypes``: the type of each public name is known, and the same to every checker.
2. mypy's report of expressions: none of type ``Any`` in the modules that are public.
3. stubtest: what ``typings/`` says of a dependency is so, where that dependency is installed.
"""

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

ROOT: Final = Path(__file__).parents[2]
BIN: Final = Path(sys.executable).parent

PUBLIC: Final = (
    "sandbox_pin",
    "sandbox_pin.errors",
    "sandbox_pin.shell",
    "sandbox_pin.shell.apply",
    "sandbox_pin.shell.bubblewrap",
    "sandbox_pin.shell.config",
    "sandbox_pin.shell.durable",
    "sandbox_pin.shell.embedding",
    "sandbox_pin.shell.host",
    "sandbox_pin.shell.launch",
    "sandbox_pin.shell.placement",
    "sandbox_pin.shell.run_log",
    "sandbox_pin.shell.surroundings",
    "sandbox_pin.testing",
    "sandbox_pin.text",
)
"""The modules that public names come from; those below ``core`` and ``testing`` are public too."""


class Symbol(Struct, rename="camel"):
    """One name, as pyright reports on it."""

    name: str
    is_exported: bool
    is_type_known: bool


class Completeness(Struct):
    """Every name that the package exports."""

    symbols: list[Symbol]


class Report(Struct, rename="camel"):
    """``pyright --verifytypes --outputjson``."""

    type_completeness: Completeness


def run(*arguments: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs one of the tools that are installed beside this interpreter."""
    return subprocess.run(
        arguments, cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


def names_of_unknown_type() -> list[str]:
    """What pyright does not know the type of.

    It looks for packages with the first Python on ``PATH``, and does not follow an editable installation.
    """
    environment = {"PATH": f"{BIN}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src")}
    arguments = ("--verifytypes", "sandbox_pin", "--ignoreexternal", "--outputjson")
    done = run(str(BIN / "pyright"), *arguments, environment=environment)
    symbols = msgspec.json.decode(done.stdout, type=Report).type_completeness.symbols
    exported = [symbol for symbol in symbols if symbol.is_exported]
    if len(exported) < len(PUBLIC):
        return [f"pyright found no package: {done.stdout}{done.stderr}"]
    return [
        f"{symbol.name}: its type is not known to every checker"
        for symbol in exported
        if not symbol.is_type_known
    ]


def is_public(module: str) -> bool:
    """Whether a user may import it."""
    return module in PUBLIC or module.startswith(("sandbox_pin.core.", "sandbox_pin.testing."))


def modules_with_any() -> list[str]:
    """The public modules with an expression of type ``Any``."""
    with tempfile.TemporaryDirectory() as folder:
        done = run(
            str(BIN / "mypy"),
            "-p",
            "sandbox_pin",
            "--any-exprs-report",
            folder,
            environment={"MYPYPATH": "src"},
        )
        if done.returncode:
            return [f"mypy: {done.stdout}{done.stderr}"]
        table = Path(folder, "any-exprs.txt").read_text(encoding="utf-8")
    counts = {
        words[0]: int(words[1])
        for words in (line.split() for line in table.splitlines())
        if words and is_public(words[0])
    }
    missing = [f"{module}: mypy did not report on it" for module in PUBLIC if module not in counts]
    return missing + [
        f"{module}: {count} expressions of type Any" for module, count in counts.items() if count
    ]


def untrue_stubs() -> list[str]:
    """What stubtest has to say of each stub whose package is installed."""
    told: list[str] = []
    for folder in sorted((ROOT / "typings").iterdir()):
        if importlib.util.find_spec(folder.name) is None:
            continue
        done = run(
            sys.executable,
            "-m",
            "mypy.stubtest",
            "--ignore-missing-stub",  # a stub says what is used here, and that must be so
            folder.name,
            environment={"MYPYPATH": str(ROOT / "typings")},
        )
        if done.returncode:
            told.append(f"typings/{folder.name}: {done.stdout}{done.stderr}")
    return told


def main() -> None:
    """Ends with status 1 where a type is not whole."""
    told = [*names_of_unknown_type(), *modules_with_any(), *untrue_stubs()]
    if told:
        raise SystemExit("\n".join(told))
    _ = sys.stdout.write("every public name is typed, no public expression is Any, and every stub is true\n")


if __name__ == "__main__":
    main()
