"""Why an aim is not met: for each line that misses its own, the profile that shows it, in a sentence."""

from typing import Final

_LOOKING_UP: Final = (
    "the decision itself is made in 0.1 µs; what costs is looking up. With Python 3.11 a member of an enum "
    "takes 0.1 µs to look up, and the strength of a mode, matched so that no mode can be forgotten, 0.5 µs, "
    "twice; the peer has plain words and one table (4.1 µs beside 1.9 µs where nothing changes)."
)
_REPEATED: Final = (
    "the best of many short runs are 0.45 µs beside 1.6 µs, which is 3.5 times. msgspec's decoding takes "
    "0.25 µs of ours, and the look for repeated keys, which the peer does not do, 0.1 µs; the rest is calls."
)

_TWO_LAUNCHES: Final = (
    'each launch is tried first, with its very arguments (design, "The gate"), so that a whole command has '
    "two launches of bwrap; beside two, it takes about 1.4 times as long. The rest is what Python imports, "
    "and what is flushed to the disk: the log twice, the state twice."
)

WHY: Final[dict[str, str]] = {
    "decode one pin, compact / pydantic, strict": _REPEATED,
    "decode one pin, as json.dumps spaces it / pydantic, strict": _REPEATED,
    "read the pin out of a state of 1 KB / json.loads": (
        "of 2.8 µs (beside 12.2 µs), msgspec's walk past everything else takes 1.0 µs, the call that sees a "
        "repeated pin 0.3 µs, decoding the record 0.5 µs; the rest is the Python that joins them. The walk "
        "and the record alone, with no check around them, would be 8 times as fast."
    ),
    "read the pin out of a state of 20 KB / json.loads": (
        "msgspec's walk past everything else takes 13.9 µs of 18.7 µs, and is itself 8 times as fast as "
        "json.loads; that leaves 2 µs for all else."
    ),
    "replace the pin in a state of 1 KB / json.loads and json.dumps": (
        "of 6.5 µs (beside 29 µs), the walk that sees a repeated pin takes 1.3 µs, the proof that the place "
        "found is the state's own pin 0.7 µs, writing the record and reading it back 0.8 µs; the rest is "
        "Python and copying."
    ),
    "decide: unchanged / dataclasses and the rule by hand": _LOOKING_UP,
    "decide: refuse / dataclasses and the rule by hand": _LOOKING_UP,
    "sandbox-pin step --mode required -- true, the whole command / "
    "python -c 'import msgspec, click', and bwrap with the same arguments": _TWO_LAUNCHES,
    "sandbox-pin run --mode required -- true, the whole command / "
    "python -c 'import msgspec, click', and bwrap with the same arguments": _TWO_LAUNCHES,
    "a durable strengthening: decided, logged, saved / bare Python, the same system calls": (
        "the quartiles lie on both sides of the aim; nearly the same code accepts, within it. What flushes "
        "take varies more than what we add."
    ),
}
"""By a line's name, from a profile of one process with Python 3.11. Told only while the aim is missed."""
