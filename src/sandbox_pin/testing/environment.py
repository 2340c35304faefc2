"""Which variables a piece of code looks up, and one variable set for a while."""

import os
from collections.abc import Generator, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Final
from unittest import mock

SAYS_YES: Final = ("1", "true", "yes", "disabled")
"""Values that a program may take for consent, or for a weaker mode."""


class _Watched(MutableMapping[str, str]):
    """The environment, which notes the names that are asked for one by one; a copy or a walk names none."""

    def __init__(self, names: set[str]) -> None:
        self._real: Final = os.environ
        self._names = names

    def __getitem__(self, name: str) -> str:
        self._names.add(name)
        return self._real[name]

    def __setitem__(self, name: str, value: str) -> None:
        self._real[name] = value

    def __delitem__(self, name: str) -> None:
        del self._real[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._real)

    def __len__(self) -> int:
        return len(self._real)

    def copy(self) -> dict[str, str]:
        """As of ``os.environ``."""
        return self._real.copy()

    def __or__(self, other: MutableMapping[str, str]) -> dict[str, str]:
        return {**self._real, **other}


@contextmanager
def names_that_are_read() -> Generator[set[str]]:
    """The names that are looked up in ``os.environ``, or by ``os.getenv``, while the block runs."""
    names: set[str] = set()
    with mock.patch.object(os, "environ", _Watched(names)):
        yield names


@contextmanager
def variable(name: str, value: str) -> Generator[None]:
    """The environment with this variable in it."""
    with mock.patch.dict(os.environ, {name: value}):
        yield
