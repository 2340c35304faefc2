"""Run folders under any mix of commands and tampering, step by step (laws 1, 2, 3 and 6).

1. While the state or the log still holds the last change, the pin in force never gets weaker except by an
   accept whose entry is whole in the log first. (``recover`` is outside this law, and pins ``required``.)
2. A refused command changes nothing.
3. The state is whole after each command, and so is each line of the log, which only ever grows.
6. What reads back is what was written; what is not ours in a state stays as it is, byte for byte.
"""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final, assert_never

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sandbox_pin import (
    Accept,
    Decision,
    Disputed,
    PinSource,
    Refuse,
    RunKind,
    SandboxMode,
    SandboxPin,
    Strengthen,
    Unpinned,
    decode_pin,
    encode_pin,
    mode_strength,
)
from sandbox_pin.core.consent import Consent
from sandbox_pin.core.event import (
    Entry,
    LaunchEnded,
    LaunchStarted,
    PinAccepted,
    PinStrengthened,
    RunRecovered,
)
from sandbox_pin.core.log_line import Garbage, decode_line, encode_line
from sandbox_pin.core.run_state import RunStatus
from sandbox_pin.core.state import PIN_FIELD, replace_members
from sandbox_pin.errors import StateError, UsageError
from sandbox_pin.shell.asking import Asked
from sandbox_pin.shell.continue_run import resume, step, unblock
from sandbox_pin.shell.guard import Notice
from sandbox_pin.shell.outcome import (
    CommandMissing,
    Created,
    GateClosed,
    Launched,
    Outcome,
    Refused,
    Unblocked,
)
from sandbox_pin.shell.reading import RunReading, read_run
from sandbox_pin.shell.recover import recover_run
from sandbox_pin.shell.runs import open_run
from sandbox_pin.shell.start_run import start_run
from shell.support import snapshot

RUN: Final = "r"
SUCCEEDS: Final = ("true",)
FAILS: Final = ("false",)
FOREIGN: Final = b'"theirs": { "a" : [1,  2.50, null] }'
TORN: Final = b'{"event":"pin_accepted","at":"20'

EXAMPLES: Final = int(os.environ.get("SANDBOX_PIN_MACHINE_EXAMPLES", "20"))

modes: Final = st.sampled_from(SandboxMode)


def keep_quiet(_: Notice) -> None:
    """What the operator is told is looked at elsewhere."""


