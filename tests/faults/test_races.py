"""Eight processes at once, killed and paused at random, on one run and on many (laws 1, 2 and 4).

1. While the state or the log still holds the last change, the pin in force never gets weaker except by an
   accept whose entry is whole in the log first.
2. A refused command changes nothing.
4. Two commands on one run never both act; no strengthening is lost, whoever wins.

They are checked from the log alone. Each entry's pin, or ``before``, is what the entry before it says, but
for one case: behind an accept whose command was killed before its save, the pin from before it still holds.
A launch's start is followed by its own end, or by a later command where its own was killed. So there are no
more of these two than there were kills: none where nobody was killed.

This module is also the program that runs the commands: one process that forks the eight, and has no thread.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

import pytest

from core.strategies import AT
from sandbox_pin import (
    PinSource,
    PinV1,
    RunKind,
    SandboxMode,
    SandboxPin,
    SandboxRequest,
    mode_strength,
    pin_in_force,
    read_pin,
)
from sandbox_pin.core.consent import Consent
from sandbox_pin.core.event import (
    Entry,
    LaunchEnded,
    LaunchStarted,
    PinAccepted,
    PinStrengthened,
    PinUpgraded,
    RunCreated,
)
from sandbox_pin.core.log_line import decode_line
from sandbox_pin.errors import BusyError, UsageError
from sandbox_pin.shell import foreign
from sandbox_pin.shell.asking import Asked
from sandbox_pin.shell.check import Checked, check_run
from sandbox_pin.shell.continue_run import resume, step, unblock
from sandbox_pin.shell.foreign import ForeignRun
from sandbox_pin.shell.guard import Notice
from sandbox_pin.shell.locks import hold
from sandbox_pin.shell.outcome import CommandMissing, Outcome
from sandbox_pin.shell.reading import read_run
from sandbox_pin.shell.runs import open_run
from sandbox_pin.shell.start_run import start_run
from shell.support import opened, snapshot

COMMANDS: Final = int(os.environ.get("SANDBOX_PIN_RACE_COMMANDS", "240"))
"""How many commands each race ends; those that are killed come on top."""

FIGURES: Final = os.environ.get("SANDBOX_PIN_FIGURES")
ENVIRONMENT: Final = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
"""Of this module as a program: it shares what the tests share."""

PROCESSES: Final = 8
LOCAL: Final = RunKind.LOCAL
PATIENCE: Final = 30.0
OVERLAPPED: Final = 1
"""The exit status of a launch that found another one alive: flock(1)'s own, as no command here ends so."""


class Plan(NamedTuple):
    """One race, as the test hands it to the program.

    Attributes:
        home: the folder of all that is made.
        names: the runs.
        foreign: whether another orchestrator keeps their files.
        commands: how many each process ends.
        kills: whether any are killed.
        seed: of all that is drawn.
    """

    home: str
    names: list[str]
    foreign: bool
    commands: int
    kills: bool
    seed: str

    @property
    def root(self) -> str:
        """The folder of all runs."""
        return f"{self.home}/runs"

    @property
    def workspace(self) -> str:
        """What the launches may write."""
        return f"{self.home}/workspace"

    def told(self, number: int) -> str:
        """Where a process tells each command that it ended."""
        return f"{self.home}/told-{number}"

    def files(self, name: str) -> tuple[Path, Path]:
        """A run's state and log."""
        if self.foreign:
            return Path(f"{self.home}/foreign/{name}.json"), Path(f"{self.home}/foreign/{name}.jsonl")
        return Path(self.root, name, "state.json"), Path(self.root, name, "run.jsonl")

    def words(self, name: str, status: int) -> tuple[str, ...]:
        """A command that ends so, and otherwise if another launch of its run lives."""
        ends = ("sh", "-c", f"exit {status}")
        if shutil.which("flock") is None:
            return ends
        return ("flock", "--nonblock", "--close", f"{self.workspace}/{name}", *ends)


def keep_quiet(_: Notice) -> None:
    """What the operator is told is looked at elsewhere."""


# ---------------------------------------------------------------- the program


