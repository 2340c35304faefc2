"""Makes many runs fast, as an orchestrator leaves them: the same bytes for the same count and seed.

Each has a state of 1 to 20 KB (its own fields, and what an orchestrator keeps beside them) and a log of its
creation and some launches. Nothing is flushed: these are for measuring, not for keeping.
Usage: python benchmarks/make_runs.py N FOLDER [SEED]
"""

import random
import sys
from pathlib import Path
from typing import Final

import msgspec

from sandbox_pin import PinSource, RunKind, SandboxMode, SandboxPin, SandboxRequest
from sandbox_pin.core.event import Entry, LaunchEnded, LaunchStarted, RunCreated
from sandbox_pin.core.log_line import encode_line
from sandbox_pin.core.record import make_pin
from sandbox_pin.core.run_state import PROTOCOL, RunState, RunStatus, encode_run_state

_MODES: Final = list(SandboxMode)
_KINDS: Final = [RunKind.LOCAL, RunKind.LOCAL, RunKind.REMOTE]
_WORDS: Final = ["the", "test", "fails", "because", "parser", "returns", "input", "naïve", '"empty"', "\n"]


def main() -> None:
    """Makes them, and says how many bytes they are."""
    count, root = int(sys.argv[1]), Path(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    total = make_runs(count, root, seed=seed)
    print(f"{count} runs, {total / 1e6:.1f} MB")


def make_runs(count: int, root: Path, *, seed: int = 1) -> int:
    """Makes runs in a folder; gives how many bytes they are.

    Args:
        count: how many.
        root: the folder of all runs; made where it is not there.
        seed: other bytes for another one.
    """
    chance = random.Random(seed)  # noqa: S311 - the same bytes again are what is wanted
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    texts = [" ".join(chance.choices(_WORDS, k=60)) for _ in range(64)]
    total = 0
    for number in range(count):
        run = f"run-{number:07d}"
        state, log = _run(run, chance, texts)
        (root / run).mkdir(0o700)
        for name, data in (("state.json", state), ("run.jsonl", log)):
            _ = (root / run / name).write_bytes(data)
            total += len(data)
    return total


def _run(run: str, chance: random.Random, texts: list[str]) -> tuple[bytes, bytes]:
    """One run's state and log."""
    kind = chance.choice(_KINDS)
    at = f"2026-{chance.randint(1, 12):02d}-{chance.randint(1, 28):02d}T{chance.randint(0, 23):02d}:00:00Z"
    backend = "bubblewrap" if kind is RunKind.REMOTE else None
    pin = make_pin(mode=chance.choice(_MODES), source=PinSource.CREATED, recorded_at=at, backend=backend)
    state = RunState(
        protocol=PROTOCOL,
        run=run,
        kind=kind,
        status=RunStatus.READY,
        workspace=f"/srv/work/{run}",
        created_at=at,
        command=("agent", "--task", run),
    )
    entries: list[Entry] = [
        RunCreated(
            at=at,
            run=run,
            kind=kind,
            pin=pin,
            workspace=f"/srv/work/{run}",
            parent=None,
            request=SandboxRequest(mode=pin.mode, backend=backend),
            operator="operator",
        )
    ]
    for _ in range(chance.randint(1, 8)):
        entries += _launch(run, kind, pin, at)
    own = encode_run_state(state, pin).rstrip()[:-2]
    beside = msgspec.json.encode(_beside(chance, texts))
    log = b"".join(encode_line(entry) + b"\n" for entry in entries)
    return own + b",\n  " + beside[1:-1] + b"\n}\n", log


def _launch(run: str, kind: RunKind, pin: SandboxPin, at: str) -> list[Entry]:
    enforced = pin.mode is not SandboxMode.DISABLED
    return [
        LaunchStarted(
            at=at,
            run=run,
            kind=kind,
            pin=pin,
            asked=pin.mode,
            enforced=enforced,
            backend="bubblewrap" if enforced else None,
            why_not=None if enforced else "disabled: logical isolation only",
            program="/usr/bin/agent",
            workspace=f"/srv/work/{run}",
            writable=(),
        ),
        LaunchEnded(at=at, run=run, kind=kind, pin=pin, ran=True, exit_code=0, signal=None),
    ]


def _beside(chance: random.Random, texts: list[str]) -> dict[str, object]:
    """What an orchestrator keeps beside our fields: 1 to 20 KB, messages for the most part."""
    size = int(1000 * 18 ** chance.random()) - 600
    messages: list[dict[str, str]] = []
    while size > 0:
        text = chance.choice(texts)
        messages.append({"role": chance.choice(["user", "assistant", "tool"]), "content": text})
        size -= len(text)
    return {
        "iteration": chance.randint(0, 400),
        "branch": f"fix/{chance.randint(0, 9999)}",
        "cost": {"input_tokens": chance.randint(0, 1 << 20), "usd": round(chance.random() * 9, 4)},
        "messages": messages,
    }


if __name__ == "__main__":
    main()
