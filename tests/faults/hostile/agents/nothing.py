"""Ends as it is told, after it has tried to tell otherwise: ``nothing STATUS``."""

import os
import sys
from contextlib import suppress
from pathlib import Path

FORGED = b'{ "child-pid": 1, "exit-code": 0 }\n'
for number in range(3, 256):
    with suppress(OSError):
        _ = os.write(number, FORGED)
for descriptor in Path("/proc").glob("[0-9]*/fd/*"):
    with suppress(OSError):
        if "memfd" in str(descriptor.readlink()):
            _ = descriptor.write_bytes(FORGED)
_ = Path("descriptors").write_text(" ".join(sorted(path.name for path in Path("/proc/self/fd").iterdir())))
print(FORGED.decode())  # noqa: T201 - on its output too
sys.exit(int(sys.argv[1]))
