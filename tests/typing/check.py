"""Holds four type checkers to what the files here say: each error that is expected, and no other.

``# expect mypy=CODE pyright=CODE ty=CODE pyrefly=CODE`` above a line names the errors that must be found in
it: several codes of one checker are parted by commas, and a long comment goes on in the next. An error that
does not appear fails, one more fails.
"""

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]
BIN: Final = Path(sys.executable).parent
FILES: Final = ("tests/typing/misuse.py", "tests/typing/usage.py")


class Found(NamedTuple):
    """One error, as a checker tells it."""

    file: str
    line: int
    checker: str
    code: str


class Mypy(Struct):
    """One line of ``mypy --output json``."""

    file: str
    line: int
    code: str | None
    severity: str


class Place(Struct):
    """Where pyright found it; it counts lines from 0."""

    line: int


class Range(Struct):
    """The text that pyright means."""

    start: Place


class Diagnostic(Struct):
    """One finding of pyright's."""

    file: str
    range: Range
    severity: str
    rule: str = "no rule"


class Pyright(Struct, rename="camel"):
    """``pyright --outputjson``."""

    general_diagnostics: list[Diagnostic]


class Positions(Struct):
    """Where ty found it."""

    begin: Place


class Location(Struct):
    """The file that ty found it in."""

    path: str
    positions: Positions


class Ty(Struct):
    """One finding of ``ty check --output-format gitlab``."""

    check_name: str
    location: Location


class PyreflyError(Struct):
    """One finding of pyrefly's."""

    line: int
    path: str
    name: str


class Pyrefly(Struct):
    """``pyrefly check --output-format json``."""

    errors: list[PyreflyError]


def mypy() -> Iterable[Found]:
    """What mypy finds, as pyproject.toml has it: strict."""
    told = run("mypy", "--output", "json", *FILES)
    for line in told.splitlines():
        found = msgspec.json.decode(line, type=Mypy)
        if found.severity == "error":
            yield Found(found.file, found.line, "mypy", found.code or "no code")


def pyright() -> Iterable[Found]:
    """What pyright finds, as pyproject.toml has it: strict."""
    told = run("pyright", "--pythonpath", sys.executable, "--outputjson", *FILES)
    for found in msgspec.json.decode(told, type=Pyright).general_diagnostics:
        yield Found(relative(found.file), found.range.start.line + 1, "pyright", found.rule)


def ty() -> Iterable[Found]:
    """What ty finds."""
    told = run("ty", "check", "--python", sys.prefix, "--output-format", "gitlab", *FILES)
    for found in msgspec.json.decode(told, type=list[Ty]):
        yield Found(found.location.path, found.location.positions.begin.line, "ty", found.check_name)


def pyrefly() -> Iterable[Found]:
    """What pyrefly finds."""
    told = run(
        "pyrefly", "check", "--python-interpreter-path", sys.executable, "--output-format", "json", *FILES
    )
    for found in msgspec.json.decode(told, type=Pyrefly).errors:
        yield Found(relative(found.path), found.line, "pyrefly", found.name)


CHECKERS: Final = (mypy, pyright, ty, pyrefly)


def run(program: str, *arguments: str) -> str:
    """What a checker writes to its standard output; one that could not check at all ends this."""
    done = subprocess.run(
        [str(BIN / program), *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode not in {0, 1}:
        raise SystemExit(f"{program} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def relative(path: str) -> str:
    """The path as the other checkers write it."""
    return (ROOT / path).resolve().relative_to(ROOT).as_posix()


def expected_in(file: str) -> Iterable[Found]:
    """The errors that a file's comments name."""
    pending: list[tuple[str, str]] = []
    for number, line in enumerate((ROOT / file).read_text(encoding="utf-8").splitlines(), 1):
        said = re.fullmatch(r"\s*# expect((?: [a-z]+=[\w,-]+)+)", line)
        if said:
            pending += [
                (checker, code)
                for checker, _, codes in (word.partition("=") for word in said[1].split())
                for code in codes.split(",")
            ]
            continue
        yield from (Found(file, number, checker, code) for checker, code in pending)
        pending = []


def main() -> None:
    """Ends with status 1 where a checker finds other errors than the files expect."""
    expected = {error for file in FILES for error in expected_in(file)}
    found = {error for checker in CHECKERS for error in checker()}
    told = [f"{told_of(error)}: expected, and not found" for error in sorted(expected - found)]
    told += [f"{told_of(error)}: found, and not expected" for error in sorted(found - expected)]
    if told:
        raise SystemExit("\n".join(told))
    _ = sys.stdout.write(f"{len(expected)} expected errors: each found by its checker, and no other\n")


def told_of(error: Found) -> str:
    """The error in a line."""
    return f"{error.file}:{error.line}: {error.checker} {error.code}"


if __name__ == "__main__":
    main()
