"""What a check of `horae doctor` comes to."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad it is. A problem needs somebody now; a warning should be known."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: what was checked, what it came to and what it means, and what to do about it, if anything."""

    check: str
    level: Level
    message: str
    advice: str | None = None


def ok(check: str, message: str) -> Finding:
    """All is well."""
    return Finding(check, Level.OK, message)


def warning(check: str, message: str, advice: str) -> Finding:
    """It should be known."""
    return Finding(check, Level.WARNING, message, advice)


def problem(check: str, message: str, advice: str) -> Finding:
    """Somebody should act."""
    return Finding(check, Level.PROBLEM, message, advice)


def counted(count: int, what: str) -> str:
    """`1 job`, `3 jobs`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
