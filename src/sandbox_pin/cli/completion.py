"""Completion in bash, zsh and fish: click's own, told what the words of this command line mean.

A shell's completion function calls ``sandbox-pin`` without an argument, with the words so far in the
environment. Where there are arguments, it is a real command, and the variable is not looked at: a variable
that is left set must not make ``check`` end with 0 without having checked anything.
"""

from typing import Final

import click
from click.shell_completion import CompletionItem, get_completion_class
from click.types import StringParamType

from sandbox_pin.cli.exit_status import ExitStatus
from sandbox_pin.cli.options import ACCEPT, ANY_MODE
from sandbox_pin.core.modes import SandboxMode
from sandbox_pin.errors import SandboxPinError, UsageError
from sandbox_pin.shell.runs import list_runs, runs_root

VARIABLE: Final = "_SANDBOX_PIN_COMPLETE"


class _RunId(StringParamType):
    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The runs in the folder that the words so far, or the environment, name."""
        del param
        try:
            runs = list_runs(runs_root(ctx.params.get("runs")))
        except SandboxPinError:
            return []  # the command itself tells why; here somebody is typing
        return [CompletionItem(run) for run in runs if run.startswith(incomplete)]


_MODES: Final = click.Choice([mode.value for mode in SandboxMode])
_BY_METAVAR: Final = {
    "DIR": click.Path(file_okay=False),
    "FILE": click.Path(),
    "MODE": _MODES,
    "[=MODE]": _MODES,
}
"""What an option's value is, by what its help calls it."""


def complete(commands: click.Group, program: str, instruction: str) -> ExitStatus:
    """Prints a shell's completion script, or what may stand where its cursor is.

    Args:
        commands: all commands.
        program: the name that they are called under.
        instruction: the variable's value: ``bash_source``, ``zsh_complete`` and so on.

    Raises:
        UsageError: there is no such instruction, or no shell has set the words so far.
    """
    shell, _, act = instruction.partition("_")
    known = get_completion_class(shell)
    if known is None or act not in {"source", "complete"}:
        raise UsageError(
            f"found {instruction}", field=VARIABLE, expected="bash_source, zsh_source or fish_source"
        )
    completion = known(commands, {}, program, VARIABLE)
    if act == "source":
        click.echo(completion.source())
        return ExitStatus.OK
    try:
        words, incomplete = completion.get_completion_args()
    except (KeyError, ValueError, IndexError):
        raise UsageError("COMP_WORDS and COMP_CWORD are not set as by a shell", field=VARIABLE) from None
    if "--" in words:
        # The launched command's own words: file names are the best guess.
        found = [CompletionItem(incomplete, type="file")]
    else:
        words = _rewritten(words, incomplete)
        _tell_types(commands, words)
        found = completion.get_completions(words, incomplete)
        _keep_option(found, incomplete)
    for item in found:
        click.echo(completion.format_completion(item))
    return ExitStatus.OK


def _rewritten(words: list[str], incomplete: str) -> list[str]:
    """The words as ``call`` and click take them."""
    if words[:2] == ["local", "run"]:
        words = words[1:]
    # Bash makes a word of its own of the sign, and click looks for the option right before the cursor.
    if incomplete == "=":
        return words
    if words[-1:] == ["="]:
        return words[:-1]
    return [f"{ACCEPT}={ANY_MODE}" if word == ACCEPT else word for word in words]


def _tell_types(commands: click.Group, words: list[str]) -> None:
    """Gives the options and arguments of the command the types that are offered for them."""
    name = next((word for word in words if not word.startswith("-")), "")
    command = commands.get_command(click.Context(commands), name)
    for parameter in [] if command is None else command.params:
        # The option --run of check, and --id of run, name what is no run folder, or none yet.
        is_run = isinstance(parameter, click.Argument) and parameter.name == "run"
        if is_run or parameter.name == "parent":
            parameter.type = _RunId()
        elif parameter.metavar in _BY_METAVAR:
            parameter.type = _BY_METAVAR[parameter.metavar]


def _keep_option(found: list[CompletionItem], incomplete: str) -> None:
    """Of ``--mode=re``, zsh and fish replace the whole word; to bash, what follows the sign is one."""
    option, sign, _ = incomplete.partition("=")
    if sign and option.startswith("-"):
        for item in found:
            if item.type == "plain":
                item.value = f"{option}={item.value}"
