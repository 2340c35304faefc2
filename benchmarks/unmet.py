"""Why an aim is not met: for each line that misses its own, the profile that shows it, in a sentence."""

from typing import Final

_REPEATED: Final = (
    "the best of many short runs are 0.27 µs beside 0.94 µs, which is 3.5 times; what one call more takes in "
    "either counts as much as the work. msgspec's decoding takes 0.19 µs of ours; the rest is the look for "
    "repeated keys, which the peer does not do, and the call."
)
_WALKING: Final = (
    "pysimdjson has code for AVX-512, which this processor has; msgspec's walk, which is most of ours, has "
    "none. On a processor with AVX2 alone it was 1.11 and 0.98."
)
_SHORT_STATE: Final = (
    "of 1.8 µs (beside 7.7 µs), msgspec's walk past everything else takes 0.7 µs, the attribute that sees a "
    "repeated pin 0.3 µs, decoding the record 0.3 µs; the rest is the Python that joins them. The walk and "
    "the record alone, with no check around them, would be 7.7 times as fast."
)
_TWO_LAUNCHES: Final = (
    'each launch is tried first, with its very arguments (design, "The gate"), so that a whole command has '
    "two launches of bwrap. The rest is what Python imports, and what is flushed to the disk: the log twice, "
    "the state twice."
)
_OWN_SHARE: Final = (
    "of 16 ms, flushing log and state to the disk takes 3 ms, the checks of where everything lies 3 ms, two "
    "guarded forks 2 ms; the launch itself waits 5 ms longer than a bare one, for its guardian and for what "
    "ends with the sandbox. What is left, some 3 ms, is reading, deciding and writing in Python."
)
_IN_PYTHON: Final = (
    "of 52 µs a run in one process, opening and reading folder, state and log takes 14 µs, decoding the "
    "state 12 µs and the log's last entries 5 µs, and the rest, joining, judging, counting and writing the "
    "row, is Python. The peers read the state alone, and look at nothing but its text."
)

WHY: Final[dict[str, str]] = {
    "decode one pin, compact / pydantic, strict": _REPEATED,
    "decode one pin, as json.dumps spaces it / pydantic, strict": _REPEATED,
    "read the pin out of a state of 1 KB / json.loads": _SHORT_STATE,
    "read the pin out of a state of 1 KB / pysimdjson": _WALKING,
    "read the pin out of a state of 20 KB / json.loads": (
        "msgspec's walk past everything else takes 13 µs of 15 µs, and is itself 7 times as fast as "
        "json.loads."
    ),
    "read the pin out of a state of 20 KB / pysimdjson": _WALKING,
    "replace the pin in a state of 1 KB / json.loads and json.dumps": (
        "of 3.8 µs (beside 18 µs), the walk that sees a repeated pin takes 1.3 µs, the proof that the place "
        "found is the state's own pin 0.7 µs, writing the record and reading it back 0.6 µs; the rest is "
        "Python and copying."
    ),
    "sandbox-pin explain / python -c 'import msgspec, click'": (
        "the quartiles lie on both sides of the aim. It tries a launch, as the next command would."
    ),
    "sandbox-pin step --mode required -- true, the whole command / "
    "python -c 'import msgspec, click', and bwrap with the same arguments": _TWO_LAUNCHES,
    "sandbox-pin run --mode required -- true, the whole command / "
    "python -c 'import msgspec, click', and bwrap with the same arguments": _TWO_LAUNCHES,
    "a step, in a process that has imported all, less bwrap and the trial launch / 2 ms": _OWN_SHARE,
    "a durable strengthening: decided, logged, saved / bare Python, the same system calls": (
        "the quartiles lie on both sides of the aim; nearly the same code accepts, within it. What flushes "
        "take varies more than what we add."
    ),
    "audit of 100,000 runs, --jobs 1 / every file read by bare Python, one process": _IN_PYTHON,
    "audit of 100,000 runs, --jobs 2 / jq over xargs, of each state": _IN_PYTHON,
    "audit of 100,000 runs, --jobs 2 / ripgrep -U -o, of each state": _IN_PYTHON,
}
"""By a line's name, from a profile of one process with Python 3.11. Told only while the aim is missed."""
