"""What a test and its driver say to each other: one JSON object a line."""

from typing import IO, TypeVar

import msgspec
from msgspec import Struct


class Job(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One command line to call, and the fault in it.

    Attributes:
        words: the command line; none: wait for all that earlier ones left running.
        folder: where it is called.
        environment: all of its environment.
        traced: whether it stops before its first call, for a tracer to attach.
        point: which of its own calls is hurt, from 1; one more than there are: behind the last.
        fault: ``kill``; ``error:EIO``; ``short:half``: a write takes half of its bytes, with ``-kill``:
            and it dies, with ``-full``: and then the disk is full; ``cut``: the power goes; empty: none.
        only: the functions of ``os`` whose calls are counted; empty: all that are known.
        file_size: no file can grow past it.
        unsynced: what is never flushed, though the command thinks so: ``log``, ``aside``, ``folder``.
        disk: what loses its power: a folder in it.
        patience: how long to wait for what is left running, in seconds.
    """

    words: tuple[str, ...] = ()
    folder: str = "/"
    environment: dict[str, str] = {}
    traced: bool = False
    point: int = 0
    fault: str = ""
    only: tuple[str, ...] = ()
    file_size: int | None = None
    unsynced: tuple[str, ...] = ()
    disk: str | None = None
    patience: float = 10.0


class Answer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of it.

    Attributes:
        pid: the controller's number.
        status: its exit status, or less than 0: the signal that ended it.
        said: what it wrote to its standard output and error.
        fired: whether the fault came; a tracer's faults are not known here.
        hung: whether it had to be killed as it never ended.
        calls: its own calls in order, each with what its descriptor is of (file, folder).
        alive: the processes that lived when it ended.
        left: the processes that did not end in time, and were killed.
    """

    pid: int = 0
    status: int = 0
    said: str = ""
    fired: bool = False
    hung: bool = False
    calls: tuple[tuple[str, str], ...] = ()
    alive: tuple[int, ...] = ()
    left: tuple[int, ...] = ()


_Message = TypeVar("_Message", Job, Answer)


def send(stream: IO[bytes], message: Job | Answer) -> None:
    """Writes one message."""
    _ = stream.write(msgspec.json.encode(message) + b"\n")
    stream.flush()


def receive(stream: IO[bytes], kind: type[_Message]) -> _Message | None:
    """Reads one; ``None``: there are no more."""
    line = stream.readline()
    return msgspec.json.decode(line, type=kind) if line else None
