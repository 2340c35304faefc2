"""Writes the parts of the pages that are drawn from the code, between their marks.

Usage: generate.py [--check]. With --check nothing is written; it ends with 1, and tells which parts differ.

A part stands between ``<!-- drawn: NAME -->`` and ``<!-- end of NAME -->``; the pages below ``api/`` are
drawn whole.
"""

import contextlib
import difflib
import io
import os
import sys
from collections.abc import Callable, Iterator
from enum import Enum
from importlib import import_module, util
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Final

from sandbox_pin import (
    Decision,
    Disputed,
    PinSource,
    PinV1,
    RunKind,
    SandboxMode,
    SandboxPinError,
    SandboxRequest,
    Unpinned,
    decide,
    mode_strength,
)
from sandbox_pin import errors as family
from sandbox_pin.cli.exit_status import status_of
from sandbox_pin.cli.main import _COMMANDS, call
from sandbox_pin.shell import load_configuration

PAGES: Final = Path(__file__).parent
AT: Final = "2026-01-01T00:00:00Z"
PUBLIC: Final = ("sandbox_pin", "sandbox_pin.errors", "sandbox_pin.shell", "sandbox_pin.testing")

WRONG_CONFIGURATIONS: Final = (
    ("a.toml", '[sandbox]\nmode = "Required"'),
    ("a.toml", "[sandbox]\nmode = true"),
    ("a.toml", '[sandbox]\nmod = "required"'),
    ("a.toml", '[sandbox]\nbackend = "docker"'),
    ("a.toml", '[Sandbox]\nmode = "required"'),
    ("a.toml", '"sandbox.mode" = "required"'),
    ("a.toml", 'sandbox = "required"'),
    ("a.toml", ""),
    ("a.json", '["required"]'),
    ("a.json", '{"sandbox": {"mode": "required", "mode": "disabled"}}'),
    ("a.json", '{"sandbox": {"mode": null}}'),
    ("a.yaml", "sandbox: {mode: off}"),
    ("a.ini", "[sandbox]\nmode = required"),
    ("missing.toml", None),
)
"""A file's name and text, each of which ``load_configuration`` refuses; ``None``: there is no such file."""


def main(arguments: list[str]) -> int:
    """Writes, or compares."""
    different = 0
    for path, drawn in pages():
        committed = path.read_text(encoding="utf-8") if path.exists() else ""
        if drawn == committed:
            continue
        if arguments == ["--check"]:
            different = 1
            name = str(path.relative_to(PAGES.parent))
            lines = difflib.unified_diff(
                committed.splitlines(), drawn.splitlines(), name, "drawn", lineterm=""
            )
            print("\n".join(lines))
        else:
            _ = path.write_text(drawn, encoding="utf-8")
    return different


def pages() -> Iterator[tuple[Path, str]]:
    """Each page with a drawn part, as it should be."""
    parts: dict[str, Callable[[], str]] = {
        "decisions": decisions,
        "strengths": strengths,
        "commands": commands,
        "configuration-errors": configuration_errors,
        "exit-statuses": exit_statuses,
    }
    for path in sorted(PAGES.rglob("*.md")):
        if path.parent.name == "api":
            continue
        text = committed = path.read_text(encoding="utf-8")
        for name, draw in parts.items():
            begin, end = f"<!-- drawn: {name} -->\n", f"<!-- end of {name} -->\n"
            if begin in text:
                before, _, rest = text.partition(begin)
                text = f"{before}{begin}\n{draw()}\n{end}{rest.partition(end)[2]}"
        if text != committed or "<!-- drawn:" in text:
            yield path, text
    for name in PUBLIC:
        if util.find_spec(name) is not None:
            yield PAGES / "api" / f"{name.replace('_', '-')}.md", api_page(import_module(name))


