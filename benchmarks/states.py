"""States as an orchestrator keeps them: ids, limits, a plan, and above all the messages, with the pin among them."""

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

_WORDS: Final = (
    "the test failed because of a fixture that was not closed so run it again and read what the log says then edit "
    "parser module path return value None assert import def class self error line file branch commit naïve café"
).split()
_DISTINCT: Final = 500


@cache
def state_of(size: int) -> bytes:
    """A state of about that many bytes, as ``json.dumps`` writes it, the pin behind the messages."""
    before = {
        "protocol": 12,
        "id": "run-2026-01-01-7f3a",
        "status": "running",
        "created_at": "2026-01-01T00:00:00Z",
        "attempt": 3,
        "cost": 1.0725,
        "limits": {"tokens": 200_000, "seconds": 3600.0, "retries": [1, 2, 4]},
        "workspace": "/srv/work/fix-42",
    }
    after = {"sandbox_pin": PIN, "parent": None, "labels": ["bug", "parser"], "last_error": ""}
    text = random.Random(size)  # noqa: S311 - the same state each time
    left = size - len(json.dumps(before)) - len(json.dumps(after)) - len('"messages": [], ')
    messages: list[str] = []
    distinct: list[str] = []
    while left > 0:
        if len(distinct) < _DISTINCT:
            distinct.append(json.dumps(_message(text, len(distinct), left)))
        message = distinct[len(messages) % len(distinct)]
        messages.append(message)
        left -= len(message) + 2
    return f'{json.dumps(before)[:-1]}, "messages": [{", ".join(messages)}], {json.dumps(after)[1:]}'.encode()


def _message(text: random.Random, number: int, left: int) -> dict[str, object]:
    words = text.choices(_WORDS, k=min(text.randint(10, 400), max(left // 8, 4)))
    message: dict[str, object] = {"role": "assistant", "content": " ".join(words) + '\n"quoted"\n'}
    if left > 600:
        message["usage"] = {"input": text.randint(1, 10**5), "output": number, "seconds": text.random()}
        message["tool"] = {
            "name": "shell",
            "arguments": {"command": ["pytest", "-q"], "timeout": None},
            "ok": True,
        }
    return message
