"""Runs in every state that a fault is tried in, a driver for their commands, and what must hold then."""

import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from faults.laws import (
    Files,
    Seen,
    entries_in,
    held,
    look,
    mode_of,
    nothing_changed,
    strength,
    strength_falls_only_by_an_accept_that_is_whole_in_the_log,
    the_state_is_the_old_or_the_new_one_whole,
    the_whole_lines_of_the_log_stay_whole,
    what_was_launched_was_logged_first,
)
from faults.protocol import Answer, Job, receive, send
from sandbox_pin import PinSource, PinV1, RunKind, SandboxMode, SandboxRequest, StateError, Unpinned
from sandbox_pin.core.event import Entry, PinStrengthened, RunCreated
from sandbox_pin.core.gate import Capable
from sandbox_pin.core.log_line import encode_line
from sandbox_pin.core.run_state import PROTOCOL, RunState, RunStatus, encode_run_state
from sandbox_pin.shell.bubblewrap import Profile
from sandbox_pin.shell.host import find_bubblewrap, probe_host

AT: Final = "2026-01-01T00:00:00Z"
DISABLED, PREFERRED, REQUIRED = SandboxMode.DISABLED, SandboxMode.PREFERRED, SandboxMode.REQUIRED
THEIRS: Final = b'"theirs" : [1.0, 1e2, "\\u00e9", {"sandbox": "pin"}]'
"""A member of each state that is not ours: to be kept byte for byte."""

SEED: Final = int(os.environ.get("SANDBOX_PIN_FAULT_SEED") or random.SystemRandom().randrange(1 << 32))
SAMPLE: Final = os.environ.get("SANDBOX_PIN_FAULT_SAMPLE", "5")
_TOOLS: Final = "/usr/bin:/bin"
TOUCH: Final = shutil.which("touch", path=_TOOLS) or "touch"
SLEEP: Final = shutil.which("sleep", path=_TOOLS) or "sleep"
FLAG: Final = "--accept-config-change"

_Trial = TypeVar("_Trial")


def sample(trials: Sequence[_Trial], scenario: str) -> list[_Trial]:
    """The trials to make: all of them where that is asked for, else some, drawn by the session's seed."""
    if SAMPLE == "all" or len(trials) <= int(SAMPLE):
        return list(trials)
    return random.Random(f"{SEED} {scenario}").sample(trials, int(SAMPLE))  # noqa: S311 - to be repeated, not secret


class Place:
    """The folders of one trial.

    Attributes:
        home: all of it, so that one look shows every trace.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self.root = home / "runs"
        self.workspace = home / "work"
        self.trace = self.workspace / "launched"

    def make(self) -> None:
        """Makes them anew, empty."""
        shutil.rmtree(self.root, ignore_errors=True)
        for folder in (self.workspace, self.home / "bin", self.home / "etc", self.home / "theirs"):
            folder.mkdir(parents=True, exist_ok=True)
            for file in folder.iterdir():
                file.unlink()

    def environment(self, program: str | None) -> dict[str, str]:
        """All that a command gets; without a program the host can't enforce."""
        path = self.home / "bin" if program is None else Path(program).parent
        return {"PATH": str(path), "HOME": str(self.home), "LC_ALL": "C.UTF-8"}


class Scenario(Struct, frozen=True, kw_only=True):
    """A command on a run in some state.

    Attributes:
        name: what it is called.
        words: its command line, from the place.
        make: makes the run; by default there is none.
        wanted: the mode that it asks for.
        old: the mode that the run had before.
        status: its exit status where nothing goes wrong.
        foreign: whether another program keeps the files.
        recovers: whether it begins with damage.
        sandboxed: whether it needs a host that can enforce.
        next_status: how the next launch ends, where the host can't enforce what the run is then held to.
    """

    name: str
    words: Callable[[Place], list[str]]
    make: Callable[[Place], None] | None = None
    wanted: SandboxMode
    old: SandboxMode
    status: int = 0
    foreign: bool = False
    recovers: bool = False
    sandboxed: bool = False
    next_status: int = 0

    def files(self, place: Place) -> tuple[Path, Path]:
        """Where state and log are."""
        if self.foreign:
            return place.home / "theirs" / "r1.json", place.home / "theirs" / "r1.jsonl"
        return place.root / "r1" / "state.json", place.root / "r1" / "run.jsonl"

    def read(self, place: Place) -> Files:
        """State and log as they are."""
        return Files.read(*self.files(place))


