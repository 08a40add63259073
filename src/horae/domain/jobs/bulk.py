"""Changes of many jobs by one job, which every node can run."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from horae.domain.jobs.job import Job
from horae.domain.jobs.query import Bound, InTime, Query, Term

BULK_TYPE: Final = "horae.bulk"
"""The name of the job type; names that begin with `horae.` are reserved."""


class BulkAction(StrEnum):
    """What is done to each of the jobs."""

    CANCEL = "cancel"
    RETRY = "retry"
    DELETE = "delete"
    RESCHEDULE = "reschedule"


@dataclass(frozen=True, slots=True)
class BulkPreview:
    """What a change of many jobs would change now.

    `count`: the number of jobs; `complete`: False if there was not enough time to count all of them; `newest`: the
    newest few of them.
    """

    count: int
    complete: bool
    newest: list[Job]


def without_ages(query: Query, now: datetime) -> Query:
    """Return the query with moments in place of ages, so that it means the same while a change of many jobs runs."""
    return replace(query, terms=tuple(_without_ages(term, now) for term in query.terms))


def _without_ages(term: Term, now: datetime) -> Term:
    condition = term.condition
    if not isinstance(condition, InTime):
        return term
    start, end = _moment(condition.start, now), _moment(condition.end, now)
    return replace(term, condition=replace(condition, start=start, end=end))


def _moment(bound: Bound | None, now: datetime) -> Bound | None:
    if not isinstance(bound, timedelta):
        return bound
    try:
        return now - bound
    except OverflowError:  # before the years that a datetime can hold
        return bound
