"""Why an aim is not met: for each line that misses its own, the profile that shows it, in a sentence."""

from typing import Final

WHY: Final[dict[str, str]] = {}
"""By a line's name. Told only while the aim is missed."""