def decisions() -> str:
    """What ``decide`` says over every pin, request, kind and flag of the one fact ``mode``."""
    rows = ["| kind | pinned | requested | without the flag | with it |", "|---|---|---|---|---|"]
    for kind, pinned, requested in product(RunKind, (None, *SandboxMode), SandboxMode):
        cells = [
            in_a_cell(
                decide(
                    Unpinned()
                    if pinned is None
                    else PinV1(mode=pinned, source=PinSource.CREATED, recorded_at=AT),
                    SandboxRequest(mode=requested),
                    kind=kind,
                    accept_config_change=flag,
                    at=AT,
                )
            )
            for flag in (False, True)
        ]
        rows.append(f"| {kind} | {pinned or 'no pin yet'} | {requested} | {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def in_a_cell(decision: Decision) -> str:
    """The decision's name, and the mode and source of the pin that it leaves."""
    pin = decision.pin
    assert not isinstance(pin, Disputed)
    return f"`{type(decision).__name__}`: {pin.mode}, {pin.source}"


def strengths() -> str:
    """What each mode gives a run of each kind."""
    rows = ["| mode | local | remote |", "|---|---|---|"]
    for mode in SandboxMode:
        cells = [f"{(found := mode_strength(mode, kind)).value} `{found.name}`" for kind in RunKind]
        rows.append(f"| `{mode}` | {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def commands() -> str:
    """Each command with its help."""
    found = [f"## sandbox-pin\n\n```text\n{printed(['--help'])}```\n"]
    found += [f"## {name}\n\n```text\n{printed([name, '--help'])}```\n" for name in _COMMANDS]
    return "\n".join(found)


def printed(arguments: list[str]) -> str:
    """What the program prints on 80 columns."""
    os.environ["COLUMNS"] = "80"
    with contextlib.redirect_stdout(io.StringIO()) as output:
        status = call(arguments)
    assert status == 0
    return "\n".join(line.rstrip() for line in output.getvalue().splitlines()) + "\n"


def configuration_errors() -> str:
    """Each wrong file, and what is said about it."""
    found: list[str] = []
    with TemporaryDirectory() as folder:
        for name, text in WRONG_CONFIGURATIONS:
            path = Path(folder, name)
            if text is not None:
                _ = path.write_text(text, encoding="utf-8")
            try:
                _ = load_configuration(str(path))
            except SandboxPinError as error:
                said = str(error).replace(f"{folder}/", "")
            else:
                raise AssertionError(f"this is read without an error: {text}")
            shown = "(there is no such file)" if text is None else text or "(an empty file)"
            found.append(f"```text\n{shown}\n```\n\n> {said}\n")
    return "\n".join(found)


def exit_statuses() -> str:
    """Each error of the family, what it means, and the status that the program ends with."""
    rows = ["| error | what it says | exit status |", "|---|---|---|"]
    for value in vars(family).values():
        if isinstance(value, type) and issubclass(value, SandboxPinError) and value is not SandboxPinError:
            meaning = (value.__doc__ or "").partition("\n")[0]
            rows.append(f"| `{value.__name__}` | {meaning} | {int(status_of(value('')))} |")
    return "\n".join(rows) + "\n"


def public_names(module: ModuleType) -> list[str]:
    """The names that a module promises, in order: ``__all__``, or all that it defines itself."""
    listed: list[str] | None = getattr(module, "__all__", None)
    if listed is not None:
        return list(listed)
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]


def options_for(value: object) -> str:
    """The words of an enumeration are shown, though most need no text of their own."""
    is_enumeration = isinstance(value, type) and issubclass(value, Enum)
    return "    options:\n      show_if_no_docstring: true\n" if is_enumeration else ""


def api_page(module: ModuleType) -> str:
    """The page of a module, out of its docstrings."""
    names = "\n".join(
        f"::: {module.__name__}.{name}\n{options_for(getattr(module, name))}" for name in public_names(module)
    )
    return f"# {module.__name__}\n\n::: {module.__name__}\n    options:\n      members: false\n\n{names}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
