"""One durable change of a pin, beside bare Python that makes the same system calls and decides nothing.

strace(1) of our side shows, for each change: of the log an open, fstats, a pread of its last byte, write and
fsync; of the state an unlink of what a killed command may have left, an open, stat and fstat of the old and
the new file, fchmod, write, fsync, rename, and an fsync of the folder.
"""

import contextlib
import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.line import AtMost, Calls, Line

AT: Final = "2026-01-01T00:00:00Z"
_AFRESH: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def _ours(before: str, after: str, folder: Path) -> Callable[[], object]:
    from sandbox_pin import (  # noqa: PLC0415 - each side imports its own alone
        PinSource,
        PinV1,
        RunKind,
        SandboxMode,
        SandboxRequest,
        decide,
        replace_pin,
    )
    from sandbox_pin.shell import FileRunLog, apply_decision  # noqa: PLC0415 - as above
    from sandbox_pin.shell.durable import open_folder, replace_file  # noqa: PLC0415 - as above

    descriptor = open_folder(tempfile.mkdtemp(dir=folder))
    log = FileRunLog(descriptor, "run.jsonl", shown_as="run.jsonl")
    pin = PinV1(mode=SandboxMode(before), source=PinSource.CREATED, recorded_at=AT)
    state = replace_pin(b'{"protocol":12}', pin)
    request = SandboxRequest(mode=SandboxMode(after))

    def change() -> None:
        decision = decide(pin, request, kind=RunKind.LOCAL, accept_config_change=True, at=AT)
        _ = apply_decision(
            decision,
            state=pin,
            log=log,
            save=lambda new: replace_file(
                descriptor, "state.json", replace_pin(state, new), shown_as="state.json"
            ),
            run="r",
            operator="operator",
        )

    change()  # the log's first entry makes it, which is another work
    return change


def _bare(folder: Path) -> Callable[[], object]:
    descriptor = os.open(tempfile.mkdtemp(dir=folder), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    line, state = b"x" * 399 + b"\n", b"x" * 120

    def append() -> None:
        log = os.open(
            "run.jsonl", os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600, dir_fd=descriptor
        )
        size = os.fstat(log).st_size
        if size:
            _ = os.pread(log, 1, size - 1)
        _ = os.write(log, line)
        os.fsync(log)
        os.close(log)

    def save() -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(".state.json.new", dir_fd=descriptor)
        new = os.open(".state.json.new", _AFRESH, 0o600, dir_fd=descriptor)
        with contextlib.suppress(FileNotFoundError):
            _ = os.stat("state.json", dir_fd=descriptor, follow_symlinks=False)
        _ = os.fstat(new)
        os.fchmod(new, 0o600)
        _ = os.write(new, state)
        os.fsync(new)
        os.close(new)
        os.rename(".state.json.new", "state.json", src_dir_fd=descriptor, dst_dir_fd=descriptor)
        os.fsync(descriptor)

    def change() -> None:
        append()
        save()

    change()
    return change


_PEER: Final = "bare Python, the same system calls"

LINES: Final = [
    Line(
        "a durable accept: decided, logged, saved",
        _PEER,
        Calls(partial(_ours, "required", "disabled")),
        Calls(_bare),
        AtMost(1.2),
    ),
    Line(
        "a durable strengthening: decided, logged, saved",
        _PEER,
        Calls(partial(_ours, "disabled", "required")),
        Calls(_bare),
        AtMost(1.2),
    ),
]
