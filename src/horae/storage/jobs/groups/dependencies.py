"""Jobs that wait for other jobs, and what happens if one of these does not finish."""

from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from horae.domain.jobs import AWAITED_BY_JOBS, ENDED, JobId, JobState, OnDependencyFailure
from horae.storage.engine import member_of
from horae.storage.jobs.group_tables import dependencies
from horae.storage.jobs.groups.groups import HOLD_BACK
from horae.storage.jobs.tables import jobs


class Dependency(NamedTuple):
    """A job that another one waits for."""

    id: JobId
    owner: str | None
    state: JobState


# Rows are locked in the order of their ids, as in settling, so that transactions cannot deadlock.
AWAIT: Final = (
    select(jobs.c.id)
    .where(member_of(jobs.c.id, "ids"), jobs.c.finished_at.is_(None))
    .order_by(jobs.c.id)
    .with_for_update()
)
MARK_AWAITED: Final = (
    update(jobs)
    .where(member_of(jobs.c.id, "ids"), jobs.c.finished_at.is_(None))
    .values(awaited=AWAITED_BY_JOBS)
)
STATES: Final = select(jobs.c.id, jobs.c.owner, jobs.c.state).where(member_of(jobs.c.id, "ids"))
ADD: Final = insert(dependencies)
OF_JOB: Final = (
    select(dependencies.c.after_id)
    .where(dependencies.c.job_id == bindparam("job_id"))
    .order_by(dependencies.c.after_id)
)
FORGET: Final = delete(dependencies).where(member_of(dependencies.c.after_id, "ids"))


def await_jobs(connection: Connection, job_ids: Collection[JobId]) -> list[Dependency]:
    """Return these jobs, and have the transactions that end them notify the jobs that wait.

    Their rows stay locked until this transaction ends, so none of them ends in the meantime.
    """
    ids: dict[str, Any] = {"ids": sorted(job_ids)}
    if connection.execute(AWAIT, ids).all():
        connection.execute(MARK_AWAITED, ids)
    rows = connection.execute(STATES, ids)
    return [Dependency(JobId(row.id), row.owner, JobState(row.state)) for row in rows]


def hold_back(
    connection: Connection,
    job_id: JobId,
    after: Sequence[Dependency],
    on_failure: OnDependencyFailure,
) -> None:
    """Let a new job of this transaction wait for these jobs, which `await_jobs` has returned."""
    connection.execute(HOLD_BACK, {"job_id": job_id})
    rows = [
        {
            "after_id": each.id,
            "job_id": job_id,
            "on_failure": on_failure.value,
            "ended": each.state in ENDED,
        }
        for each in after
    ]
    connection.execute(ADD, rows)


def of_job(connection: Connection, job_id: JobId) -> list[JobId]:
    """Return the jobs for which a job waits or has waited."""
    return [JobId(id_) for id_ in connection.scalars(OF_JOB, {"job_id": job_id})]


def forget(connection: Connection, job_ids: Collection[JobId]) -> None:
    """Delete the record of what these deleted jobs have waited for."""
    connection.execute(FORGET, {"ids": job_ids})
