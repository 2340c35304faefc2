"""The standard library's exact decoder over one JSON object, each key seen, where msgspec can't read it.

``NaN`` and lone surrogates, which the standard library's writer puts into fields that are not ours, are let
through; a repeated key, which both libraries take, is not.
"""

from collections.abc import Callable
from json import JSONDecoder
from typing import Final, NamedTuple

from sandbox_pin.errors import StateError

OBJECT: Final = "one JSON object in UTF-8"
"""What is expected where something else was found."""

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class Member(NamedTuple):
    """One key of a JSON object, and where its value stands: ``raw[start:end]``, in bytes.

    A key that is not ASCII may not be decoded further: none of ours is.
    """

    key: str
    start: int
    end: int


def refuse_repeated_keys(raw: bytes) -> None:
    """Looks for a key that an object of this JSON text, at any depth, has twice.

    Which of the two a reader takes differs from reader to reader, so a repeated key can show one pin to
    an audit and another to a launch.

    Raises:
        StateError: a key is repeated, or the standard library can't read what msgspec could.
    """
    try:
        _ = _SEEING_EACH_KEY(raw.decode())
    except (ValueError, RecursionError) as error:
        raise StateError(f"not JSON ({error})", expected=OBJECT) from None


def walk_members(raw: bytes) -> list[Member]:
    """The members of the JSON object that ``raw`` is, in order, repeated keys included.

    Values are skipped, not kept; ``NaN`` and lone surrogates are allowed in them, as the standard library's
    writer makes them, and so are bytes that are not UTF-8.

    Raises:
        StateError: ``raw`` is not JSON, not an object, or nested deeper than can be read.
    """
    if raw.startswith(_BYTE_ORDER_MARK):
        raise StateError("a byte order mark stands first", expected=OBJECT)
    try:
        # Latin-1 maps each byte to one character, so that positions in the text are positions in the bytes.
        # JSON's own signs are ASCII, and no byte of a longer UTF-8 sequence looks like one.
        return _walk(raw.decode("latin-1"))
    except RecursionError:
        raise StateError("nested too deeply to be read", expected=OBJECT) from None
    except ValueError as error:
        raise StateError(f"not JSON ({error})", expected=OBJECT) from None


def is_whole_object(raw: bytes) -> bool:
    """Whether the text has both its braces; one nested deeper than can be read counts as whole."""
    try:
        _ = _walk(raw.decode("latin-1"))
    except (StateError, ValueError):
        return False
    except RecursionError:
        return True
    return True


def _walk(text: str) -> list[Member]:
    members: list[Member] = []
    position = _skip(text, 0)
    if position == len(text):
        raise StateError("empty", expected=OBJECT)
    if text[position] != "{":
        rest = text[position : position + 20].strip()
        raise StateError(f"found {rest}, which begins no object", expected=OBJECT)
    position = _skip(text, position + 1)
    more = not text.startswith("}", position)
    while more:
        found: tuple[object, int] = _SKIPPING.raw_decode(text, position)
        key, position = found
        if not isinstance(key, str):
            raise ValueError(f"a key that is not a string ends at byte {position}")  # noqa: TRY004 - of JSON
        start = _skip(text, _sign(text, ":", position))
        end = _SKIPPING.raw_decode(text, start)[1]
        members.append(Member(key, start, end))
        position = _skip(text, end)
        more = not text.startswith("}", position)
        if more:
            position = _skip(text, _sign(text, ",", position))
    if _skip(text, position + 1) != len(text):
        raise ValueError(f"more text after the object, at byte {position + 1}")
    return members


def _sign(text: str, sign: str, position: int) -> int:
    position = _skip(text, position)
    if not text.startswith(sign, position):
        raise ValueError(f"no {sign!r} at byte {position}")
    return position + 1


def _skip(text: str, position: int) -> int:
    """The position of the next character that is not JSON's white space (RFC 8259, section 2)."""
    while text[position : position + 1] in {" ", "\t", "\n", "\r"}:
        position += 1
    return position


def _unique(pairs: list[tuple[str, object]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise StateError("given twice", field=key, expected="each key once")
        seen.add(key)


def _unread(_: str) -> None:
    """Numbers are skipped: a giant one costs no conversion, and raises none of its errors."""


_SKIPPING = JSONDecoder(parse_int=_unread, parse_float=_unread)
_SEEING_EACH_KEY: Callable[[str], object] = JSONDecoder(object_pairs_hook=_unique, parse_int=_unread).decode
