"""The terms of a query as values."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, TypeAlias

MOST_CHARACTERS: Final = 1_000
"""Characters of a query; more would be a statement that takes the database long to plan."""
MOST_TERMS: Final = 20
"""Terms of a query; each is a condition that the database checks for each job that it reads."""
MOST_NAMES: Final = 10
"""Names in the path of a parameter."""

Literal: TypeAlias = str | int | float | bool | None


class Field(StrEnum):
    """What a term compares, other than a parameter."""

    ID = "id"
    TYPE = "type"
    STATE = "state"
    QUEUE = "queue"
    OWNER = "owner"
    KEY = "key"
    TAG = "tag"
    SCHEDULE = "schedule"
    GROUP = "group"
    ERROR = "error"
    TEXT = "text"
    CREATED = "created"
    FINISHED = "finished"
    SINCE = "since"
    UNTIL = "until"
    DURATION = "duration"
    WAIT = "wait"
    ATTEMPTS = "attempts"


@dataclass(frozen=True, slots=True)
class DayAgo:
    """The beginning of a day, in the zone of the query: 0 is today, 1 yesterday, -1 tomorrow."""

    days: int


Bound: TypeAlias = datetime | timedelta | DayAgo
"""A moment, an age (how long before now), or the beginning of a day."""


@dataclass(frozen=True, slots=True)
class Is:
    """The field is one of these texts, or begins with one of the prefixes. Case counts."""

    field: Field
    texts: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Contains:
    """The error, or any text of the job, contains this text in upper or lower case."""

    field: Field
    text: str


@dataclass(frozen=True, slots=True)
class HasId:
    """The job has one of these ids."""

    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class InGroup:
    """The job is a member of this group."""

    id: int


@dataclass(frozen=True, slots=True)
class HasParameter:
    """The parameter at `path` is one of these values: `4711` may be a number or a text."""

    path: tuple[str, ...]
    values: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class InTime:
    """The moment is not before `start` and is before `end`; None is no bound."""

    field: Field
    start: Bound | None
    end: Bound | None


@dataclass(frozen=True, slots=True)
class Lasted:
    """The run or the wait took at least and at most these durations.

    A run is that of an ended job since the start of its last attempt. A wait is the time from when
    the job was due until its last attempt began, or until now, or until it ended without one.

    The bounds themselves match, unless `strictly`.
    """

    field: Field
    least: timedelta | None
    most: timedelta | None
    strictly: bool = False


@dataclass(frozen=True, slots=True)
class Attempted:
    """The job has had at least and at most so many attempts; None is no bound."""

    least: int | None
    most: int | None


Condition: TypeAlias = Is | Contains | HasId | InGroup | HasParameter | InTime | Lasted | Attempted


@dataclass(frozen=True, slots=True)
class Term:
    """A condition that a job must meet, or must not meet.

    `place`: where it stands in the text, counted from 1, and how long it is; for errors.
    """

    condition: Condition
    negated: bool = False
    place: tuple[int, int] = field(default=(1, 0), compare=False)


@dataclass(frozen=True, slots=True)
class Query:
    """The terms that a job must all meet.

    `technical`: whether `error` and free text also search the error text for developers, which
    owners do not see. `zone`: the IANA name of the time zone of its days. `text`: as it was
    written, for errors.
    """

    terms: tuple[Term, ...]
    technical: bool = True
    zone: str = "UTC"
    text: str = field(default="", compare=False)
