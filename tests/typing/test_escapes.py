"""Ways around the type checkers: none in the core, and elsewhere each with its reason beside it."""

import ast
import io
import re
import tokenize
from pathlib import Path
from typing import Final

import pytest

import sandbox_pin

SOURCE: Final = Path(sandbox_pin.__file__).parent
FILES: Final = sorted(SOURCE.rglob("*.py"))

IGNORE: Final = re.compile(r"#\s*(type|pyright|ty|pyrefly|mypy)\s*:\s*[a-z]")


def escapes(text: str) -> list[tuple[int, str]]:
    """The lines with ``Any``, ``cast``, ``type: ignore`` and their likes, and what stands there."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.ImportFrom(module="typing" | "typing_extensions"):
                found += [(node.lineno, name.name) for name in node.names if name.name in {"Any", "cast"}]
            case ast.Attribute(attr="Any" | "cast" as name, value=ast.Name(id="typing" | "t")):
                found.append((node.lineno, name))
            case ast.Name(id="Any" | "cast" as name):
                found.append((node.lineno, name))
            case _:
                pass
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and IGNORE.search(token.string):
            found.append((token.start[0], token.string))
    return found


def reason(line: str) -> bool:
    """Whether words follow the last code of a line's comment."""
    return re.search(r"#.*(?:\]|noqa: [A-Z0-9, ]+|#) *(?:-|#) *\w+ \w+", line) is not None


def test_the_scan_sees_each_way_around() -> None:
    text = (
        "from typing import Any, cast\nx: Any = cast(int, 1)\ny = z  # type: ignore[misc]\n# pyright: basic\n"
    )
    assert sorted({name for _, name in escapes(text)}) == [
        "# pyright: basic",
        "# type: ignore[misc]",
        "Any",
        "cast",
    ]
    assert escapes("Anything = 'Any  # type: ignore'\n") == []
    assert reason("y = z  # type: ignore[misc]  # the system may lie")
    assert not reason("y = z  # type: ignore[misc]")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_checker_is_silenced_without_a_reason_and_none_in_the_core(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    found = escapes(text)
    if "core" in path.relative_to(SOURCE).parts:
        assert found == []
    lines = text.splitlines()
    assert [what for number, what in found if not reason(lines[number - 1])] == []
