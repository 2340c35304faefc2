"""What a failed decoding means, in our words: the field, what was found, what was expected."""

from collections.abc import Mapping

import msgspec

from sandbox_pin.errors import StateError

DecodingError = (msgspec.MsgspecError, UnicodeError, RecursionError)
"""All that msgspec's decoders raise on any input (checked by fuzzing)."""

_PLACE = " - at `$"
_MISSING = "Object missing required field `"
_UNKNOWN = "Object contains unknown field `"


def explained(error: Exception, expected: Mapping[str, str]) -> StateError:
    """The ``StateError`` that tells what a decoder's error means.

    Args:
        error: one of ``DecodingError``.
        expected: for each field what would have been right; under ``""`` the whole.
    """
    if isinstance(error, RecursionError):
        return StateError("nested too deeply to be read", expected=expected.get(""))
    if isinstance(error, UnicodeError):
        return StateError("not UTF-8", expected=expected.get(""))
    problem, _, place = str(error).partition(_PLACE)
    field = place.strip("`.")
    if problem.startswith(_MISSING):
        field, problem = _joined(field, problem.removeprefix(_MISSING)), "missing"
    elif problem.startswith(_UNKNOWN):
        return StateError(
            "an unknown key",
            field=_joined(field, problem.removeprefix(_UNKNOWN)),
            expected=expected.get(field),
        )
    return StateError(
        problem[:1].lower() + problem[1:],
        field=field or None,
        expected=expected.get(field) or expected.get(""),
    )


def _joined(place: str, field: str) -> str:
    return ".".join(part for part in (place, field.strip("`")) if part)
