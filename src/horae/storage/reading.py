"""Jobs as values: one, a page, those that ended."""

from collections.abc import Collection
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, Select, bindparam, false, func, select

from horae.domain.job import AttemptOutcome, Job, JobId, JobState, NodeId
from horae.storage.dialect import IdList, PerDialect, member_of
from horae.storage.tables import job_attempts, jobs

COLUMNS: Final = tuple(jobs.c[field.name] for field in fields(Job))
GET: Final = select(*COLUMNS).where(jobs.c.id == bindparam("job_id"))
GET_MANY: Final = PerDialect(lambda dialect: select(*COLUMNS).where(member_of(dialect, jobs.c.id, "ids", of=IdList)))
STATES: Final = PerDialect(
    lambda dialect: select(jobs.c.id, jobs.c.state).where(member_of(dialect, jobs.c.id, "ids", of=IdList))
)
ATTEMPTS: Final = (
    select(job_attempts).where(job_attempts.c.job_id == bindparam("job_id")).order_by(job_attempts.c.lease)
)
COUNTS: Final = select(jobs.c.state, func.count()).group_by(jobs.c.state)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Which jobs to list; None means any, an empty collection means none."""

    states: Collection[JobState] | None = None
    types: Collection[str] | None = None
    ids: Collection[JobId] | None = None
    queues: Collection[str] | None = None
    owner: str | None = None
    before: JobId | None = None
    limit: int | None = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt at a job, as it ended."""

    job_id: JobId
    lease: int
    attempt: int
    node_id: NodeId | None
    started_at: datetime
    finished_at: datetime
    outcome: AttemptOutcome
    error: str | None
    traceback: str | None


def get(connection: Connection, job_id: JobId) -> Job | None:
    """The job, or None."""
    row = connection.execute(GET, {"job_id": job_id}).one_or_none()
    return None if row is None else job_from(row)


def get_many(connection: Connection, job_ids: Collection[JobId]) -> list[Job]:
    """The jobs of these ids that exist, in no order."""
    return [job_from(row) for row in connection.execute(GET_MANY.on(connection), {"ids": list(job_ids)})]


def states(connection: Connection, job_ids: Collection[JobId]) -> dict[JobId, JobState]:
    """The states of these jobs, where they exist."""
    rows = connection.execute(STATES.on(connection), {"ids": list(job_ids)})
    return {JobId(row.id): JobState(row.state) for row in rows}


def page(connection: Connection, wanted: JobFilter) -> list[Job]:
    """The newest jobs first; `before` continues after the last one of the page before."""
    return [job_from(row) for row in connection.execute(_page(wanted))]


def attempts(connection: Connection, job_id: JobId) -> list[Attempt]:
    """How each attempt ended, oldest first."""
    rows = connection.execute(ATTEMPTS, {"job_id": job_id}).mappings()
    return [Attempt(**{**row, "outcome": AttemptOutcome(row["outcome"])}) for row in rows]


def counts(connection: Connection) -> dict[JobState, int]:
    """How many jobs are in each state."""
    return {JobState(state): count for state, count in connection.execute(COUNTS)}


def job_from(row: Row[Any]) -> Job:
    """A row of `COLUMNS` as a value."""
    values = dict(row._mapping)  # noqa: SLF001 - the public name of a Row's mapping
    values["state"] = JobState(values["state"])
    return Job(**values)


def _page(wanted: JobFilter) -> Select[Any]:
    conditions = [
        _one_of(jobs.c.state, wanted.states),
        _one_of(jobs.c.type, wanted.types),
        _one_of(jobs.c.id, wanted.ids),
        _one_of(jobs.c.queue, wanted.queues),
        None if wanted.owner is None else jobs.c.owner == wanted.owner,
        None if wanted.before is None else jobs.c.id < wanted.before,
    ]
    statement = select(*COLUMNS).where(*(condition for condition in conditions if condition is not None))
    return statement.order_by(jobs.c.id.desc()).limit(wanted.limit)


def _one_of(column: ColumnElement[Any], values: Collection[Any] | None) -> ColumnElement[bool] | None:
    if values is None:
        return None
    return column.in_(list(values)) if values else false()
