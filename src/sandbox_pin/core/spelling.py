"""How near a word is to the right one, and how to show it: for messages about configuration."""

from collections.abc import Iterable

_LONGEST_SHOWN = 64


def quoted(text: str) -> str:
    """The text in quotes, cut short: the key or value of a message may be as long as its file."""
    return repr(shortened(text))


def shortened(text: str) -> str:
    """The text, or its beginning and three dots."""
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def abridged(message: str) -> str:
    """Another's message on one line, cut short in its middle: it may quote a name as long as the file.

    Parsers put the place at the end ("at line 3, column 9"), so that both ends stay.
    """
    line = " ".join(message.split())
    return line if len(line) <= 2 * _LONGEST_SHOWN else f"{line[:_LONGEST_SHOWN]}...{line[-_LONGEST_SHOWN:]}"


def letters_of(text: str) -> str:
    """The text after case folding, without whatever is no letter: "Sand-Box " gives "sandbox"."""
    return "".join(character for character in text.casefold() if character.isalpha())


def within(slips: int, found: str, right: str) -> bool:
    """Whether at most so many slips lie between the words."""
    # The lengths are compared first: there may be a million letters, and the distance looks at each.
    return abs(len(found) - len(right)) <= slips and _distance(found, right) <= slips


def nearest(found: str, words: Iterable[str]) -> str:
    """The word that is the fewest slips away; the first of those on a tie."""
    letters = letters_of(found[:_LONGEST_SHOWN])
    return min(words, key=lambda word: _distance(letters, word))


def is_near(found: str, word: str) -> bool:
    """Whether it is likely that the word was meant: at least two thirds of it are there."""
    return within(len(word) // 3, letters_of(found), word)


def _distance(found: str, right: str) -> int:
    """How many slips of a finger lie between two words.

    A slip is a letter too many, a letter missing, a wrong letter, or two neighbours exchanged.
    """
    two_above: list[int] = []
    above = list(range(len(right) + 1))
    for row, letter in enumerate(found, start=1):
        current = [row]
        for column, wanted in enumerate(right, start=1):
            slips = min(above[column] + 1, current[-1] + 1, above[column - 1] + (letter != wanted))
            if row > 1 and column > 1 and letter == right[column - 2] and found[row - 2] == wanted:
                slips = min(slips, two_above[column - 2] + 1)
            current.append(slips)
        two_above, above = above, current
    return above[-1]
