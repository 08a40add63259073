"""The result of a check of `horae doctor`."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """The severity. A problem needs action now; a warning should be known."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report: what was checked, the result and its meaning, and what to do about it."""

    check: str
    level: Level
    message: str
    advice: str | None = None


def ok(check: str, message: str) -> Finding:
    """Return a finding without a problem."""
    return Finding(check, Level.OK, message)


def warning(check: str, message: str, advice: str) -> Finding:
    """Return a warning."""
    return Finding(check, Level.WARNING, message, advice)


def problem(check: str, message: str, advice: str) -> Finding:
    """Return a problem."""
    return Finding(check, Level.PROBLEM, message, advice)


def counted(count: int, what: str) -> str:
    """`1 job`, `3 jobs`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
