"""One line of a run log: an entry, or what stands in its place (design: "The log")."""

from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

from sandbox_pin.core.event import Entry
from sandbox_pin.core.exact_json import is_whole_object, refuse_repeated_keys
from sandbox_pin.core.explain import explained
from sandbox_pin.core.record import EXPECTED
from sandbox_pin.core.strict_json import DecodingError
from sandbox_pin.errors import ConfigurationError, StateError

LINE_LIMIT: Final = 1024 * 1024
"""The longest line that can be an entry, in bytes, its line end left out; a longer one is garbage."""

TOO_LONG: Final = "longer than any entry"
"""What is wrong with a longer one."""

_DECODER: Final = msgspec.json.Decoder(Entry)
_ENCODER: Final = msgspec.json.Encoder()
_EXPECTED: Final = {
    "": "an entry that this version knows (a newer one needs a newer sandbox-pin)",
    "event": "an event that this version knows (a newer one needs a newer sandbox-pin)",
    "kind": "local or remote",
    **{f"pin.{field}".rstrip("."): right for field, right in EXPECTED.items()},
}

# Three characters end a line for some readers though not for JSON: no path may forge a second entry.
_LINE_ENDS: Final = {end.encode(): rf"\u{ord(end):04x}".encode() for end in "\x85\u2028\u2029"}


class Garbage(Struct, frozen=True, kw_only=True):
    """A line that is no whole entry: torn by a crash, or never JSON. It is passed over, and told.

    Attributes:
        why: what is wrong with it.
    """

    why: str


class Damaged(Struct, frozen=True, kw_only=True):
    """A whole line that is no entry which this version knows.

    Attributes:
        why: what is wrong with it.
    """

    why: str


LogLine: TypeAlias = Entry | Garbage | Damaged
"""What one line of a run log is, whatever it is."""


def decode_line(line: bytes) -> Entry | Garbage:
    """Reads one line of a run log, without its line end.

    Returns:
        The entry, or ``Garbage`` where the line is no JSON object (torn, cut, overwritten) or too long.

    Raises:
        StateError: the line is a whole JSON object, but no entry that this version knows: that is damage, as
            the pin that it should carry would be passed over.
    """
    if len(line) > LINE_LIMIT:
        return Garbage(why=TOO_LONG)
    try:
        entry = _DECODER.decode(line)
    except DecodingError as error:
        if not is_whole_object(line):
            return Garbage(why=explained(error, line, {}).problem)
        raise explained(error, line, _EXPECTED) from None
    if _ENCODER.encode(entry) != line:
        refuse_repeated_keys(line)
    return entry


def encode_line(entry: Entry) -> bytes:
    """One line, without its line end, that every reader of lines takes for one.

    Raises:
        ConfigurationError: it would be too long, or would not read back equal, as a value in it is of a type
            or length that no reader takes.
    """
    try:
        line = _ENCODER.encode(entry)
        for end, escape in _LINE_ENDS.items():
            line = line.replace(end, escape)
        if decode_line(line) == entry:
            return line
        too_long = len(line) > LINE_LIMIT
        problem = f"it is over {LINE_LIMIT} bytes" if too_long else "it would read back as another value"
    except (StateError, ValueError, TypeError, OverflowError, RecursionError) as error:
        problem = str(error)
    raise ConfigurationError(f"this entry can't be logged: {problem}")


def tell_line(line: bytes) -> LogLine:
    """As ``decode_line``, with damage as a value."""
    try:
        return decode_line(line)
    except StateError as error:
        return Damaged(why=str(error))
