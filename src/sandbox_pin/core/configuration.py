"""Our part of an orchestrator's configuration file: the table ``sandbox``, read strictly.

1. The rest of the file belongs to the orchestrator: its keys and values are neither read nor judged.
2. What is *meant* for us but is not ours to the letter (``Sandbox``, ``sandbx``, ``"sandbox.mode"``) is an
   error. Passed over in silence it would leave the default, the weakest mode, in place of what was asked for.
3. Inside our table every key and value is known, or it is an error that names the nearest right one.
4. No value is converted: ``true``, ``1`` and ``off`` are no modes.
"""

from collections.abc import Mapping

from msgspec import Struct, convert

from sandbox_pin.core.modes import SandboxMode
from sandbox_pin.core.spelling import is_near, letters_of, nearest, quoted, shortened, within
from sandbox_pin.errors import ConfigurationError

KNOWN_BACKENDS: tuple[str, ...] = ("bubblewrap",)

TABLE = "sandbox"
_KEYS = ("mode", "backend")
_MODES = tuple(mode.value for mode in SandboxMode)
_ONE_OF_THE_MODES = f"one of {', '.join(_MODES)}"

_KINDS: Mapping[type, str] = {
    type(None): "null",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "a table",
}


class Configuration(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one file says about the sandbox; ``None`` where it says nothing."""

    file: str
    mode: SandboxMode | None = None
    backend: str | None = None


def read_configuration(document: object, *, file: str) -> Configuration:
    """What a parsed file says about the sandbox.

    Args:
        document: the whole file, as its parser gave it.
        file: the file's path, for messages and provenance.

    Returns:
        The values of the table ``sandbox``; a file without the table, or without a key of it, says nothing.

    Raises:
        ConfigurationError: the top level is no table, or an empty one (a file that was cut off looks so); a
            key looks like ``sandbox`` without being it; ``sandbox`` is no table, holds a key that is not
            known, or a value of another type or spelling.
    """
    top = _as_mapping(document)
    if top is None:
        raise ConfigurationError(
            f"the top level is {_kind(document)}", file=file, expected="a table of keys and values"
        )
    if not top:
        raise ConfigurationError(
            "the file has no key at all",
            file=file,
            expected=f"at least one key, such as {TABLE}.mode",
            remedy="To run with the built-in default, leave --config out",
        )
    _refuse_lookalikes(top, file)
    if TABLE not in top:
        return Configuration(file=file)
    table = _as_mapping(top[TABLE])
    if table is None:
        raise ConfigurationError(
            f"found {_kind(top[TABLE])}",
            file=file,
            field=TABLE,
            expected="one table",
            remedy=f"Write the mode inside it, as {TABLE}.mode",
        )
    _refuse_unknown_keys(table, file)
    # An explicit null is a wrong type, not an absent key: hence `in`, never `get`.
    mode = _read_mode(table["mode"], file) if "mode" in table else None
    backend = _read_backend(table["backend"], file) if "backend" in table else None
    return Configuration(file=file, mode=mode, backend=backend)


def mode_from_text(text: str, *, field: str, file: str | None = None) -> SandboxMode:
    """The mode that a text names, spelled exactly.

    Args:
        text: the text, from a file or from the command line.
        field: where it stood: ``sandbox.mode``, ``--mode``.
        file: the file that it stood in, if it was one.

    Raises:
        ConfigurationError: it is none of the three words. The nearest is named where one is near.
    """
    if text in _MODES:
        return SandboxMode(text)
    near = nearest(text, _MODES)
    raise ConfigurationError(
        f"unknown mode {quoted(text)}",
        file=file,
        field=field,
        expected=_ONE_OF_THE_MODES,
        # A guess from afar ("off" is nearest to "preferred") would mislead: then the three words stand alone.
        remedy=f"The nearest is {near}" if is_near(text, near) else None,
    )


def _refuse_lookalikes(top: Mapping[object, object], file: str) -> None:
    """Refuses a top-level key that is plainly meant for us but would be passed over."""
    # Once the table is there, an orchestrator's "sandboxy" is its own affair; "Sandbox" never is.
    slips = 0 if TABLE in top else 1
    for key, value in top.items():
        if not isinstance(key, str) or key == TABLE:
            continue
        letters = letters_of(key)
        if within(slips, letters, TABLE):
            raise ConfigurationError(
                f"the key {quoted(key)} looks like {TABLE!r} but is another",
                file=file,
                field=shortened(key),
                expected=f"the table {TABLE!r}, spelled exactly so",
                remedy="Rename the key",
            )
        for name in _KEYS:
            if within(slips, letters, TABLE + name) and _is_meant_for_us(key, value):
                raise ConfigurationError(
                    f"the key {quoted(key)} is one flat key, not {name!r} inside the table {TABLE!r}",
                    file=file,
                    field=shortened(key),
                    expected=f"a table {TABLE!r} with the key {name!r} in it",
                    remedy=f"Nest it: move the value to {name!r} inside {TABLE!r}",
                )


def _is_meant_for_us(key: str, value: object) -> bool:
    """Whether a flat key like ``sandbox.mode`` or ``sandbox_mode`` is ours, wrongly written.

    A path is. A single word may be the orchestrator's own key (``sandbox_mode = "workspace-write"`` is one in
    practice), so there the value must be one of our words.
    """
    if any(separator in key for separator in ".:/"):
        return True
    return isinstance(value, str) and letters_of(value) in (*_MODES, *KNOWN_BACKENDS)


def _refuse_unknown_keys(table: Mapping[object, object], file: str) -> None:
    for key in table:
        if not isinstance(key, str):
            raise ConfigurationError(
                f"a key is {_kind(key)}", file=file, field=TABLE, expected=f"the keys {' and '.join(_KEYS)}"
            )
        if key not in _KEYS:
            raise ConfigurationError(
                f"unknown key {quoted(key)}",
                file=file,
                field=f"{TABLE}.{shortened(key)}",
                expected=f"the keys {' and '.join(_KEYS)}",
                remedy=f"The nearest is {nearest(key, _KEYS)}",
            )


def _read_mode(value: object, file: str) -> SandboxMode:
    field = f"{TABLE}.mode"
    if isinstance(value, str):
        return mode_from_text(value, field=field, file=file)
    raise ConfigurationError(
        f"found {_kind(value)}",
        file=file,
        field=field,
        expected=_ONE_OF_THE_MODES,
        remedy="YAML reads off, no, on and yes as booleans: write the word itself"
        if isinstance(value, bool)
        else None,
    )


def _read_backend(value: object, file: str) -> str:
    if isinstance(value, str) and value in KNOWN_BACKENDS:
        return value
    raise ConfigurationError(
        f"unknown backend {quoted(value)}" if isinstance(value, str) else f"found {_kind(value)}",
        file=file,
        field=f"{TABLE}.backend",
        expected=" or ".join(KNOWN_BACKENDS),
        remedy="Leave the key out to keep the backend that the run is pinned to",
    )


def _as_mapping(value: object) -> Mapping[object, object] | None:
    """The value where it is a table, ``None`` where it is anything else."""
    return convert(value, dict[object, object]) if isinstance(value, dict) else None


def _kind(value: object) -> str:
    """What sort of value it is, for a message. Numbers are not shown: one of 5000 digits can't be."""
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    return _KINDS.get(type(value), f"a value of type {type(value).__name__}")
