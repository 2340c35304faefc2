"""States as an orchestrator keeps them: ids, limits, a plan, and above all the agent's turns, with the pin.

A turn is what agents' transcripts have: a few sentences, a tool's call, its output in lines (code and test
reports, so with line breaks and quotation marks), and what it used. The same bytes each time.
"""

import json
import random
from functools import cache
from typing import Final

SIZES: Final = {"1 KB": 1_000, "20 KB": 20_000, "1 MB": 1_000_000, "20 MB": 20_000_000}

PIN: Final = {
    "schema": 1,
    "mode": "required",
    "source": "created",
    "recorded_at": "2026-01-01T00:00:00Z",
}

_SENTENCES: Final = (
    "The test fails because the fixture is never closed.",
    "I will read the parser first, then run the tests again.",
    "The café example in the documentation shows the same mistake.",
    'The message says "unexpected end of input", which is not true here.',
    "All tests pass now.",
)
_OUTPUT: Final = (
    "def parse(text: str) -> Node:",
    "    if not text:",
    '        raise ValueError("unexpected end of input")',
    "tests/test_parser.py::test_empty PASSED                                  [ 12%]",
    "tests/test_parser.py::test_nested FAILED                                 [ 25%]",
    "E       AssertionError: assert 'a' == \"b\"",
    "",
    "\t@@ -12,7 +12,9 @@ def parse(text: str) -> Node:",
)
_DISTINCT: Final = 500


@cache
def state_of(size: int) -> bytes:
    """A state of about that many bytes, as ``json.dumps`` writes it, the pin behind the turns."""
    before = json.dumps(
        {
            "protocol": 12,
            "id": "run-2026-01-01-7f3a",
            "status": "running",
            "attempt": 3,
            "limits": {"tokens": 200_000, "seconds": 3600.0, "retries": [1, 2, 4]},
            "workspace": "/srv/work/fix-42",
        }
    )
    after = json.dumps({"sandbox_pin": PIN, "parent": None, "labels": ["bug", "parser"], "cost": 1.0725})
    chance = random.Random(size)  # noqa: S311 - the same state each time
    left = size - len(before) - len(after) - len('"turns": [], ')
    distinct: list[str] = []
    turns: list[str] = []
    while left > 0:
        if len(distinct) < _DISTINCT:
            distinct.append(json.dumps(_turn(chance, len(distinct), longest=max(left // 100, 1))))
        turn = distinct[len(turns) % len(distinct)]
        turns.append(turn)
        left -= len(turn) + 2
    return f'{before[:-1]}, "turns": [{", ".join(turns)}], {after[1:]}'.encode()


def _turn(chance: random.Random, number: int, *, longest: int) -> dict[str, object]:
    output = chance.choices(_OUTPUT, k=chance.randint(1, min(longest, 30)))
    return {
        "role": "assistant",
        "at": f"2026-01-01T00:{number % 60:02}:00Z",
        "content": [
            {
                "type": "text",
                "text": " ".join(chance.choices(_SENTENCES, k=chance.randint(1, min(longest, 3)))),
            },
            {"type": "tool", "name": "shell", "input": {"command": ["pytest", "-q"], "timeout": None}},
            {"type": "output", "ok": chance.random() < 0.5, "status": number % 3, "text": "\n".join(output)},
        ],
        "usage": {"input": chance.randint(1, 10**5), "output": number, "seconds": round(chance.random(), 3)},
    }
