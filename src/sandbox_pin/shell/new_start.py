"""What is damaged is kept beside, and its place put to new use, so that a crash never makes it worse."""

import os
import stat

from msgspec import Struct
from msgspec.structs import replace

from sandbox_pin.core.event import RunRecovered
from sandbox_pin.core.log_end import LogTail
from sandbox_pin.core.log_line import encode_line
from sandbox_pin.core.record import SandboxPin
from sandbox_pin.errors import StateError, StorageError
from sandbox_pin.shell.durable import flush_folder, replace_file
from sandbox_pin.shell.run_log import FileRunLog, refuse_another


class Recovered(Struct, frozen=True, kw_only=True):
    """What was done.

    Attributes:
        run: the run's id.
        damage: what was wrong.
        kept: the names under which what was damaged is kept, beside where it was.
        pin: the pin that holds from now on.
    """

    run: str
    damage: str
    kept: tuple[str, ...]
    pin: SandboxPin


class Place(Struct, frozen=True, kw_only=True):
    """A file that may be damaged: its name in an open folder, and its path for messages."""

    folder: int
    name: str
    shown_as: str


def start_anew(
    damage: str,
    entry: RunRecovered,
    *,
    state: Place,
    log: Place,
    content: bytes | None,
    state_is_whole: bool,
    raw: bytes,
) -> Recovered:
    """The log first, then the state: a crash in between leaves damage, or a witness of ``required``."""
    run_log = FileRunLog(log.folder, log.name, shown_as=log.shown_as)
    log_is_whole = _log_is_whole(run_log, entry)
    kept: list[str] = []
    if not log_is_whole:
        kept += _keep(log, entry.at)
    if not state_is_whole:
        kept += _keep(state, entry.at, content=content)
    entry = replace(entry, kept=tuple(kept))
    if log_is_whole:
        run_log.append(entry)
    else:
        replace_file(log.folder, log.name, encode_line(entry) + b"\n", shown_as=log.shown_as)
    replace_file(state.folder, state.name, raw, shown_as=state.shown_as)
    return Recovered(run=entry.run, damage=damage, kept=tuple(kept), pin=entry.pin)


def _keep(place: Place, at: str, *, content: bytes | None = None) -> list[str]:
    """Gives what is damaged a second name, under which it stays when the first is put to new use.

    Content that could be read is copied: a state that a crash leaves with two names is refused by placement.
    """
    stamp = "".join(character for character in at if character.isdigit())
    for number in range(1, 100):
        aside = f"{place.name}.damaged-{stamp}-{number}"
        try:
            kind = os.lstat(place.name, dir_fd=place.folder).st_mode
            if content is not None and stat.S_ISREG(kind):
                if _is_there(place.folder, aside):
                    continue
                replace_file(place.folder, aside, content, shown_as=place.shown_as)
                return [aside]
            if stat.S_ISDIR(kind):
                os.rename(place.name, aside, src_dir_fd=place.folder, dst_dir_fd=place.folder)
            else:
                os.link(
                    place.name,
                    aside,
                    src_dir_fd=place.folder,
                    dst_dir_fd=place.folder,
                    follow_symlinks=False,
                )
        except FileNotFoundError:
            return []
        except FileExistsError:
            continue
        except OSError as error:
            problem = f"could not be kept aside: {error.strerror}"
            raise StorageError(problem, file=place.shown_as) from None
        flush_folder(place.folder, shown_as=place.shown_as)
        return [aside]
    raise StorageError("could not be kept aside: too many are already", file=place.shown_as)


def _is_there(folder: int, name: str) -> bool:
    try:
        _ = os.lstat(name, dir_fd=folder)
    except FileNotFoundError:
        return False
    return True


def refuse_failure(error: StorageError) -> None:
    """A read that failed is no damage: what could not be read is not put aside. A log that is no file is."""
    if error.expected is None:
        raise error


def _log_is_whole(log: FileRunLog, entry: RunRecovered) -> bool:
    try:
        tail = log.find_tail()
        if isinstance(tail, StorageError):
            refuse_failure(tail)
        if not isinstance(tail, LogTail) or tail.entry is None:
            return False
        refuse_another(tail.entry, kind=entry.kind, run=entry.run, file=log.shown_as)
    except StateError:
        return False
    return True
