"""The result of a check of `horae doctor`, and the limits beyond which it reports something."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

GIGABYTE: Final = 1024**3


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """The limits beyond which a check reports something, in seconds and bytes."""

    clock_tolerance: float = 1.0  # difference between two clocks that no user notices
    hints_timeout: float = 6.0  # time for a first hint to arrive
    redis_timeout: float = (
        2.0  # time through Redis, which confirms a subscription after one round trip
    )
    lock_timeout: float = 1.0  # time for which a well-behaved writer may hold SQLite's write lock
    little_space: float = 0.1 * GIGABYTE  # free space on the disk below which writes will fail soon
    enough_space: float = GIGABYTE  # free space on the disk that needs no report
    large_wal: float = (
        GIGABYTE / 4
    )  # size of a write-ahead log of SQLite that was not checkpointed for long
    long_transaction: float = 60.0  # age of a transaction on PostgreSQL that delays vacuum
    many_dead_rows: int = 10_000  # number of dead rows below which they are never a problem
    share_of_dead_rows: float = 0.4  # share of live rows, twice that at which autovacuum starts
    share_of_connections: float = 0.8  # relative to PostgreSQL's maximum number of connections


USUAL: Final = Thresholds()


class Level(StrEnum):
    """The severity. A problem needs action now; a warning should be known."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report: what was checked, the result and its meaning, and what to do about
    it.
    """

    check: str
    level: Level
    message: str
    advice: str | None = None


def ok(check: str, message: str, advice: str | None = None) -> Finding:
    """Return a finding without a problem; `advice`: how to improve it."""
    return Finding(check, Level.OK, message, advice)


def warning(check: str, message: str, advice: str) -> Finding:
    """Return a warning."""
    return Finding(check, Level.WARNING, message, advice)


def problem(check: str, message: str, advice: str) -> Finding:
    """Return a problem."""
    return Finding(check, Level.PROBLEM, message, advice)


def count_of(count: int, what: str) -> str:
    """Return a count with its noun, such as `1 job` or `3 jobs`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