class RunMachine(RuleBasedStateMachine):
    """One run, what was seen of it, and what it is owed."""

    def __init__(self) -> None:
        super().__init__()
        self._temporary = tempfile.TemporaryDirectory()
        top = Path(self._temporary.name)
        self.root = top / "runs"
        self.workspace = top / "workspace"
        self.workspace.mkdir()
        self.folder = self.root / RUN
        self.state = self.folder / "state.json"
        self.log = self.folder / "run.jsonl"
        self.kind = RunKind.LOCAL
        self.owed: SandboxPin | None = None
        self.states: list[bytes] = []
        self.logs: list[bytes] = []

    def teardown(self) -> None:
        """Leaves nothing behind."""
        self._temporary.cleanup()

    # What is there

    def read(self) -> RunReading:
        """The run as a command reads it."""
        with open_run(str(self.root), RUN) as folder:
            return read_run(folder)

    def read_if_whole(self) -> RunReading | None:
        """The same; ``None`` where it is damaged."""
        try:
            return self.read()
        except StateError:
            return None

    def entries(self) -> list[Entry]:
        """The log's whole entries."""
        lines = [decode_line(line) for line in self.log.read_bytes().splitlines() if line.strip()]
        return [line for line in lines if not isinstance(line, Garbage)]

    def remember(self) -> None:
        """Keeps a copy of both, as a tamperer may."""
        self.states.append(self.state.read_bytes())
        self.logs.append(self.log.read_bytes())

    def unchanged_by(self, act: Callable[[], object]) -> None:
        """Asserts law 2 of what is done."""
        before = snapshot(self.root)
        act()
        assert snapshot(self.root) == before

    # Commands

    @initialize(mode=modes, kind=st.sampled_from(RunKind))
    def begin(self, mode: SandboxMode, kind: RunKind) -> None:
        """A new run; its state has something of another's in it."""
        self.kind = kind
        outcome = start_run(
            str(self.root),
            RUN,
            SUCCEEDS,
            asked=Asked(mode=mode),
            workspace=str(self.workspace),
            kind=kind,
            parent=None,
            tell=keep_quiet,
        )
        if isinstance(outcome, GateClosed):
            # This host can't enforce: the run is one whose host could, once.
            start_run(
                str(self.root),
                RUN,
                SUCCEEDS,
                asked=Asked(mode=SandboxMode.DISABLED),
                workspace=str(self.workspace),
                kind=kind,
                parent=None,
                tell=keep_quiet,
            )
        self.owed = self.entries()[-1].pin
        raw = self.state.read_bytes()
        self.state.write_bytes(raw[: raw.rindex(b"}")].rstrip() + b"," + FOREIGN + b"}")
        self.remember()

    @rule(mode=modes, flag=st.booleans(), only=st.none() | modes, fails=st.booleans(), skips=st.booleans())
    def command(
        self, mode: SandboxMode, flag: bool, only: SandboxMode | None, fails: bool, skips: bool
    ) -> None:
        """Whatever command the run's status admits: a weaker, an equal or a stronger request."""
        asked = Asked(mode=mode, consent=Consent(given=flag, mode=only if flag else None))
        reading = self.read_if_whole()
        if reading is None:
            self.unchanged_by(lambda: self.refused_as_damaged(asked))
            return
        before, log = snapshot(self.root), self.log.read_bytes()
        outcome = self.carry_on(reading, asked, FAILS if fails else SUCCEEDS, skips=skips)
        match outcome:
            case Refused(decision=refusal):
                assert refusal.weaker
                assert not asked.consent.covers(refusal.request)
                assert self.strength(reading.in_force) > mode_strength(mode, self.kind)
                assert snapshot(self.root) == before
            case Launched(decision=decision) | Unblocked(decision=decision) | GateClosed(decision=decision):
                assert not isinstance(decision, Refuse | Created)
                self.held_to(decision.pin)
                self.told_as(decision, reading, log, launched=isinstance(outcome, Launched))
            case CommandMissing():
                pytest.fail("true and false are everywhere")
            case _:
                assert_never(outcome)
        self.remember()

    def told_as(self, decision: Decision, reading: RunReading, log: bytes, *, launched: bool) -> None:
        """The log has grown by this very decision, by the launch, and by nothing else."""
        new = self.log.read_bytes()
        assert new.startswith(log)
        added = [decode_line(line) for line in new[len(log) :].splitlines() if line]
        expected: list[type[Entry]] = [LaunchStarted, LaunchEnded] if launched else []
        if isinstance(decision, Accept | Strengthen):
            expected.insert(0, PinAccepted if isinstance(decision, Accept) else PinStrengthened)
        assert [type(line) for line in added] == expected
        for line in added:
            assert not isinstance(line, Garbage)
            assert line.pin == decision.pin
            if isinstance(line, PinAccepted | PinStrengthened):
                assert line.before == reading.in_force

    def carry_on(self, reading: RunReading, asked: Asked, words: tuple[str, ...], *, skips: bool) -> Outcome:
        """``step``, ``resume`` or ``unblock``, after the others were refused for the run's status."""
        root = str(self.root)
        if reading.status is RunStatus.READY:
            self.unchanged_by(lambda: self.wrong_status(lambda: self.of_blocked(unblock, asked)))
            return step(root, RUN, words, asked=asked, wait=0, tell=keep_quiet)
        self.unchanged_by(
            lambda: self.wrong_status(lambda: step(root, RUN, words, asked=asked, wait=0, tell=keep_quiet))
        )
        return self.of_blocked(unblock if skips or not reading.loaded.state.command else resume, asked)

    def of_blocked(self, act: Callable[..., Outcome], asked: Asked) -> Outcome:
        """A command on a blocked run."""
        return act(str(self.root), RUN, asked=asked, wait=0, tell=keep_quiet)

    @staticmethod
    def wrong_status(act: Callable[[], object]) -> None:
        """It is refused, and spends no consent."""
        with pytest.raises(UsageError, match="the run is"):
            act()

    def refused_as_damaged(self, asked: Asked) -> None:
        """The flag passes over no damage."""
        for act in (unblock, resume):
            with pytest.raises(StateError):
                self.of_blocked(act, asked)

    @rule()
    def recover(self) -> None:
        """Refused where all is whole; otherwise the run is held to ``required``."""
        if self.read_if_whole() is not None:
            self.unchanged_by(self.nothing_to_recover)
            return
        kept = {path: path.read_bytes() for path in self.folder.iterdir()}
        recovered = recover_run(str(self.root), RUN, wait=0)
        self.held_to(recovered.pin)
        assert (recovered.pin.mode, recovered.pin.source) == (SandboxMode.REQUIRED, PinSource.STRENGTHENED)
        assert isinstance(self.entries()[-1], RunRecovered)
        # What was damaged is kept, under its new name.
        for name in recovered.kept:
            was = self.folder / name.partition(".damaged-")[0]
            assert (self.folder / name).read_bytes() == kept[was]
        self.remember()

    def nothing_to_recover(self) -> None:
        """A run that is whole has nothing to recover."""
        with pytest.raises(UsageError, match="nothing to recover"):
            recover_run(str(self.root), RUN, wait=0)

    # Tampering

    @rule(data=st.data())
    def tamper(self, data: st.DataObject) -> None:
        """One act of someone who may write the state and the log."""
        raw, log = self.state.read_bytes(), self.log.read_bytes()
        ends = [0, *(place + 1 for place, byte in enumerate(log) if byte == ord("\n"))]
        act = data.draw(st.sampled_from(["restore", "delete", "blank", "cut", "put back", "tear", "empty"]))
        match act:
            case "restore":
                self.state.write_bytes(data.draw(st.sampled_from(self.states)))
            case "delete":
                self.state.write_bytes(raw.replace(b'"%s"' % PIN_FIELD.encode(), b'"was_pin"', 1))
            case "blank":
                value = data.draw(st.sampled_from([b"{}", b'""', b"null"]))
                self.state.write_bytes(replace_members(raw, {PIN_FIELD: value}))
            case "cut":
                place = data.draw(st.sampled_from(ends) | st.integers(0, len(log)))
                self.log.write_bytes(log[:place])
            case "put back":
                self.log.write_bytes(data.draw(st.sampled_from(self.logs)))
            case "tear":
                self.log.write_bytes(log + TORN)
            case _:
                self.log.write_bytes(b"")

    # The laws

    def held_to(self, pin: SandboxPin) -> None:
        """A command has ended: both readings say this very pin, and it is owed from now on."""
        reading = self.read()
        assert reading.loaded.pin == pin
        assert reading.in_force == pin
        self.owed = pin

    def strength(self, held: SandboxPin | Disputed | Unpinned) -> int:
        """Of what a run of this kind is held to."""
        assert not isinstance(held, Disputed | Unpinned)
        return mode_strength(held.mode, self.kind)

    @invariant()
    @precondition(lambda self: self.owed is not None)
    def law_1_what_is_owed_is_in_force_while_state_or_log_holds_it(self) -> None:
        """Whichever of the two was put back, cut or blanked."""
        reading = self.read_if_whole()
        if reading is None or self.owed not in {reading.loaded.pin, reading.witness}:
            return
        assert self.owed is not None
        assert self.strength(reading.in_force) >= self.strength(self.owed)

    @invariant()
    @precondition(lambda self: self.owed is not None)
    def law_6_what_reads_back_is_what_was_written(self) -> None:
        """Pin and entries; and what another program has in the state is there yet."""
        reading = self.read_if_whole()
        if reading is None:
            return
        assert FOREIGN in reading.loaded.raw
        pin = reading.loaded.pin
        assert not isinstance(pin, Unpinned)
        assert decode_pin(encode_pin(pin)) == pin
        for entry in self.entries():
            assert decode_line(encode_line(entry)) == entry

    @invariant()
    @precondition(lambda self: self.owed is not None)
    def law_3_each_file_is_whole_and_nothing_is_left_beside(self) -> None:
        """Between two commands no temporary file is there, and no launch runs."""
        names = {path.name for path in self.folder.iterdir() if ".damaged-" not in path.name}
        assert names == {"state.json", "run.jsonl"}
        if (reading := self.read_if_whole()) is not None:
            assert reading.loaded.state.status in {RunStatus.READY, RunStatus.BLOCKED}
            assert reading.loaded.state.launch is None


RunMachine.TestCase.settings = settings(max_examples=EXAMPLES, stateful_step_count=20, deadline=None)
TestRunFolders = RunMachine.TestCase
