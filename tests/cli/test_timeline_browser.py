"""The timeline's page in a real browser: its facts are there, and markup from the log is text."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from cli.support import Bench

BROWSER: Final = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

MARKUP: Final = (
    '</title></style><script>document.title="script ran"</script>'
    '<img src=x onerror=\'document.title="handler ran"\'><svg onload=document.title="svg">\u202e\x1b[31m'
)

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium is installed here")


def rendered(page: Path, profile: Path) -> str:
    """The document that a headless browser made of a page."""
    assert BROWSER is not None
    quiet = (
        "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
        "--disable-component-update --disable-sync --disable-dev-shm-usage"
    )
    done = subprocess.run(
        [BROWSER, *quiet.split(), f"--user-data-dir={profile}", "--dump-dom", page.as_uri()],
        env={"PATH": "/usr/bin:/bin", "HOME": str(profile)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=300,
        check=False,
    )
    if done.returncode != 0 and not done.stdout:
        pytest.skip(f"chromium can't run here: it ended with {done.returncode}")
    return done.stdout.decode()


def texts(dom: str) -> str:
    """The text of a document that a browser has written out."""
    return html.unescape(re.sub(r"<[^>]*>", "\n", dom))


def test_a_browser_shows_the_facts_and_runs_nothing(bench: Bench) -> None:
    """Were markup from the log to get through, the title would be another one."""
    path = bench.make("r1", "required") / "run.jsonl"
    created = bench.log()[0]
    created["request"]["mode_from"] = {"from": "file", "path": MARKUP}
    common = {key: created[key] for key in ("run", "kind", "pin")}
    started = {
        **common,
        "event": "launch_started",
        "at": "2026-01-01T00:00:00Z",
        "asked": "required",
        "enforced": True,
        "backend": MARKUP,
        "why_not": None,
        "program": MARKUP,
        "workspace": "/w",
        "writable": [],
    }
    ended = {
        **common,
        "event": "launch_ended",
        "at": "2026-01-01T00:02:05Z",
        "ran": True,
        "exit_code": 3,
        "signal": None,
    }
    lines = [json.dumps(entry) for entry in (created, started, ended)]
    _ = path.write_text("\n".join([*lines, MARKUP.replace("\x1b", ""), ""]))
    _ = bench.succeeds("log", "r1", "--html", "page.html")
    dom = rendered(bench.desk / "page.html", bench.home / "browser")
    assert "<title>Timeline of the run r1</title>" in dom
    assert not re.search(r"<(script|img|iframe|svg onload)\b", dom)
    assert not re.search(r"<[^>]*\son\w+=", re.sub(r'"[^"]*"', '""', dom))
    told = texts(dom)
    for piece in (
        "CREATED",
        "LAUNCH, sandboxed",
        "2 min 5 s: FAILED, exit status 3",
        "2026-01-01T00:00:00Z",
        "TORN",
        r'</title></style><script>document.title="script ran"</script>',
        r"\u202e\x1b[31m",
    ):
        assert piece in told, piece
    assert len(re.findall(r"<rect[^>]*class=\"sandboxed\"", dom)) == 2
