"""What every agent does: it tries one thing after another, and tells in its workspace what came of each."""

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

DID: Final = "did"


class Attempts:
    """Attempts by name, and what came of each: ``did``, or why not."""

    def __init__(self) -> None:
        self.came_of: dict[str, str] = {}
        self._folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY)

    def attempt(self, name: str, action: Callable[[], object]) -> None:
        """Tries one thing."""
        try:
            found = action()
        except OSError as error:
            self.came_of[name] = errno.errorcode.get(error.errno or 0, repr(error))
        else:
            self.came_of[name] = "no" if found is False else DID

    def tell(self) -> None:
        """Leaves the report where it can be read from outside."""
        os.fchdir(self._folder)  # wherever an attempt has led
        aside = Path("report.aside")
        _ = aside.write_text(json.dumps(self.came_of))
        _ = aside.rename("report.json")
