"""What has changed lately, found by indexes alone: new ids, jobs that a node holds, and those that ended."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import BindParameter, Connection, bindparam, func, select

from horae.domain.jobs.job import JobId, JobState
from horae.storage.engine.dialect import IdList, Instant, PerDialect, database_now, member_of
from horae.storage.jobs.tables import jobs


class JobMark(NamedTuple):
    """A job as far as a change shows: any change of state or lease is one."""

    id: JobId
    state: JobState
    lease: int
    owner: str | None


@dataclass(frozen=True, slots=True)
class ChangeScan:
    """What one look has found. `crowded`: there was more than it may take up."""

    now: datetime
    newest: JobId
    marks: Mapping[JobId, JobMark]
    held: Collection[JobId]
    crowded: bool


_MARK: Final = (jobs.c.id, jobs.c.state, jobs.c.lease, jobs.c.owner)
_limit: BindParameter[int] = bindparam("limit")
NOW: Final = select(database_now(), func.coalesce(func.max(jobs.c.id), 0))
CREATED: Final = select(*_MARK).where(jobs.c.id > bindparam("after")).order_by(jobs.c.id).limit(_limit)
HELD: Final = select(*_MARK).where(jobs.c.node_id.is_not(None)).limit(_limit)
ENDED: Final = (
    select(*_MARK)
    .where(jobs.c.finished_at > bindparam("since", type_=Instant()))
    .order_by(jobs.c.finished_at)
    .limit(_limit)
)
THESE: Final = PerDialect(lambda dialect: select(*_MARK).where(member_of(dialect, jobs.c.id, "ids", of=IdList)))


def start(connection: Connection) -> tuple[datetime, JobId]:
    """The database's time and the newest job: where to begin to look."""
    now, newest = connection.execute(NOW).one()
    return now, JobId(newest)


def look(connection: Connection, *, after: JobId, since: datetime, limit: int) -> ChangeScan:
    """Find jobs that are newer than `after`, held now, or ended later than `since`.

    Several statements without a transaction: a job that moves meanwhile is found by the later one.
    """
    now, newest = start(connection)
    created = _marks(connection.execute(CREATED, {"after": after, "limit": limit}))
    held = _marks(connection.execute(HELD, {"limit": limit}))
    ended = _marks(connection.execute(ENDED, {"since": since, "limit": limit}))
    crowded = max(len(created), len(held), len(ended)) >= limit
    return ChangeScan(now, newest, {**created, **held, **ended}, held.keys(), crowded)


def these(connection: Connection, job_ids: Collection[JobId]) -> dict[JobId, JobMark]:
    """The same of certain jobs, where they exist."""
    return _marks(connection.execute(THESE.on(connection), {"ids": list(job_ids)}))


def _marks(rows: Any) -> dict[JobId, JobMark]:
    return {JobId(row.id): JobMark(JobId(row.id), JobState(row.state), row.lease, row.owner) for row in rows}
