"""Jobs of nodes that crashed or stopped answering, and how often each job was in a crash."""

from collections.abc import Collection
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Select, and_, bindparam, func, or_, select

from horae.domain.jobs import AttemptOutcome, Claim, JobId, JobState, NodeId
from horae.storage.engine import member_of
from horae.storage.jobs import CLAIMED, IS_HELD, job_attempts, jobs, nodes


class AbandonedJob(NamedTuple):
    """A job that a crashed or silent node still holds; `crashes`: how often it was in a crash."""

    claim: Claim
    holder: NodeId
    state: JobState
    crashes: int


_crashed = job_attempts.c.outcome == AttemptOutcome.CRASHED
_crashes = (
    select(func.count()).where(job_attempts.c.job_id == jobs.c.id, _crashed).scalar_subquery()
)
_is_listed = select(nodes.c.id).where(nodes.c.id == jobs.c.node_id).exists()
ABANDONED: Final[Select[Any]] = (
    select(
        *CLAIMED,
        jobs.c.node_id.label("holder"),
        jobs.c.state.label("state"),
        _crashes.label("crashes"),
    )
    .where(
        IS_HELD,
        or_(
            member_of(jobs.c.node_id, "dead"),
            and_(member_of(jobs.c.node_id, "silent"), jobs.c.attempt < jobs.c.max_attempts),
            ~_is_listed,
        ),
    )
    # This is the order of the index; by id, SQLite would read the whole table.
    .order_by(jobs.c.node_id, jobs.c.id)
    .limit(bindparam("limit"))
    .with_for_update(skip_locked=True, of=jobs)
)
CRASHES: Final = (
    select(job_attempts.c.job_id, func.count().label("crashes"))
    .where(_crashed, member_of(job_attempts.c.job_id, "ids"))
    .group_by(job_attempts.c.job_id)
)


def abandoned_jobs(
    connection: Connection, dead: Collection[NodeId], limit: int, silent: Collection[NodeId] = ()
) -> list[AbandonedJob]:
    """Lock and return jobs that these nodes still hold, or nodes without a row.

    Rows that others have locked are skipped. `silent`: nodes of which only those jobs count that
    may run again.
    """
    parameters = {"dead": dead, "silent": silent, "limit": limit}
    rows = connection.execute(ABANDONED, parameters).all()
    width = len(Claim._fields)
    return [
        AbandonedJob(Claim._make(row[:width]), NodeId(row.holder), JobState(row.state), row.crashes)
        for row in rows
    ]


def crashes_of(connection: Connection, job_ids: Collection[JobId]) -> dict[JobId, int]:
    """Return how often each of these jobs was running in a crash; others are left out."""
    rows = connection.execute(CRASHES, {"ids": job_ids})
    return {JobId(row.job_id): row.crashes for row in rows}
