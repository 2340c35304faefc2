"""How a command's outcome is told: to the operator, in the ``--result`` file, and by the exit status."""

import sys
from typing import assert_never

import msgspec
from msgspec import Struct

from sandbox_pin.cli.exit_status import ExitStatus, status_of
from sandbox_pin.cli.messages import how_to_go_on, refusal_lines
from sandbox_pin.cli.output_file import refuse_no_output_file
from sandbox_pin.cli.terminal import say, say_lines, screen_of
from sandbox_pin.core.decision import Decision
from sandbox_pin.core.describe import describe_gate
from sandbox_pin.core.gate import GateDecision, RunUnenforced
from sandbox_pin.errors import SandboxPinError
from sandbox_pin.shell.durable import write_file
from sandbox_pin.shell.held_launch import LaunchEnd
from sandbox_pin.shell.outcome import (
    CommandMissing,
    Created,
    GateClosed,
    Launched,
    Outcome,
    Refused,
    Unblocked,
)


class Result(Struct, frozen=True, kw_only=True):
    """What ``--result`` writes.

    Attributes:
        run: the run's id.
        exit_status: this command's exit status.
        decision: what was decided; ``None``: the command did not get that far.
        gate: what the gate said; ``None``: it was not asked.
        end: how the launch ended; ``None``: nothing was launched.
        error: what went wrong, in words.
    """

    run: str
    exit_status: int
    decision: Decision | Created | None = None
    gate: GateDecision | None = None
    end: LaunchEnd | None = None
    error: str | None = None


class ResultFile:
    """The file named by ``--result``, if any; its folder is checked before anything is launched."""

    def __init__(self, path: str | None, *, root: str, run: str) -> None:
        self._run = run
        self._path = path
        if path is not None:
            refuse_no_output_file(path, option="--result", root=root)

    def fail(self, error: SandboxPinError) -> None:
        """Writes what went wrong."""
        self.write(Result(run=self._run, exit_status=status_of(error), error=str(error)))

    def write(self, result: Result) -> None:
        """Puts the result in place, whole; a link planted at the path is replaced, not followed.

        Raises:
            StorageError: it could not be written.
        """
        if self._path is not None:
            write_file(self._path, msgspec.json.encode(result) + b"\n")


def finish(outcome: Outcome, result: ResultFile, *, root: str, given: list[str]) -> ExitStatus | int:
    """Tells an outcome, and gives the exit status that it ends in.

    Args:
        outcome: what the command ended in.
        result: where it is written, too.
        root: the folder of all runs.
        given: the options that the next command on the run needs again.
    """
    match outcome:
        case Refused(run=run, decision=decision, consent=consent, pinned_by=pinned_by):
            accepts = consent.mode if consent.given else None
            screen = screen_of(sys.stderr)
            say_lines(refusal_lines(decision, accepts=accepts, pinned_by=pinned_by, screen=screen))
            status: ExitStatus | int = ExitStatus.REFUSED
            told = Result(run=run, exit_status=status, decision=decision)
        case CommandMissing(run=run, missing=missing):
            status = ExitStatus.NOT_RUNNABLE if missing.exists else ExitStatus.NOT_FOUND
            found = "can't be run" if missing.exists else "command not found"
            say(f"{missing.word}: {found}: {missing.why}")
            told = Result(run=run, exit_status=status, error=f"{missing.word}: {missing.why}")
        case GateClosed(run=run, decision=settled, gate=gate):
            say(f"{describe_gate(gate)}. {gate.remedy}")
            if isinstance(settled, Created):
                say(f"the run {run} was not made")
            else:
                say_lines(["the run is blocked", *how_to_go_on(root, run, given)])
            status = ExitStatus.UNENFORCEABLE
            told = Result(run=run, exit_status=status, decision=settled, gate=gate)
        case Launched(run=run, decision=settled, gate=gate, end=end):
            status = _status_of_end(end, gate)
            if not end.succeeded:
                say_lines([f"{_ending(end)}; the run is blocked", *how_to_go_on(root, run, given)])
            told = Result(run=run, exit_status=status, decision=settled, gate=gate, end=end)
        case Unblocked(run=run, decision=settled):
            say(f"the run {run} is ready")
            status = ExitStatus.OK
            told = Result(run=run, exit_status=status, decision=settled)
        case _:
            assert_never(outcome)
    result.write(told)
    return status


def _ending(end: LaunchEnd) -> str:
    if not end.ran:
        return f"the command did not run: {end.failure}"
    how = f"exit status {end.exit_code}" if end.signal is None else end.signal.name
    stopped = ", after this command was told to stop" if end.interrupted else ""
    return f"the command ended with {how}{stopped}"


def _status_of_end(end: LaunchEnd, gate: GateDecision) -> ExitStatus | int:
    if not end.ran:
        return ExitStatus.NOT_RUNNABLE if isinstance(gate, RunUnenforced) else ExitStatus.UNENFORCEABLE
    if end.signal is not None:
        return 128 + end.signal
    return end.exit_code if end.exit_code is not None else ExitStatus.UNENFORCEABLE
