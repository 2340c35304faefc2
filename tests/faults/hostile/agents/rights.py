"""Asks for more rights than it has, and tries to leave some behind: ``rights PROGRAM``."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from faults.hostile.agents.attempts import Attempts

attempts = Attempts()
said = subprocess.run([sys.argv[1], "-u"], capture_output=True, text=True, timeout=20, check=False).stdout
attempts.came_of["uid by a setuid program"] = said.strip()
attempts.came_of["uid"] = str(os.getuid())
attempts.attempt("become root", lambda: os.setuid(0) if os.getuid() else False)
attempts.attempt("become another", lambda: os.setuid(os.getuid() + 1))
attempts.attempt("groups", lambda: os.setgroups([0]))
_ = shutil.copy("/usr/bin/id", "id")
attempts.attempt("leave a setuid program", lambda: Path("id").chmod(0o4755))
attempts.attempt("give it to another", lambda: os.chown("id", os.getuid() + 1, -1))
attempts.attempt("give it a capability", lambda: os.setxattr("id", "security.capability", bytes(20)))
attempts.tell()
