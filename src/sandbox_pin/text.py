"""Text from files, arguments and environments, made fit for a terminal, a log line or a message."""


def shown(text: str) -> str:
    r"""The text with every character that is not printable written as an escape.

    Control characters, line and paragraph separators, bidirectional overrides and lone surrogates would let
    an agent forge a line or a colour; ``str.isprintable`` knows them all. An ordinary text comes back as is.

    >>> shown("two\nlines")
    'two\\nlines'
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape", "surrogatepass").decode()
        for character in text
    )
