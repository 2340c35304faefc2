"""What a failed decoding means, in our words: the field, what was found, what was expected."""

from collections.abc import Mapping
from typing import Final

from sandbox_pin.core.strict_json import find_members
from sandbox_pin.errors import StateError

_PLACE: Final = " - at `$"
_MISSING: Final = "Object missing required field `"
_UNKNOWN: Final = "Object contains unknown field `"
_RIGHT: Final = "Expected "
_LONGEST_QUOTE: Final = 60


def explained(error: Exception, raw: bytes | str, expected: Mapping[str, str]) -> StateError:
    """The ``StateError`` that tells what a decoder's error means.

    Args:
        error: one of ``DecodingError``.
        raw: what was decoded.
        expected: for each field what would have been right; under ``""`` the whole.
    """
    whole = expected.get("")
    if isinstance(error, RecursionError):
        return StateError("nested too deeply to be read", expected=whole)
    if isinstance(raw, str):
        raw = raw.encode(errors="surrogatepass")
    try:
        _ = find_members(raw)
    except StateError as shape:
        return StateError(shape.problem, expected=whole)
    message, _, place = str(error).partition(_PLACE)
    field = place.strip("`.")
    if message.startswith(_MISSING):
        field = _joined(field, message.removeprefix(_MISSING))
        return StateError("missing", field=field, expected=expected.get(field, whole))
    if message.startswith(_UNKNOWN):
        return StateError(
            "an unknown key", field=_joined(field, message.removeprefix(_UNKNOWN)), expected=whole
        )
    if not field:
        # The shape is right, so that what msgspec stumbled over is inside a text.
        return StateError("a text in it is not UTF-8, or has half a surrogate pair", expected=whole)
    right = expected.get(field, message.removeprefix(_RIGHT))
    return StateError(_found(raw, field) or message, field=field, expected=right)


def _found(raw: bytes, field: str) -> str | None:
    """What stands at a path of keys, cut to a line's length."""
    for name in field.split("."):
        try:
            members = [member for member in find_members(raw) if member.key == name]
        except StateError:
            return None
        if not members:
            return None
        raw = raw[members[-1].start : members[-1].end]
    text = raw.decode(errors="replace")
    return f"found {text}" if len(text) <= _LONGEST_QUOTE else f"found {text[:_LONGEST_QUOTE]}..."


def _joined(place: str, field: str) -> str:
    return ".".join(part for part in (place, field.strip("`")[:_LONGEST_QUOTE]) if part)
