"""Every line, in the order of the page."""

from collections.abc import Sequence

from benchmarks.line import Line

from benchmarks import audit, commands, decide, decode, durable, growth, state


def all_lines() -> Sequence[Line]:
    """The lines of every module."""
    return [
        *decode.LINES,
        *state.LINES,
        *decide.LINES,
        *durable.LINES,
        *commands.LINES,
        *growth.LINES,
        *audit.LINES,
    ]
