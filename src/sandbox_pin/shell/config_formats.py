"""From the text of a configuration file to a plain value: TOML and JSON; YAML has a module of its own.

Each parser is imported by the format that needs it: most commands read one file, or none.
"""

import os.path
import re
from collections.abc import Callable

from sandbox_pin.core.spelling import abridged, quoted
from sandbox_pin.errors import ConfigurationError

_MOST_DOTTED_PARTS = 64

# One token of TOML a match, as far as dots matter: comments and strings are stepped over, and a chain is
# names joined by dots (a number looks like one of two). Possessive repeats, and strings that may end with the
# file, keep the search linear: nothing is looked at twice.
_NAME = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\[^\n])*+"|'[^'\n]*+')"""
_TOML_TOKEN = re.compile(
    rf"""
      \#[^\n]*+
    | \"\"\"(?:[^"\\]|\\.|"(?!\"\"))*+(?:\"{{3,5}}|\\?\Z)
    | '''(?:[^']|'(?!''))*+(?:'{{3,5}}|\Z)
    | (?P<chain>{_NAME}(?:[ \t]*+\.[ \t]*+{_NAME})*+)
    | ["'][^\n]*+
    """,
    re.VERBOSE | re.DOTALL,
)
_LONG_CHAIN = re.compile(rf"{_NAME}(?:[ \t]*+\.[ \t]*+{_NAME}){{{_MOST_DOTTED_PARTS},}}", re.DOTALL)


def choose_parser(path: str) -> Callable[[str], object]:
    """The parser for a file, by the end of its name.

    A parser raises ``ConfigurationError``, without the file's name, for whatever is wrong with the text.

    Raises:
        ConfigurationError: the name ends in none that is supported.
    """
    extension = os.path.splitext(path)[1]
    parser = _PARSERS.get(extension)
    if parser is None:
        raise ConfigurationError(
            f"the file's extension is {quoted(extension)}"
            if extension
            else "the file's name has no extension",
            file=path,
            expected=f"one of {', '.join(_PARSERS)}",
        )
    return parser


def _parse_toml(text: str) -> object:
    # Imported here for a quick start: see the top of this file.
    from tomllib import loads  # noqa: PLC0415

    # The parser's time grows with the square of a dotted name's length: 100 000 parts take minutes.
    for token in _TOML_TOKEN.finditer(text):
        if token["chain"] and _LONG_CHAIN.match(token["chain"]):
            line = text.count("\n", 0, token.start()) + 1
            raise ConfigurationError(
                f"line {line} has a name of more than {_MOST_DOTTED_PARTS} dotted parts",
                expected=f"at most {_MOST_DOTTED_PARTS}",
            )
    try:
        return loads(text)
    except (ValueError, RecursionError) as error:
        raise _not_parsed("TOML", error) from error


def _parse_json(text: str) -> object:
    # Imported here for a quick start: see the top of this file.
    from json import loads  # noqa: PLC0415

    if not text.strip():
        return {}
    try:
        # NaN and lone surrogates are let through: in the orchestrator's part they are its own affair, and in
        # ours no number and no unknown word is a mode.
        return loads(text, object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError) as error:
        raise _not_parsed("JSON", error) from error


def _parse_yaml(text: str) -> object:
    try:
        # Imported here because PyYAML comes with an extra, and is slow to start.
        from sandbox_pin.shell.config_yaml import parse_yaml  # noqa: PLC0415
    except ImportError as error:
        raise ConfigurationError(
            "YAML can't be read here: PyYAML is not installed",
            remedy="Install it with: pip install 'sandbox-pin[yaml]'",
        ) from error
    return parse_yaml(text)


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    table: dict[str, object] = {}
    for key, value in pairs:
        if key in table:
            raise ConfigurationError(
                f"the key {quoted(key)} is there twice in one object",
                expected="each key once",
                remedy="Keep the one that is meant: readers differ in which of the two they take",
            )
        table[key] = value
    return table


def _not_parsed(name: str, error: ValueError | RecursionError) -> ConfigurationError:
    reason = "it is nested too deep" if isinstance(error, RecursionError) else abridged(str(error))
    return ConfigurationError(f"can't be parsed as {name}: {reason}", expected=f"one {name} document")


_PARSERS: dict[str, Callable[[str], object]] = {
    ".toml": _parse_toml,
    ".json": _parse_json,
    ".yaml": _parse_yaml,
    ".yml": _parse_yaml,
}
