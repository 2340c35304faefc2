"""The command ``sandbox-pin``: splits off the launched command, calls click, maps errors to exit statuses."""

import contextlib
import os
import signal
import sys
from importlib import import_module
from io import TextIOWrapper
from typing import Final, NoReturn

import click

from sandbox_pin.cli.exit_status import ExitStatus, status_of
from sandbox_pin.cli.options import ACCEPT, ANY_MODE
from sandbox_pin.cli.terminal import say
from sandbox_pin.errors import SandboxPinError, UsageError

_COMMANDS: Final = {
    "run": "launching",
    "step": "launching",
    "resume": "launching",
    "unblock": "launching",
    "recover": "foreign",
    "status": "showing",
    "explain": "showing",
    "log": "showing_log",
    "list": "showing",
    "audit": "auditing",
    "check": "foreign",
    "doctor": "diagnosing",
    "schema": "schemas",
}
"""Each command and the module that it is in, imported only when it is called."""


_STANDARD_OUTPUT: Final = 1
_STANDARD_ERROR: Final = 2


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands, in the order in which a run meets them."""
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name."""
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(f"sandbox_pin.cli.{_COMMANDS[cmd_name]}")
        command: click.Command = module.COMMANDS[cmd_name]
        return command


@click.group(cls=_Commands, no_args_is_help=False, invoke_without_command=False)
@click.version_option(package_name="sandbox-pin", message="%(package)s %(version)s")
def _sandbox_pin() -> None:
    """Hold a coding agent's run to the sandbox mode that it began with.

    A weaker mode is refused until you accept it in the open; a stronger one raises the pin.
    """


def main() -> NoReturn:
    """The entry point of the command ``sandbox-pin``."""
    status = call(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            with contextlib.suppress(OSError):
                stream.flush()
    # Taking the interpreter apart would cost a short command a tenth of its time; nothing else is open.
    os._exit(status)


def call(arguments: list[str]) -> int:
    """Runs one command line, and returns its exit status.

    Args:
        arguments: the words after the program's name. What follows the first ``--`` is the launched command;
            no option is looked for in it.
    """
    words: tuple[str, ...] | None = None
    if "--" in arguments:
        split = arguments.index("--")
        arguments, words = arguments[:split], tuple(arguments[split + 1 :])
    # `local run` is `run`: every run is started on this machine.
    if arguments[:2] == ["local", "run"]:
        arguments = arguments[1:]
    arguments = [f"{ACCEPT}={ANY_MODE}" if argument == ACCEPT else argument for argument in arguments]
    try:
        _open_standard_descriptors()
        _print_whatever_comes()
        _refuse_what_is_not_utf8([*arguments, *(words or ())])
        # Taken away in any case: click would complete instead of doing what the arguments say.
        completion = os.environ.pop("_SANDBOX_PIN_COMPLETE", "")
        if completion and not arguments and words is None:
            from sandbox_pin.cli.completion import complete  # noqa: PLC0415 - no command spends time on it

            return complete(_sandbox_pin, "sandbox-pin", completion)
        return int(_sandbox_pin.main(arguments, "sandbox-pin", standalone_mode=False, obj=words) or 0)
    except SandboxPinError as error:
        say(str(error))
        return status_of(error)
    except click.ClickException as error:
        say(" ".join(error.format_message().split()))
        if isinstance(error, click.UsageError) and error.ctx is not None:
            say(f"Try '{error.ctx.command_path} --help'.")
        return ExitStatus.USAGE
    except (click.Abort, KeyboardInterrupt):
        return ExitStatus.INTERRUPTED
    except (BrokenPipeError, SystemExit):  # the second is what click makes of the first
        # As `sandbox-pin log | head` ends: quietly, and with nothing left to flush into the closed pipe.
        with open(os.devnull, "wb") as nothing:
            _ = os.dup2(nothing.fileno(), _STANDARD_OUTPUT)
        return 128 + signal.SIGPIPE
    except OSError as error:
        say(f"{error.filename or 'the system'}: {error.strerror}")
        return ExitStatus.STORAGE
    except Exception:  # noqa: BLE001 - the default status of a crash, 1, is one that a launched command may have
        import traceback  # noqa: PLC0415 - 1 ms that no other command spends

        traceback.print_exc()
        say("this is a bug in sandbox-pin; nothing more was done")
        return ExitStatus.BUG


def _refuse_what_is_not_utf8(words: list[str]) -> None:
    """State and log are JSON in UTF-8, and must hold paths and commands as they are."""
    for word in words:
        try:
            _ = word.encode()
        except UnicodeEncodeError:
            raise UsageError("an argument is not UTF-8", field=word, expected="text in UTF-8") from None


def _open_standard_descriptors() -> None:
    """Makes sure that no file that is opened here gets the number of a standard descriptor.

    A service may start a program with one of them closed; a launch would then get a state or a lock as its
    standard input or output. Python has no stream for it, and a command would end at the first word it says.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _STANDARD_ERROR:
        os.set_inheritable(descriptor, True)  # noqa: FBT003 - its name says what
    os.close(descriptor)
    for name, descriptor in (("stdout", _STANDARD_OUTPUT), ("stderr", _STANDARD_ERROR)):
        if getattr(sys, name) is None:
            setattr(sys, name, open(descriptor, "w", encoding="utf-8", closefd=False))  # noqa: SIM115 - as long as this is


def _print_whatever_comes() -> None:
    """Text that a terminal's encoding lacks is printed as escapes, rather than ending a command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