def one_command(plan: Plan, draw: random.Random) -> str:
    """One command at random; the name of what came of it."""
    name = draw.choice(plan.names)
    mode = draw.choices(list(SandboxMode), [4, 2, 1])[0]
    # As often as not enough to come down again from wherever the run has got to.
    asked = Asked(mode=mode, consent=Consent(given=draw.random() < 0.4))
    try:
        if plan.foreign:
            return check_foreign(plan, name, asked)
        outcome = take_further(plan, name, asked, draw)
    except BusyError:
        return "busy"
    except UsageError as error:
        if "the run is" in error.problem or "no last command" in error.problem:
            return "wrong status"
        raise
    if isinstance(outcome, CommandMissing):
        raise TypeError(outcome)
    return type(outcome.decision).__name__


def check_foreign(plan: Plan, name: str, asked: Asked) -> str:
    """One ``check``."""
    state, log = plan.files(name)
    foreign = ForeignRun(state=str(state), log=str(log), kind=LOCAL)
    checked: Checked = check_run(
        foreign, asked=asked, trees=(plan.workspace,), dry_run=False, tell=keep_quiet
    )
    return type(checked.decision).__name__


def take_further(plan: Plan, name: str, asked: Asked, draw: random.Random) -> Outcome:
    """One ``step``, ``resume`` or ``unblock``."""
    wait = draw.choice([0.0, 0.05, 2.0])
    which = draw.random()
    if which < 0.4:
        words = plan.words(name, draw.choice([0, 3]))
        return step(plan.root, name, words, asked=asked, wait=wait, tell=keep_quiet)
    act = unblock if which < 0.8 else resume
    return act(plan.root, name, asked=asked, wait=wait, tell=keep_quiet)


def work(plan: Plan, number: int, life: int) -> NoReturn:
    """One of the eight: ends its share of commands, and tells each."""
    status = 1
    try:
        draw = random.Random(f"{plan.seed} {number} {life}")  # noqa: S311 - to be repeated, not secret
        path = Path(plan.told(number))
        path.touch()
        with path.open("ab", buffering=0) as told:
            for _ in range(plan.commands - path.read_bytes().count(b"\n")):
                told.write(f"{one_command(plan, draw)}\n".encode())
        status = 0
    except Exception as error:  # noqa: BLE001 - whatever it is, the test is told
        Path(f"{plan.told(number)}.failed").write_text(f"{type(error).__name__}: {error}", encoding="utf-8")
    finally:
        os._exit(status)


class Crew:
    """The eight, and who of them lives."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.kills = 0
        self.pauses = 0
        self.alive: dict[int, int] = {}
        self._lives = 0

    def start(self, number: int) -> None:
        """Starts one, again where it was killed."""
        self._lives += 1
        pid = os.fork()
        if pid == 0:
            work(self.plan, number, self._lives)
        self.alive[pid] = number

    def collect(self) -> None:
        """Takes note of who has ended."""
        for pid in list(self.alive):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                number = self.alive.pop(pid)
                if os.waitstatus_to_exitcode(status) not in {0, 1}:
                    self.start(number)

    def kill(self, pid: int) -> None:
        """Ends one at once, wherever it is."""
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        number = self.alive.pop(pid)
        if os.waitstatus_to_exitcode(status) == -signal.SIGKILL:
            self.kills += 1
            self.start(number)

    def pause(self, pid: int, seconds: float) -> None:
        """Stops one for a while, wherever it is."""
        os.kill(pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(pid, signal.SIGCONT)
        self.pauses += 1


def main(plan: Plan) -> None:
    """Runs one race to its end."""
    draw = random.Random(plan.seed)  # noqa: S311 - to be repeated, not secret
    crew = Crew(plan)
    for number in range(PROCESSES):
        crew.start(number)
    try:
        while crew.alive:
            time.sleep(draw.uniform(0.005, 0.06))
            crew.collect()
            if not plan.kills or not crew.alive:
                continue
            pid = draw.choice(sorted(crew.alive))
            if draw.random() < 0.8:
                crew.kill(pid)
            else:
                crew.pause(pid, draw.uniform(0.01, 0.1))
    finally:
        for pid in crew.alive:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    sys.stdout.write(json.dumps({"kills": crew.kills, "pauses": crew.pauses}))


def hold_and_launch(root: str, run: str) -> None:
    """A command that launches something long."""
    asked = Asked(mode=SandboxMode.DISABLED)
    step(root, run, ("sleep", "60"), asked=asked, wait=0, tell=keep_quiet)


# ---------------------------------------------------------------- the laws, from the log alone


class Tally(NamedTuple):
    """What a log has of the two cases that only a kill explains."""

    entries: int
    accepts: int
    strengthenings: int
    unfinished_accepts: int
    lost_launches: int


def strength(pin: SandboxPin) -> int:
    """Of a local run's pin."""
    return mode_strength(pin.mode, LOCAL)


