"""What time a stored text names: in a record or an entry it is any short text (design: "The record")."""

from datetime import datetime


def parse_time(text: str) -> datetime | None:
    """The moment that a stored text names; ``None`` where it is no time, or one without its zone."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if moment.tzinfo is None else moment
