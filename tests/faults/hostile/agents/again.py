"""Runs command lines, with the marker and without: ``again JSON``, where that is a list of lists of words."""

import json
import os
import subprocess
import sys
from pathlib import Path

came_of: list[object] = []
for words in json.loads(sys.argv[1]):
    for marked in (True, False):
        environment = dict(os.environ)
        if not marked:
            del environment["SANDBOX_PIN_LAUNCH"]
        ended = subprocess.run(
            words, env=environment, capture_output=True, text=True, timeout=30, check=False
        )
        came_of.append([words, marked, ended.returncode, ended.stderr])
_ = Path("report.json").write_text(json.dumps(came_of))
