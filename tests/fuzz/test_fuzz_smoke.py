"""Every target for a second, with random changes: that the laws hold, and that a broken one is found."""

import random
import time
from pathlib import Path
from typing import Final

import pytest

from fuzz import strict_oracle as oracle
from fuzz.drive import MEMORY_EACH, SLOWEST, Bounded
from fuzz.mutation import LONGEST, Mutator
from fuzz.run import TARGETS as RUN
from fuzz.run import fuzz
from fuzz.targets import TARGETS, seeds_of

SEED: Final = random.SystemRandom().randrange(1, 1 << 31)


@pytest.mark.parametrize("target", RUN)
def test_no_input_breaks_a_law_of_a_decoder(target: str, tmp_path: Path) -> None:
    done = fuzz(target, driver="random", seconds=1.0, seed=SEED, findings=tmp_path)
    assert not done.failed, f"seed {SEED}: {done.said}"
    assert done.executions >= len(seeds_of(target))
    assert list(tmp_path.iterdir()) == []


def test_every_target_has_a_corpus_of_small_files() -> None:
    assert sorted(TARGETS) == RUN
    for target in RUN:
        seeds = seeds_of(target)
        assert len(seeds) > 2
        assert max(map(len, seeds)) <= LONGEST


def test_the_same_seed_makes_the_same_inputs() -> None:
    """A finding can be had again from what is printed."""

    def some() -> list[bytes]:
        mutator = Mutator(random.Random(SEED), [b"{}", b"[1,2]"], [b"x", b"\\"])  # noqa: S311 - not secret
        return [mutator.next_input() for _ in range(200)]

    assert some() == some()
    assert max(map(len, some())) <= LONGEST


def test_an_input_that_takes_long_is_a_finding() -> None:
    """The bound on time can fail."""
    end = time.process_time() + SLOWEST + 0.1

    def slow(_: bytes) -> None:
        while time.process_time() < end:
            pass

    with pytest.raises(AssertionError, match="took"):
        Bounded(slow)(b"")


def test_an_input_that_takes_memory_out_of_proportion_is_a_finding() -> None:
    """So can the one on memory, which is looked at now and then."""

    def greedy(data: bytes) -> None:
        assert bytes(len(data) << 24)

    bounded = Bounded(greedy)
    for _ in range(MEMORY_EACH - 1):
        bounded(b"x")
    with pytest.raises(AssertionError, match="bytes for 1"):
        bounded(b"x")


def test_a_finding_is_kept_and_told(tmp_path: Path) -> None:
    """A target that is not there ends with another status than 0, as one that fails does."""
    done = fuzz("no such target", driver="random", seconds=0.1, seed=SEED, findings=tmp_path)
    assert done.failed
    assert "no such target" in done.said


ORACLE: Final = [
    (b"{}", oracle.NoPin()),
    (
        b'{"schema":1,"mode":"required","source":"created","recorded_at":"x"}',
        {"schema": "1", "mode": "required", "source": "created", "recorded_at": "x"},
    ),
]


@pytest.mark.parametrize(("raw", "answer"), ORACLE)
def test_the_oracle_reads_plain_records(raw: bytes, answer: oracle.Answer) -> None:
    assert oracle.judge_pin(raw) == answer
    state = b'{"protocol":12,"sandbox_pin":%b}' % raw
    assert oracle.judge_state(state, pinned_since=None) == answer