def pin(mode: SandboxMode, source: PinSource = PinSource.CREATED) -> PinV1:
    """A record of this mode."""
    return PinV1(mode=mode, source=source, recorded_at=AT)


def created(place: Place, mode: SandboxMode) -> RunCreated:
    """A log's first entry."""
    return RunCreated(
        at=AT,
        run="r1",
        kind=RunKind.LOCAL,
        pin=pin(mode),
        workspace=str(place.workspace),
        parent=None,
        request=SandboxRequest(mode=mode),
        operator="nobody",
    )


def raised(to: SandboxMode) -> PinStrengthened:
    """An entry of a strengthening."""
    return PinStrengthened(
        at=AT,
        run="r1",
        kind=RunKind.LOCAL,
        pin=pin(to, PinSource.STRENGTHENED),
        before=pin(DISABLED),
        disputed=None,
        request=SandboxRequest(mode=to),
        operator="nobody",
    )


def lines(*entries: Entry) -> bytes:
    """A log of these."""
    return b"".join(encode_line(entry) + b"\n" for entry in entries)


def state_text(
    place: Place, mode: SandboxMode | None, *, protocol: int = PROTOCOL, status: RunStatus = RunStatus.READY
) -> bytes:
    """A state of ours with a member of others in it; without a mode: without a pin."""
    state = RunState(
        protocol=protocol,
        run="r1",
        kind=RunKind.LOCAL,
        status=status,
        workspace=str(place.workspace),
        created_at=AT,
        command=(TOUCH, str(place.trace)),
    )
    raw = encode_run_state(state, pin(mode or DISABLED))
    if mode is None:
        fields = json.loads(raw)
        del fields["sandbox_pin"]
        raw = json.dumps(fields).encode()
    return b"{" + THEIRS + b"," + raw.lstrip()[1:]


def run_with(
    mode: SandboxMode | None,
    *further: Entry,
    protocol: int = PROTOCOL,
    status: RunStatus = RunStatus.READY,
    log: bytes | None = b"",
    tail: bytes = b"",
    state: bytes | None = None,
    run: str = "r1",
) -> Callable[[Place], None]:
    """Makes a run folder; its log is its creation and what is further told, unless it is given."""

    def make(place: Place) -> None:
        folder = place.root / run
        folder.mkdir(mode=0o700, parents=True)
        text = state or state_text(place, mode, protocol=protocol, status=status)
        _ = (folder / "state.json").write_bytes(text.replace(b'"r1"', b'"%s"' % run.encode()))
        told = (log or lines(created(place, mode or DISABLED), *further)) + tail
        if log is not None:
            _ = (folder / "run.jsonl").write_bytes(told.replace(b'"r1"', b'"%s"' % run.encode()))

    return make


def files_with(
    mode: SandboxMode | None, *, log: bytes | None = b"", state: bytes | None = None
) -> Callable[[Place], None]:
    """Makes another program's state and log."""

    def make(place: Place) -> None:
        record = b"" if mode is None else b',"sandbox_pin": ' + _record(mode)
        _ = (place.home / "theirs" / "r1.json").write_bytes(state or b"{" + THEIRS + record + b"}")
        if log is not None:
            told = log or lines(created(place, mode or DISABLED))
            _ = (place.home / "theirs" / "r1.jsonl").write_bytes(told)

    return make


def _record(mode: SandboxMode) -> bytes:
    return json.dumps({"schema": 1, "mode": mode, "source": "created", "recorded_at": AT}).encode()


def run_words(*options: str, run: str = "r1") -> Callable[[Place], list[str]]:
    """``run``, with these options."""
    return lambda place: [
        *("run", "--runs", str(place.root), "--id", run, "--workspace", str(place.workspace)),
        *(*options, "--", TOUCH, str(place.trace)),
    ]


def step_words(mode: SandboxMode, *options: str) -> Callable[[Place], list[str]]:
    """``step``, its mode from the command line."""
    return lambda place: [
        *("step", "r1", "--runs", str(place.root), "--mode", mode),
        *(*options, "--", TOUCH, str(place.trace)),
    ]


def config_words(mode: SandboxMode, *options: str) -> Callable[[Place], list[str]]:
    """``step``, its mode from a file."""

    def words(place: Place) -> list[str]:
        file = place.home / "etc" / "orchestrator.toml"
        if not file.exists():
            _ = file.write_text(f'[sandbox]\nmode = "{mode}"\n')
        return [
            *("step", "r1", "--runs", str(place.root), "--config", str(file)),
            *(*options, "--", TOUCH, str(place.trace)),
        ]

    return words


