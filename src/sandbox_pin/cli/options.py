"""The options that commands share, and what they mean."""

import math
from collections.abc import Callable
from typing import Final, TypeVar

import click

from sandbox_pin.core.configuration import mode_from_text
from sandbox_pin.core.consent import Consent
from sandbox_pin.core.modes import SandboxMode
from sandbox_pin.errors import ConfigurationError, UsageError
from sandbox_pin.shell.asking import Asked
from sandbox_pin.shell.locks import DEFAULT_WAIT

ACCEPT: Final = "--accept-config-change"
ANY_MODE: Final = "*"
"""What the flag without a mode is spelled out to, since click's optional values take the next argument."""

EXIT_STATUSES: Final = """\b
Exit status: the launched command's own (128 + N where signal N ended it), else
  64  wrong usage, or the run is in another status
  65  state or log is damaged
  69  the host can't enforce, or the sandbox failed before the command ran
  70  a bug in sandbox-pin
  74  something could not be read or written
  75  busy: another command, or a launch that outlived its command
  77  refused: weaker than the pin (or the flag was used inside a launch)
  78  the configuration, or where it lies
  126 the command's program can't be run
  127 the command's program was not found
  130 Ctrl-C came while nothing was launched
"""

_Command = TypeVar("_Command", bound=Callable[..., object])


class LaunchingCommand(click.Command):
    """A command whose launched command follows ``--``; that part never reaches click."""

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The pieces of the usage line, with what follows ``--``."""
        return [*super().collect_usage_pieces(ctx), "-- COMMAND..."]


def _mode(_: click.Context, parameter: click.Parameter, text: str | None) -> SandboxMode | None:
    if text is None:
        return None
    try:
        return mode_from_text(text, field=parameter.opts[0])
    except ConfigurationError as error:
        raise UsageError(
            error.problem, field=error.field, expected=error.expected, remedy=error.remedy
        ) from None


def _seconds(_: click.Context, parameter: click.Parameter, value: float) -> float:
    # A range lets it pass, as it is neither below nor above; a deadline of it never comes.
    if math.isnan(value):
        raise UsageError("found nan", field=parameter.opts[0], expected="a number of seconds")
    return value


def _consent(context: click.Context, parameter: click.Parameter, text: str | None) -> Consent:
    if text is None:
        return Consent()
    if text == ANY_MODE:
        return Consent(given=True)
    return Consent(given=True, mode=_mode(context, parameter, text))


_RUNS = click.option(
    "--runs", metavar="DIR", help="The folder of all runs [default: the user's state folder]."
)
_CONFIG = click.option(
    "--config", metavar="FILE", help="Read sandbox.mode from this TOML, JSON or YAML file."
)
_MODE = click.option(
    "--mode", metavar="MODE", callback=_mode, help="disabled, preferred or required; goes before the file's."
)
_WRITABLE = click.option(
    "--writable", metavar="DIR", multiple=True, help="A further folder that the launch may write; repeatable."
)
_ACCEPT = click.option(
    ACCEPT,
    "consent",
    metavar="[=MODE]",
    callback=_consent,
    help="Accept a weaker request, for this command alone; with MODE, that mode alone.",
)
_WAIT = click.option(
    "--wait",
    metavar="SECONDS",
    type=click.FloatRange(0, 86400),
    default=DEFAULT_WAIT,
    callback=_seconds,
    show_default=True,
    help="How long to wait for another command on the run.",
)
_RESULT = click.option(
    "--result", metavar="FILE", help="Write decision, gate, exit and run id there, as one JSON object."
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, one object a line.")


def shared_options(*names: str) -> Callable[[_Command], _Command]:
    """Adds options by name, in this order."""
    known = {
        "runs": _RUNS,
        "config": _CONFIG,
        "mode": _MODE,
        "writable": _WRITABLE,
        "accept": _ACCEPT,
        "wait": _WAIT,
        "result": _RESULT,
        "json": _JSON,
    }

    def add(command: _Command) -> _Command:
        for name in reversed(names):
            command = known[name](command)
        return command

    return add


def mode_option(name: str, told: str) -> Callable[[_Command], _Command]:
    """An option that takes a mode, and stands for something else than the request's."""
    return click.option(name, metavar="MODE", callback=_mode, help=told)


def asked_for(
    config: str | None,
    mode: SandboxMode | None,
    consent: Consent = Consent(),  # noqa: B008 - frozen
    writable: tuple[str, ...] = (),
) -> Asked:
    """The options that a request is made of."""
    return Asked(config=config, mode=mode, consent=consent, writable=writable)


def launched_words(words: tuple[str, ...] | None) -> tuple[str, ...]:
    """The command that follows ``--``, checked before any file is touched.

    Raises:
        UsageError: there is none.
    """
    if not words or not words[0]:
        raise UsageError("no command", expected="the command to launch after --, as in: -- make test")
    return words


def no_words(words: tuple[str, ...] | None) -> None:
    """Refuses a command where none is launched, or another one than is given.

    Raises:
        UsageError: there is one.
    """
    if words is not None:
        raise UsageError("there is a command after --", expected="none, as this command takes none")