def read_log(log: Path) -> list[Entry]:
    """Each line; all of them are whole, as no kill tears what is one write."""
    entries: list[Entry] = []
    for line in log.read_bytes().splitlines():
        entry = decode_line(line)
        assert isinstance(
            entry, RunCreated | PinUpgraded | PinStrengthened | PinAccepted | LaunchStarted | LaunchEnded
        )
        entries.append(entry)
    return entries


def audit(entries: list[Entry], *, first: SandboxPin | None) -> Tally:
    """Holds a log to laws 1 and 4.

    Args:
        entries: all of it.
        first: the pin that the run had before its log; ``None``: none.
    """
    unfinished = lost = 0
    previous: Entry | None = None
    holds: SandboxPin | None = first
    for entry in entries:
        # What the run is held to, going by the log; behind an accept that was killed, what it was before.
        was = previous.before if isinstance(previous, PinAccepted) else holds
        if isinstance(previous, LaunchStarted) and not isinstance(entry, LaunchEnded):
            lost += 1
        match entry:
            case PinUpgraded() | PinStrengthened() | PinAccepted():
                found = entry.before
            case LaunchEnded():
                assert isinstance(previous, LaunchStarted), "an end without its start, or of another launch"
                assert entry.exit_code != OVERLAPPED, "two launches at once"
                found = entry.pin
            case RunCreated():
                assert previous is None
                found = holds
            case _:
                found = entry.pin
        if found != holds:
            assert found == was, f"{entry} behind {previous}"
            unfinished += 1
        match entry:
            case PinStrengthened():
                assert entry.before is not None
                assert strength(entry.pin) > strength(entry.before)
            case PinAccepted():
                assert entry.before is not None
                assert strength(entry.pin) < strength(entry.before)
            case PinUpgraded():
                assert entry.before is None
            case _:
                assert found is None or entry.pin == found
        holds, previous = entry.pin, entry
    return Tally(
        entries=len(entries),
        accepts=sum(isinstance(entry, PinAccepted) for entry in entries),
        strengthenings=sum(isinstance(entry, PinStrengthened) for entry in entries),
        unfinished_accepts=unfinished,
        lost_launches=lost + isinstance(previous, LaunchStarted),
    )


def begin(plan: Plan) -> None:
    """Makes the runs, each pinned to ``disabled`` but for the foreign ones, which have no pin yet."""
    Path(plan.workspace).mkdir()
    Path(plan.home, "foreign").mkdir()
    for name in plan.names:
        if plan.foreign:
            plan.files(name)[0].write_bytes(b'{"theirs": [1, 2.50], "n": null}')
            continue
        start_run(
            plan.root,
            name,
            ("true",),
            asked=Asked(mode=SandboxMode.DISABLED),
            workspace=plan.workspace,
            kind=LOCAL,
            parent=None,
            tell=keep_quiet,
        )


def program(*arguments: str) -> list[str]:
    """This module as a program; a warning is an error in it too."""
    return [sys.executable, "-W", "error", __file__, *arguments]


