"""Shares an audit among processes, each of which walks the folders itself and looks at its part of the runs.

So nothing is sent to a worker, and what comes back is told already; a worker waits where its reader does.
"""

import contextlib
import itertools
import os
import signal
from collections.abc import Generator
from typing import TYPE_CHECKING, Final

import msgspec

from sandbox_pin.errors import StorageError
from sandbox_pin.shell.audit import Audit, Batch, Line, Share, look_at_all, opened_roots, places

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

_WORTH_A_PROCESS: Final = 1000
"""How many runs a worker must have for its start to cost less than it saves."""

_END: Final = b""


def look_in_parallel(audit: Audit, *, line: Line, jobs: int | None) -> Generator[Batch]:
    """As ``look_at_all``, over everything.

    Args:
        audit: what to look at.
        line: how a run is shown.
        jobs: how many processes look; ``None``: one for each core, as far as there is work for it.

    Raises:
        StorageError: as ``look_at_all``, or the system ended a worker.
        UsageError: as ``look_at_all``.
        StateError: as ``look_at_all``.
    """
    wanted = jobs if jobs is not None else _jobs_for(audit)
    if wanted == 1:
        yield from look_at_all(audit, line=line, share=Share())
    else:
        yield from _gather(audit, line, wanted)


def _jobs_for(audit: Audit) -> int:
    cores = len(os.sched_getaffinity(0))
    if cores == 1:
        return 1
    with opened_roots(audit.paths) as roots:
        enough = itertools.islice(places(roots, audit.foreign), cores * _WORTH_A_PROCESS)
        return max(1, sum(1 for _ in enough) // _WORTH_A_PROCESS)


def _gather(audit: Audit, line: Line, jobs: int) -> Generator[Batch]:
    import multiprocessing  # noqa: PLC0415 - no other command needs it, nor an audit of a few runs
    from multiprocessing.connection import wait  # noqa: PLC0415

    # Forked, so that a worker has all that is imported here, and hashes as the others do: by that they share.
    system = multiprocessing.get_context("fork")
    workers: dict[Connection, BaseProcess] = {}
    try:
        for number in range(jobs):
            receiver, sender = system.Pipe(duplex=False)
            workers[receiver] = system.Process(
                target=_work,
                args=(audit, line, Share(number=number, of=jobs), sender, [*workers, receiver]),
                daemon=True,
            )
            workers[receiver].start()
            sender.close()
        decode = msgspec.msgpack.Decoder(Batch).decode
        while workers:
            ready = wait([*workers])
            for receiver in [known for known in workers if known in ready]:
                data = _received(receiver, workers[receiver])
                if data == _END:
                    workers.pop(receiver).join()
                    receiver.close()
                else:
                    yield decode(data)
    finally:
        for receiver, worker in workers.items():
            receiver.close()
            if worker.pid is not None:
                worker.terminate()
                worker.join()


def _received(receiver: "Connection", worker: "BaseProcess") -> bytes:
    try:
        return receiver.recv_bytes()
    except EOFError:
        worker.join()
        raise StorageError(
            f"a worker of the audit ended early (exit status {worker.exitcode})",
            remedy="What was shown is not all. Where memory is short, try --jobs 1.",
        ) from None


def _work(
    audit: Audit, line: Line, share: Share, sender: "Connection", receivers: "list[Connection]"
) -> None:
    # The parent alone answers Ctrl-C; and only while nobody else holds a reader's end does its end show here.
    _ = signal.signal(signal.SIGINT, signal.SIG_IGN)
    for receiver in receivers:
        receiver.close()
    encode = msgspec.msgpack.Encoder().encode
    with contextlib.suppress(BrokenPipeError):
        for batch in look_at_all(audit, line=line, share=share):
            sender.send_bytes(encode(batch))
        sender.send_bytes(_END)