def unblock_words(mode: SandboxMode, *options: str) -> Callable[[Place], list[str]]:
    """``unblock``."""
    return lambda place: ["unblock", "r1", "--runs", str(place.root), "--mode", mode, *options]


def resume_words(mode: SandboxMode, *options: str) -> Callable[[Place], list[str]]:
    """``resume``."""
    return lambda place: ["resume", "r1", "--runs", str(place.root), "--mode", mode, *options]


def check_words(mode: SandboxMode, *options: str) -> Callable[[Place], list[str]]:
    """``check``, on another program's files."""
    return lambda place: ["check", *foreign_words(place), "--mode", mode, *options]


def recover_words(place: Place) -> list[str]:
    """``recover``, on a run folder."""
    return ["recover", "r1", "--runs", str(place.root)]


def recover_foreign_words(place: Place) -> list[str]:
    """``recover``, on another program's files."""
    return ["recover", *foreign_words(place)]


def foreign_words(place: Place) -> list[str]:
    """The options that name another program's files."""
    folder = place.home / "theirs"
    return ["--state", str(folder / "r1.json"), "--log", str(folder / "r1.jsonl"), "--kind", "local"]


_BLOCKED: Final = RunStatus.BLOCKED
_WEAKER: Final = {"wanted": DISABLED, "old": PREFERRED}
_STRONGER: Final = {"wanted": PREFERRED, "old": DISABLED}
_FIRST: Final = {"wanted": PREFERRED, "old": PREFERRED}
_SAME: Final = {"wanted": DISABLED, "old": DISABLED}
_CUT_LOG: Final = b'{"event":"run_cre'
_NO_STATE: Final = b'{"protocol": 12, "sandbox_'


def _scenario(
    name: str,
    words: Callable[[Place], list[str]],
    modes: dict[str, SandboxMode],
    make: Callable[[Place], None] | None = None,
    **facts: Any,  # noqa: ANN401 - the scenario's own fields
) -> Scenario:
    return Scenario(name=name, words=words, make=make, wanted=modes["wanted"], old=modes["old"], **facts)


SCENARIOS: Final = (
    _scenario("run", run_words("--mode", "disabled"), _SAME),
    _scenario(
        "run_accept",
        run_words("--mode", "disabled", "--parent", "parent", FLAG),
        _WEAKER,
        run_with(PREFERRED, run="parent"),
    ),
    _scenario("step_unchanged", config_words(DISABLED), _SAME, run_with(DISABLED)),
    _scenario("step_strengthen", step_words(PREFERRED), _STRONGER, run_with(DISABLED)),
    _scenario(
        "step_strengthen_gate_closed",
        step_words(REQUIRED),
        {"wanted": REQUIRED, "old": DISABLED},
        run_with(DISABLED),
        status=69,
        next_status=69,
    ),
    _scenario("step_accept", config_words(DISABLED, FLAG), _WEAKER, run_with(PREFERRED)),
    _scenario(
        "step_accept_torn_log",
        step_words(DISABLED, FLAG),
        _WEAKER,
        run_with(PREFERRED, tail=b'{"event":"pin_acc'),
    ),
    _scenario("step_upgrade", step_words(PREFERRED), _FIRST, run_with(None, protocol=11, log=None)),
    _scenario(
        "step_accept_mending_first",
        step_words(DISABLED, FLAG),
        _WEAKER,
        run_with(DISABLED, raised(PREFERRED)),
    ),
    _scenario("step_unchanged_mending", step_words(PREFERRED), _FIRST, run_with(DISABLED, raised(PREFERRED))),
    _scenario("step_refused", config_words(DISABLED), _WEAKER, run_with(PREFERRED), status=77),
    _scenario("unblock", unblock_words(DISABLED), _SAME, run_with(DISABLED, status=_BLOCKED)),
    _scenario("unblock_strengthen", unblock_words(PREFERRED), _STRONGER, run_with(DISABLED, status=_BLOCKED)),
    _scenario("unblock_accept", unblock_words(DISABLED, FLAG), _WEAKER, run_with(PREFERRED, status=_BLOCKED)),
    _scenario("resume_accept", resume_words(DISABLED, FLAG), _WEAKER, run_with(PREFERRED, status=_BLOCKED)),
    _scenario("check_accept", check_words(DISABLED, FLAG), _WEAKER, files_with(PREFERRED), foreign=True),
    _scenario("check_strengthen", check_words(PREFERRED), _STRONGER, files_with(DISABLED), foreign=True),
    _scenario("check_upgrade", check_words(PREFERRED), _FIRST, files_with(None, log=None), foreign=True),
    _scenario(
        "check_refused", check_words(DISABLED), _WEAKER, files_with(PREFERRED), foreign=True, status=77
    ),
    _scenario("recover_state", recover_words, _SAME, run_with(DISABLED, state=_NO_STATE), recovers=True),
    _scenario("recover_log", recover_words, _SAME, run_with(DISABLED, log=_CUT_LOG), recovers=True),
    _scenario("recover_missing_log", recover_words, _SAME, run_with(DISABLED, log=None), recovers=True),
    _scenario(
        "recover_both",
        recover_words,
        _SAME,
        run_with(DISABLED, state=_NO_STATE, log=_CUT_LOG),
        recovers=True,
        next_status=65,
    ),
    _scenario(
        "recover_foreign_state",
        recover_foreign_words,
        _SAME,
        files_with(DISABLED, state=b"{"),
        foreign=True,
        recovers=True,
    ),
    _scenario(
        "recover_foreign_log",
        recover_foreign_words,
        _SAME,
        files_with(None, log=_CUT_LOG),
        foreign=True,
        recovers=True,
    ),
)
SANDBOXED: Final = _scenario(
    "step_required",
    step_words(REQUIRED),
    {"wanted": REQUIRED, "old": REQUIRED},
    run_with(REQUIRED),
    sandboxed=True,
)


