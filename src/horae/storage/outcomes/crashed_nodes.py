"""Jobs of nodes that crashed or stopped answering, and how often each job was in a crash."""

from collections.abc import Collection
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Integer, Select, and_, bindparam, func, or_, select

from horae.domain.jobs import AttemptOutcome, Claim, JobId, JobState, NodeId
from horae.storage.engine import PerDialect, among, member_of
from horae.storage.jobs import CLAIMED, IS_HELD, job_attempts, jobs, nodes


class AbandonedJob(NamedTuple):
    """A job that a crashed or silent node still holds; `crashes`: how often it was in a crash."""

    claim: Claim
    holder: NodeId
    state: JobState
    crashes: int


def _abandoned(dialect: str) -> Select[Any]:
    listed = select(nodes.c.id).where(nodes.c.id == jobs.c.node_id).exists()
    crashes = (
        select(func.count())
        .where(job_attempts.c.job_id == jobs.c.id, job_attempts.c.outcome == AttemptOutcome.CRASHED)
        .scalar_subquery()
    )
    held = select(
        *CLAIMED,
        jobs.c.node_id.label("holder"),
        jobs.c.state.label("state"),
        crashes.label("crashes"),
    )
    return (
        held.where(
            IS_HELD,
            or_(
                member_of(dialect, jobs.c.node_id, "dead"),
                and_(
                    member_of(dialect, jobs.c.node_id, "silent"),
                    jobs.c.attempt < jobs.c.max_attempts,
                ),
                ~listed,
            ),
        )
        .order_by(
            jobs.c.node_id,
            jobs.c.id,
            # This is the order of the index; by id, SQLite would read the whole table.
        )
        .limit(bindparam("limit", type_=Integer()))
        .with_for_update(skip_locked=True, of=jobs)
    )


ABANDONED: Final = PerDialect(_abandoned)

_crashed = job_attempts.c.outcome == AttemptOutcome.CRASHED
_crashes = (
    select(job_attempts.c.job_id, func.count().label("crashes"))
    .where(_crashed)
    .group_by(job_attempts.c.job_id)
)
CRASHES: Final = among(_crashes, job_attempts.c.job_id)


def abandoned_jobs(
    connection: Connection, dead: Collection[NodeId], limit: int, silent: Collection[NodeId] = ()
) -> list[AbandonedJob]:
    """Lock and return jobs that these nodes still hold, or nodes without a row.

    Rows that others have locked are skipped. `silent`: nodes of which only those jobs count that
    may run again.
    """
    parameters = {"dead": list(dead), "silent": list(silent), "limit": limit}
    rows = connection.execute(ABANDONED.on(connection), parameters).all()
    width = len(Claim._fields)
    return [
        AbandonedJob(Claim._make(row[:width]), NodeId(row.holder), JobState(row.state), row.crashes)
        for row in rows
    ]


def crashes_of(connection: Connection, job_ids: Collection[JobId]) -> dict[JobId, int]:
    """Return how often each of these jobs was running in a crash; others are left out."""
    rows = connection.execute(CRASHES.on(connection), {"ids": list(job_ids)})
    return {JobId(row.job_id): row.crashes for row in rows}
