"""Changes of many jobs by one job, which every node can run."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from horae.domain.jobs.job import Job, JobState
from horae.domain.jobs.query import Contains, Field, InTime, Is, Lasted, Query, Term

BULK_TYPE: Final = "horae.bulk"
"""The name of the job type; names that begin with `horae.` are reserved."""
BULK_QUEUE: Final = "horae.bulk"
"""The queue of its jobs: every worker serves it, even if other queues are paused or limited."""
MOST_IDS: Final = 5_000
"""Maximum number of jobs that one change may name by their ids, which its parameters contain."""


class BulkAction(StrEnum):
    """What is done to each of the jobs."""

    CANCEL = "cancel"
    RETRY = "retry"
    DELETE = "delete"
    RESCHEDULE = "reschedule"


@dataclass(frozen=True, slots=True)
class BulkPreview:
    """What a change of many jobs would change now.

    `count`: the number of jobs; `complete`: False if there was not enough time to count all of
    them; `newest`: the newest few of them.
    """

    count: int
    complete: bool
    newest: list[Job]


def refused_by(job: Job) -> int:
    """Return how many changes were refused to a job that changes many; 0 for all other jobs.

    Such a job finishes all the same, so that whoever lists it has to say that it did not do all.
    """
    if job.type != BULK_TYPE or job.state is not JobState.FINISHED:
        return 0
    refused: int = job.result["failed"]
    return refused


def while_pending(query: Query) -> Query | None:
    """Return the query without terms on a job's state; None if no pending job meets these terms."""
    kept: list[Term] = []
    for term in query.terms:
        match term.condition:
            case Is(field=Field.STATE, texts=states):
                is_met = (JobState.PENDING in states) is not term.negated
            case (
                Contains(field=Field.ERROR)
                | InTime(field=Field.FINISHED)
                | Lasted(field=Field.DURATION)
            ):
                is_met = term.negated
            case _:
                kept.append(term)
                is_met = True
        if not is_met:
            return None
    return replace(query, terms=tuple(kept))