class Tally:
    """Counts one test's work.

    Attributes:
        points: the places in a command where a fault was possible.
        trials: the faults that were tried, each of which came.
    """

    def __init__(self) -> None:
        self.points = 0
        self.trials = 0


_VARIES: Final = re.compile(
    rb"2\d{3}-\d\d-\d\dT[0-9:]+Z|damaged-\d+|(?<=\"pid\":)\d+|(?<=\"started\":)\d+|new-r1-[0-9a-f]+"
)


class Driver:
    """A warm interpreter that calls command lines in children of its own."""

    def __init__(self, *under: str) -> None:
        self._process = subprocess.Popen(
            [*under, sys.executable, "-m", "faults.driver"],
            cwd=Path(__file__).resolve().parent.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.__exit__(kind, error, trace)

    def begin(self, job: Job) -> None:
        """Hands over a job."""
        assert self._process.stdin is not None
        send(self._process.stdin, job)

    def answer(self) -> Answer:
        """What it says next."""
        assert self._process.stdout is not None
        answer = receive(self._process.stdout, Answer)
        assert answer is not None, "the driver died"
        return answer

    def do(self, job: Job) -> Answer:
        """Does one job."""
        self.begin(job)
        return self.answer()

    def reap(self, patience: float = 10.0) -> tuple[int, ...]:
        """Waits for all that earlier jobs left running; what did not end in time."""
        return self.do(Job(patience=patience)).left


class Found(NamedTuple):
    """A scenario's run before a fault."""

    files: Files
    seen: dict[str, Seen]


class Bench:
    """Makes a scenario's run, calls its command with a fault, and asks what must hold then."""

    def __init__(
        self, driver: Driver, place: Place, scenario: Scenario, *, program: str | None = None
    ) -> None:
        self.driver = driver
        self.place = place
        self.scenario = scenario
        self._environment = place.environment(program)
        self._gone_on_from: set[frozenset[tuple[str, bytes]]] = set()

    def fresh(self) -> Found:
        """The scenario's run, made anew."""
        self.place.make()
        if self.scenario.make is not None:
            self.scenario.make(self.place)
        _ = self.scenario.words(self.place)
        return Found(self.scenario.read(self.place), look(self.place.home))

    def job(self, words: list[str] | None = None) -> Job:
        """The scenario's command, or another one."""
        return Job(
            words=tuple(words or self.scenario.words(self.place)),
            folder=str(self.place.home),
            environment=self._environment,
        )

    def call(self, *words: str) -> Answer:
        """A command without a fault."""
        return self.driver.do(self.job([*words]))

    def record(self, *, only: tuple[str, ...] = ()) -> list[tuple[str, str]]:
        """The calls of the scenario's command; the driver is warm behind it."""
        for _ in range(2):
            _ = self.fresh()
            answer = self.driver.do(replace(self.job(), only=only))
            assert answer.status == self.scenario.status, answer
            assert self.driver.reap() == ()
        return list(answer.calls)

    def judge(self, before: Found, answer: Answer, *, trial: object, uncertain: bool = False) -> None:
        """All that must hold after a fault; the next commands are tried too."""
        try:
            self._judge(before, answer, uncertain=uncertain)
        except (AssertionError, StateError) as error:
            message = f"{self.scenario.name}, {trial} (seed {SEED}): {error}; {answer.status}: {answer.said}"
            raise AssertionError(message) from error

    def _judge(self, before: Found, answer: Answer, *, uncertain: bool) -> None:
        assert not answer.hung, "it never ended"
        after = self.scenario.read(self.place)
        launched = self.place.trace.exists()
        if answer.alive and not self.scenario.foreign and after.state is not None:
            self._busy_or_gone()
        assert self.driver.reap() == (), "a process was left"
        if self.scenario.status == 77:
            nothing_changed(before.seen, look(self.place.home))
        if not self.scenario.recovers:
            self._laws(before.files, after)
        else:
            self._recovery_loses_nothing(before.files)
        if not self.scenario.foreign and not self.scenario.recovers:
            what_was_launched_was_logged_first(before.files, after, launched=launched)
        if answer.status >= 0:
            self._told(before, after, answer, uncertain=uncertain)
        self.place.trace.unlink(missing_ok=True)
        # What comes next depends on the files alone: each content of them is gone on from once.
        if (left := self._content()) in self._gone_on_from:
            return
        self._gone_on_from.add(left)
        if self.scenario.recovers:
            self._recovers()
        elif after.state is None:
            again = self.call(*self.scenario.words(self.place))
            assert again.status == self.scenario.status, again
        elif self.scenario.foreign:
            self._checks_go_on(after)
        else:
            self._run_goes_on(after)
        assert self.driver.reap() == (), "a process was left by the next commands"

    def _content(self) -> frozenset[tuple[str, bytes]]:
        """The files, but for times, numbers of processes and made-up names."""
        seen = look(self.place.home).items()
        return frozenset(
            (_VARIES.sub(b"#", name.encode()).decode(), _VARIES.sub(b"#", bytes(found.content)))
            for name, found in seen
            if isinstance(found.content, bytes)
        )

    def _laws(self, before: Files, after: Files) -> None:
        local, foreign = RunKind.LOCAL, self.scenario.foreign
        if before.state is None and after.state is None:
            return
        modes = {self.scenario.old, self.scenario.wanted}
        if (was := mode_of(held(before, local, foreign=foreign))) is not None:
            modes.add(was)
        kept = THEIRS if THEIRS in (before.state or b"") else b""
        strength_falls_only_by_an_accept_that_is_whole_in_the_log(before, after, local, foreign=foreign)
        the_state_is_the_old_or_the_new_one_whole(before, after, modes, kept=kept, foreign=foreign)
        the_whole_lines_of_the_log_stay_whole(before, after)

    def _told(self, before: Found, after: Files, answer: Answer, *, uncertain: bool) -> None:
        """A command that lived says what happened, and clears what it made."""
        assert answer.status != 70, "a bug"
        if uncertain and after.state is None:
            assert answer.status == 74, "a run that was not made must be told"
        elif uncertain:
            assert answer.status == 74, "an unflushed folder must be told"
            assert "uncertain" in answer.said, "an unflushed folder must be told as uncertain"
            if before.files.state is not None:
                assert look(self.place.home) != before.seen, "uncertain, though nothing is new"
        left = [str(path) for path in self.place.home.rglob(".*new*")]
        assert not left, f"left behind: {left}"
        if answer.status == self.scenario.status == 0 and not self.scenario.recovers:
            assert mode_of(held(after, RunKind.LOCAL, foreign=self.scenario.foreign)) == self.scenario.wanted

    def _busy_or_gone(self) -> None:
        said = self.call(*self._status())
        busy = said.status == 0 and _object(said)["busy"]
        assert busy or not self.driver_sees_launch(), "a launch lives, and its run is not busy"

    def driver_sees_launch(self) -> bool:
        """Whether anything lives below the driver, once what is dying has had a moment."""
        time.sleep(0.2)
        return bool(self.call("--version").alive)

    def _recovery_loses_nothing(self, before: Files) -> None:
        """What was damaged is still there, under its own name or beside; what was whole is whole."""
        foreign = self.scenario.foreign
        for path, content, whole in zip(
            self.scenario.files(self.place),
            before,
            (_is_whole(Files(before.state, None), foreign=foreign), bool(entries_in(before.log))),
            strict=True,
        ):
            there = [file.read_bytes() for file in path.parent.iterdir() if file.name.startswith(path.name)]
            if whole and path.suffix == ".json":
                assert THEIRS in path.read_bytes(), "what belongs to others was lost"
            elif whole:
                assert path.read_bytes().startswith(content or b""), "a whole log was begun anew"
            elif content is not None:
                assert any(text.startswith(content) for text in there), f"lost: {content!r}"

    def _recovers(self) -> None:
        """Recovering again ends what a killed recovery began; the run is required then, and goes on."""
        again = self.call(*self.scenario.words(self.place))
        assert again.status in {0, 64}, again
        state, log = self.scenario.files(self.place)
        now = held(Files.read(state, log), RunKind.LOCAL, foreign=self.scenario.foreign)
        assert mode_of(now) is REQUIRED, now
        if self.scenario.foreign:
            lowered = self.call(*check_words(PREFERRED, FLAG)(self.place))
        else:
            status = self.call(*self._status())
            assert status.status == 0, f"the run is wedged: {status}"
            blocked = _object(status)["status"] == RunStatus.BLOCKED
            next_words = unblock_words if blocked else step_words
            lowered = self.call(*next_words(PREFERRED, FLAG)(self.place))
        # Where neither file knew the workspace, it says so.
        assert lowered.status == self.scenario.next_status, lowered

    def _checks_go_on(self, after: Files) -> None:
        now = mode_of(held(after, RunKind.LOCAL, foreign=True))
        self._old_mode(now, check_words(self.scenario.old)(self.place), 0)
        now = mode_of(held(self.scenario.read(self.place), RunKind.LOCAL, foreign=True))
        self._settles(after, check_words(now or self.scenario.old)(self.place), 0)

    def _run_goes_on(self, after: Files) -> None:
        status = self.call(*self._status())
        assert status.status == 0, f"the run is wedged: {status}"
        assert not _object(status)["busy"], status
        now = mode_of(held(after, RunKind.LOCAL))
        blocked = _object(status)["status"] == RunStatus.BLOCKED
        old = unblock_words if blocked else step_words
        self._old_mode(now, old(self.scenario.old)(self.place), 0)
        now = mode_of(held(self.scenario.read(self.place), RunKind.LOCAL)) or self.scenario.old
        status = self.call(*self._status())
        if _object(status)["status"] == RunStatus.BLOCKED:
            unblocked = self.call(*unblock_words(now)(self.place))
            assert unblocked.status == 0, unblocked
        ends = self.scenario.next_status if now is REQUIRED else 0
        self._settles(after, step_words(now)(self.place), ends)

    def _old_mode(self, now: SandboxMode | None, words: list[str], expected: int) -> None:
        """The old mode, without the flag, is refused where the run is held to more, and works elsewhere."""
        seen = look(self.place.home)
        answer = self.call(*words)
        if strength(self.scenario.old, RunKind.LOCAL) < strength(now, RunKind.LOCAL):
            assert answer.status == 77, answer
            nothing_changed(seen, look(self.place.home))
        else:
            assert answer.status == expected, answer

    def _settles(self, after: Files, words: list[str], expected: int) -> None:
        """The next command ends all doubt: state and log say the same, and no less than they did."""
        answer = self.call(*words)
        assert answer.status == expected, answer
        settled = self.scenario.read(self.place)
        foreign = self.scenario.foreign
        strength_falls_only_by_an_accept_that_is_whole_in_the_log(
            after, settled, RunKind.LOCAL, foreign=foreign
        )
        the_whole_lines_of_the_log_stay_whole(after, settled, torn=1)
        alone = held(Files(settled.state, None), RunKind.LOCAL, foreign=foreign)
        assert not isinstance(alone, Unpinned)
        assert mode_of(held(settled, RunKind.LOCAL, foreign=foreign)) == mode_of(alone)

    def _status(self) -> list[str]:
        return ["status", "r1", "--runs", str(self.place.root), "--json"]


def _is_whole(files: Files, *, foreign: bool) -> bool:
    try:
        return not isinstance(held(files, RunKind.LOCAL, foreign=foreign), Unpinned)
    except StateError:
        return False


def _object(answer: Answer) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        next(line for line in answer.said.splitlines() if line.startswith("{"))
    )
    return found


def capable_program(folder: Path) -> str | None:
    """The path of bwrap where this host can enforce with it."""
    host = probe_host(find_bubblewrap(), Profile(workspace=str(folder)))
    return host.program if isinstance(host, Capable) and Path(host.program).name == "bwrap" else None
