"""The result of a check of `horae doctor`, and the limits beyond which it reports something."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from itertools import groupby
from typing import Final

from horae.sentences import Sentence, SentenceCode

GIGABYTE: Final = 1024**3
MOST_OF_A_KIND: Final = 10
"""Maximum number of findings of one kind that are listed one by one; more are one together."""
NAMED: Final = 5
"""How many of them that one names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """The limits beyond which a check reports something, in seconds and bytes."""

    clock_tolerance: float = 1.0  # difference between two clocks that no user notices
    hints_timeout: float = 6.0  # time for a first hint to arrive
    # Time through Redis, which confirms a subscription after one round trip.
    redis_timeout: float = 2.0
    lock_timeout: float = 1.0  # time for which a well-behaved writer may hold SQLite's write lock
    little_space: float = 0.1 * GIGABYTE  # free space on the disk below which writes will fail soon
    enough_space: float = GIGABYTE  # free space on the disk that needs no report
    # Size of a write-ahead log of SQLite that was not checkpointed for long.
    large_wal: float = GIGABYTE / 4
    long_transaction: float = 60.0  # age of a transaction on PostgreSQL that delays vacuum
    many_dead_rows: int = 10_000  # number of dead rows below which they are never a problem
    share_of_dead_rows: float = 0.4  # share of live rows, twice that at which autovacuum starts
    share_of_connections: float = 0.8  # relative to PostgreSQL's maximum number of connections
    queue_late: float = 600.0  # how long a due job may wait before its queue is late
    nothing_claimed: float = 60.0  # how long free slots may claim none of the jobs that are due
    death_reported: float = 3600.0  # for how long the death of a node is reported
    missed_searched: float = 3600.0  # for how long a time that a schedule missed is reported


USUAL: Final = Thresholds()


class Level(StrEnum):
    """The severity. A problem needs action now; a warning should be known."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


class Noun(StrEnum):
    """What a finding may be about."""

    EVERYTHING = "everything"
    QUEUE = "queue"
    SCHEDULE = "schedule"
    TYPE = "type"
    NODE = "node"
    LIMIT = "limit"


class Deed(StrEnum):
    """What an operator can do at once about a finding; it acts on what the finding is about.

    `retry` retries the jobs that were counted.
    """

    RESUME = "resume"
    PAUSE = "pause"
    RETRY = "retry"


@dataclass(frozen=True, slots=True)
class About:
    """What a finding is about; `id`: None if its name is its id."""

    noun: Noun
    name: str
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Counted:
    """The jobs that a finding counted, and the search that finds them again."""

    count: int
    query: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report: what was checked, the result and its meaning, and what to do about
    it.

    `kind`: the same for all findings of one cause; `since`: a moment, or for how long it has
    lasted at least; `about`: the queue, schedule, job type or node; `counted`: the jobs that were
    counted; `deeds`: what can be done at once.
    """

    check: str
    level: Level = field(kw_only=True)
    message: str
    advice: str | None = None
    kind: str = ""
    since: datetime | timedelta | None = None
    about: About | None = None
    counted: Counted | None = None
    deeds: tuple[Deed, ...] = ()

    def began(self, now: datetime) -> datetime | None:
        """Return the moment since which it has lasted; None if that is unknown."""
        return now - self.since if isinstance(self.since, timedelta) else self.since


ok = partial(Finding, level=Level.OK)
warning = partial(Finding, level=Level.WARNING)
problem = partial(Finding, level=Level.PROBLEM)


def together(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings with one in place of many of a kind, in the same order of levels."""
    found: list[Finding] = []
    for _, group in groupby(findings, key=lambda each: (each.level, each.check, each.kind)):
        same = list(group)
        if len(same) <= MOST_OF_A_KIND:
            found += same
            continue
        first = same[0]
        found.append(
            Finding(first.check, first_of(same), first.advice, first.kind, level=first.level)
        )
    return found


def first_of(many: Sequence[Finding]) -> Sentence:
    """Return the first of many findings and the number of the others in a sentence."""
    first, more = [each.message for each in many[:NAMED]], len(many) - NAMED
    return Sentence(
        f"{'; '.join(first)}; and {more} more", SentenceCode.MANY, first=first, more=more
    )


def length_of(seconds: float) -> str:
    """Return a rounded length of time: `45 s`, `12 min`, `3 h`."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
