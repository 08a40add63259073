"""What callers do."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Operation:
    """What a caller does at a moment."""

    at: float
    what: str
    name: str = ""
    number: int = 0