def race(plan: Plan) -> dict[str, int]:
    """Runs one, and holds every log of it to the laws; its figures."""
    begin(plan)
    began = time.monotonic()
    done = subprocess.run(
        program("race", json.dumps(plan)),
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        timeout=PATIENCE + plan.commands * 2,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    failed = [path.read_text("utf-8") for path in Path(plan.home).glob("*.failed")]
    assert failed == []
    words = [
        word
        for number in range(PROCESSES)
        for word in Path(plan.told(number)).read_text("utf-8").split("\n")
        if word
    ]
    assert len(words) == PROCESSES * plan.commands
    crew: dict[str, int] = json.loads(done.stdout)
    tallies: list[Tally] = []
    for name in plan.names:
        state, log = plan.files(name)
        entries = read_log(log)
        tallies.append(audit(entries, first=None))
        raw, last = state.read_bytes(), entries[-1]
        held = pin_in_force(read_pin(raw, pinned_since=None), last.pin, kind=LOCAL)
        # No strengthening is lost: what the next command finds is what the log says last.
        assert held in {last.pin, last.before if isinstance(last, PinAccepted) else last.pin}
        if plan.foreign:
            assert raw.startswith(b'{"theirs": [1, 2.50], "n": null')
            continue
        assert isinstance(entries[0], RunCreated)
        with open_run(plan.root, name) as folder:
            assert read_run(folder).in_force == held
    total = {field: sum(getattr(tally, field) for tally in tallies) for field in Tally._fields}
    # Only a kill explains them.
    assert total["unfinished_accepts"] + total["lost_launches"] <= crew["kills"]
    # What a command said that it did, is logged; only killed ones could not say so.
    for name, field in (("Strengthen", "strengthenings"), ("Accept", "accepts")):
        assert words.count(name) <= total[field] <= words.count(name) + crew["kills"]
    figures = {"commands": len(words), **crew, **total}
    figures |= {word: words.count(word) for word in sorted(set(words))}
    figures["milliseconds"] = round((time.monotonic() - began) * 1000)
    return figures


# ---------------------------------------------------------------- the races

RACES: Final = [
    ("one", ["r"], False, True),
    ("many", ["r1", "r2", "r3", "r4", "r5"], False, True),
    ("one foreign", ["r"], True, True),
    ("many foreign", ["r1", "r2", "r3"], True, True),
    ("nobody killed", ["r1", "r2"], False, False),
]


@pytest.mark.parametrize(
    ("name", "names", "foreign", "kills"), RACES, ids=[name.replace(" ", "_") for name, *_ in RACES]
)
def test_laws_1_and_4_eight_processes_never_both_act_and_lose_no_strengthening(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    names: list[str],
    *,
    foreign: bool,
    kills: bool,
) -> None:
    seed = os.environ.get("SANDBOX_PIN_FAULT_SEED") or os.urandom(4).hex()
    share = -(-COMMANDS // PROCESSES)
    figures = race(Plan(str(tmp_path), names, foreign, share, kills, seed))
    line = json.dumps({"suite": "test_races", "race": name, "seed": seed, **figures})
    with capsys.disabled():
        sys.stdout.write(f"\n{line}\n")
    if FIGURES is not None:
        with Path(FIGURES).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
    assert (figures["kills"] > 0) == kills


@contextmanager
def paused_holder(root: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A command that is stopped while its launch runs; it is killed at the latest when the block ends."""
    with subprocess.Popen(program("hold", root, "r"), env=ENVIRONMENT) as holder:
        try:
            deadline = time.monotonic() + PATIENCE
            while not isinstance(read_log(log)[-1], LaunchStarted):
                assert time.monotonic() < deadline, "nothing was launched"
                time.sleep(0.01)
            wait_for_launch(log.parent / "state.json")
            holder.send_signal(signal.SIGSTOP)
            yield holder
        finally:
            holder.kill()


def wait_for_launch(state: Path) -> None:
    """Until the state knows the launch's process."""
    deadline = time.monotonic() + PATIENCE
    while json.loads(state.read_bytes())["launch"] is None:
        assert time.monotonic() < deadline, "the launch was not saved"
        time.sleep(0.01)


def test_law_4_a_paused_holder_makes_others_busy_and_none_of_them_changes_anything(tmp_path: Path) -> None:
    """Weaker, equal and stronger requests, with the flag and without; once it is gone, all goes on."""
    plan = Plan(str(tmp_path), ["r"], foreign=False, commands=0, kills=False, seed="")
    begin(plan)
    _, log = plan.files("r")
    with paused_holder(plan.root, log) as holder:
        before = snapshot(tmp_path)
        for mode in SandboxMode:
            for given in (False, True):
                asked = Asked(mode=mode, consent=Consent(given=given))
                for wait in (0.0, 0.05):
                    with pytest.raises(BusyError, match="another command"):
                        step(plan.root, "r", ("true",), asked=asked, wait=wait, tell=keep_quiet)
                    for act in (unblock, resume):
                        with pytest.raises(BusyError, match="another command"):
                            act(plan.root, "r", asked=asked, wait=wait, tell=keep_quiet)
                assert snapshot(tmp_path) == before
        holder.kill()
        holder.wait()
    # The launch ends with its command: the run is blocked, and whoever comes next can take it up.
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            unblock(plan.root, "r", asked=Asked(mode=SandboxMode.PREFERRED), wait=0, tell=keep_quiet)
            break
        except BusyError:
            assert time.monotonic() < deadline, "its launch outlived it"
            time.sleep(0.01)
    tally = audit(read_log(log), first=None)
    assert (tally.strengthenings, tally.unfinished_accepts, tally.lost_launches) == (1, 0, 1)


def test_law_4_a_paused_holder_of_foreign_files_makes_others_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = Plan(str(tmp_path), ["r"], foreign=True, commands=0, kills=False, seed="")
    begin(plan)
    monkeypatch.setattr(foreign, "DEFAULT_WAIT", 0.05)
    state, _ = plan.files("r")
    with opened(state.parent) as descriptor, hold(descriptor, wait=0, shown_as="it"):
        before = snapshot(tmp_path)
        for mode in SandboxMode:
            asked = Asked(mode=mode, consent=Consent(given=True))
            with pytest.raises(BusyError, match="another command"):
                check_foreign(plan, "r", asked)
        assert snapshot(tmp_path) == before
    assert check_foreign(plan, "r", Asked(mode=SandboxMode.REQUIRED)) == "Upgrade"


# ---------------------------------------------------------------- the audit itself


def pinned(mode: SandboxMode) -> SandboxPin:
    """A pin with this mode."""
    return PinV1(mode=mode, source=PinSource.CREATED, recorded_at=AT)


WEAK, STRONG = pinned(SandboxMode.DISABLED), pinned(SandboxMode.REQUIRED)


def raised(before: SandboxPin, after: SandboxPin) -> Entry:
    """An entry of a strengthening."""
    request = SandboxRequest(mode=after.mode)
    return PinStrengthened(
        at=AT, run="r", kind=LOCAL, pin=after, before=before, disputed=None, request=request, operator="me"
    )


def lowered(before: SandboxPin, after: SandboxPin) -> Entry:
    """An entry of an accept."""
    request = SandboxRequest(mode=after.mode)
    return PinAccepted(
        at=AT, run="r", kind=LOCAL, pin=after, before=before, disputed=None, request=request, operator="me"
    )


def started(held: SandboxPin) -> Entry:
    """An entry of a launch."""
    return LaunchStarted(
        at=AT,
        run="r",
        kind=LOCAL,
        pin=held,
        asked=held.mode,
        enforced=False,
        backend=None,
        why_not="",
        program="/bin/true",
        workspace="/work",
        writable=(),
    )


def ended(held: SandboxPin, status: int = 0) -> Entry:
    """An entry of a launch's end."""
    return LaunchEnded(at=AT, run="r", kind=LOCAL, pin=held, ran=True, exit_code=status, signal=None)


@pytest.mark.parametrize(
    "entries",
    [
        [raised(WEAK, STRONG), started(WEAK)],
        [raised(WEAK, STRONG), raised(WEAK, STRONG)],
        [raised(WEAK, STRONG), lowered(WEAK, WEAK)],
        [lowered(STRONG, WEAK)],
        [raised(WEAK, STRONG), lowered(STRONG, WEAK), started(WEAK), started(STRONG)],
        [started(WEAK), ended(WEAK), ended(WEAK)],
        [started(WEAK), raised(WEAK, STRONG), ended(STRONG)],
        [started(WEAK), ended(WEAK, OVERLAPPED)],
        [raised(WEAK, WEAK)],
    ],
)
def test_the_audit_finds_what_a_broken_product_would_leave(entries: list[Entry]) -> None:
    """A strengthening that is lost, a pin that changes by itself, two launches at once."""
    with pytest.raises(AssertionError):
        audit(entries, first=WEAK)


def test_the_audit_counts_what_only_a_kill_explains() -> None:
    entries = [raised(WEAK, STRONG), lowered(STRONG, WEAK), started(STRONG), started(STRONG), ended(STRONG)]
    assert audit(entries, first=WEAK) == Tally(5, 1, 1, 1, 1)


if __name__ == "__main__":
    if sys.argv[1] == "race":
        main(Plan(**dict(zip(Plan._fields, json.loads(sys.argv[2]), strict=True))))
    else:
        hold_and_launch(*sys.argv[2:])
