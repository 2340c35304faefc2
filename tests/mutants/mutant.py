"""One mutant, as both ways to make some tell it."""

from typing import NamedTuple


class Mutant(NamedTuple):
    """One change, and whether a test noticed it.

    Attributes:
        module: its file, below the package.
        change: the lines that it takes away and adds, as one text.
        killed: whether a test failed, or mypy found an error.
    """

    module: str
    change: str
    killed: bool

    @property
    def key(self) -> str:
        """What names it in ``equivalent.md``: it stays when other lines are added to the file."""
        return f"{self.module}: {self.change}"
