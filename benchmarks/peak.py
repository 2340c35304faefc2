"""By how many bytes a fresh process grows at most while it reads a state's file, and the pin out of it.

Usage: python -m benchmarks.peak FILE
"""

import sys
from pathlib import Path

from sandbox_pin import read_pin

STATUS = Path("/proc/self/status")


def main() -> None:
    """Prints the growth in bytes."""
    file = Path(sys.argv[1])
    _ = read_pin(b'{"sandbox_pin":{"schema":1,"mode":"required","source":"created","recorded_at":"t"}}')
    # From here on the kernel counts the peak anew: proc(5), clear_refs.
    _ = Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = _kib("VmRSS")
    _ = read_pin(file.read_bytes())
    print((_kib("VmHWM") - before) * 1024)


def _kib(field: str) -> int:
    rows = STATUS.read_text(encoding="ascii").splitlines()
    return next(int(row.split()[1]) for row in rows if row.startswith(field + ":"))


if __name__ == "__main__":
    main()
