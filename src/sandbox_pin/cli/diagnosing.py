"""``doctor``: tells what stands in the way of runs on this host, and clears what killed commands left."""

from collections.abc import Mapping
from typing import Final

import click

from sandbox_pin.cli.exit_status import ExitStatus
from sandbox_pin.cli.options import no_words, shared_options
from sandbox_pin.cli.terminal import show, show_json
from sandbox_pin.core.doctor_finding import Finding, Severity, needs_attention
from sandbox_pin.shell.doctor import examine
from sandbox_pin.shell.launch import refuse_inside_a_launch
from sandbox_pin.shell.runs import runs_root

_EPILOG: Final = """\b
Exit status:
  0   all is well
  1   something needs attention
  64  wrong usage
  70  a bug in sandbox-pin
  74  something could not be read
  77  --fix was used from inside a launch
  78  a path changes while it is looked at
  130 Ctrl-C
"""

_MARKS: Final = {Severity.OK: "ok", Severity.WARNING: "warning", Severity.ERROR: "ERROR"}


@click.command("doctor", epilog=_EPILOG)
@shared_options("runs")
@click.option("--workspace", metavar="DIR", default=".", show_default=True, help="Where launches would work.")
@shared_options("writable")
@click.option("--fix", is_flag=True, help="Clear what killed commands left behind, and nothing else.")
@shared_options("json")
@click.pass_obj
def _doctor(
    words: tuple[str, ...] | None,
    *,
    runs: str | None,
    workspace: str,
    writable: tuple[str, ...],
    fix: bool,
    as_json: bool,
) -> int:
    """Say what stands in the way of runs on this host, and what to do about it.

    Looks at what the host can enforce, the placement of what decides, who else may reach the folder of all
    runs, whether its file system can keep them, and what killed commands left behind.
    """
    no_words(words)
    if fix:
        refuse_inside_a_launch("doctor --fix")
    findings = examine(runs_root(runs), workspace=workspace, writable=writable, clear=fix)
    for finding in findings:
        if as_json:
            show_json(finding)
        else:
            _show(finding)
    return ExitStatus.FOUND if needs_attention(findings) else ExitStatus.OK


def _show(finding: Finding) -> None:
    subject = finding.subject.replace("_", " ")
    show(f"{_MARKS[finding.severity]:9}{subject:13}{finding.found}")
    if finding.remedy is not None:
        show(f"{'':22}{finding.remedy}")


COMMANDS: Final[Mapping[str, click.Command]] = {"doctor": _doctor}
