"""Find recently changed jobs by indexes only: new ones, those that a node holds, and ended ones."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import BindParameter, Connection, bindparam, func, select

from horae.domain.jobs import JobId, JobState
from horae.storage.engine import database_now, member_of
from horae.storage.jobs.tables import IS_HELD, jobs


class JobVersion(NamedTuple):
    """The columns that identify a version of a job; a new state or lease makes a new version."""

    id: JobId
    state: JobState
    lease: int
    owner: str | None


@dataclass(frozen=True, slots=True)
class ChangeScan:
    """The result of a scan. `truncated`: whether there were more jobs than its limit."""

    now: datetime
    newest: JobId
    versions: Mapping[JobId, JobVersion]
    held: Collection[JobId]
    truncated: bool


_VERSION: Final = (jobs.c.id, jobs.c.state, jobs.c.lease, jobs.c.owner)
_limit: BindParameter[int] = bindparam("limit")
SCAN_START: Final = select(database_now(), func.coalesce(func.max(jobs.c.id), 0))
CREATED: Final = (
    select(*_VERSION).where(jobs.c.id > bindparam("after")).order_by(jobs.c.id).limit(_limit)
)
HELD: Final = select(*_VERSION).where(IS_HELD).limit(_limit)
ENDED: Final = (
    select(*_VERSION)
    .where(jobs.c.finished_at > bindparam("since"))
    .order_by(jobs.c.finished_at)
    .limit(_limit)
)
VERSIONS_OF: Final = select(*_VERSION).where(member_of(jobs.c.id, "ids"))


def scan_start(connection: Connection) -> tuple[datetime, JobId]:
    """Return the database's time and the newest job, from which to scan next."""
    now, newest = connection.execute(SCAN_START).one()
    return now, JobId(newest)


def scan(connection: Connection, *, after: JobId, since: datetime, limit: int) -> ChangeScan:
    """Find jobs that are newer than `after`, held now, or ended later than `since`.

    It runs several statements without a transaction: a job that changes between them is found by a
    later scan.
    """
    now, newest = scan_start(connection)
    created = _versions(connection.execute(CREATED, {"after": after, "limit": limit}))
    held = _versions(connection.execute(HELD, {"limit": limit}))
    ended = _versions(connection.execute(ENDED, {"since": since, "limit": limit}))
    truncated = max(len(created), len(held), len(ended)) >= limit
    return ChangeScan(now, newest, {**created, **held, **ended}, held.keys(), truncated)


def versions_of(connection: Connection, job_ids: Collection[JobId]) -> dict[JobId, JobVersion]:
    """Return the versions of these jobs; jobs that do not exist are left out."""
    return _versions(connection.execute(VERSIONS_OF, {"ids": job_ids}))


def _versions(rows: Any) -> dict[JobId, JobVersion]:
    return {
        JobId(row.id): JobVersion(JobId(row.id), JobState(row.state), row.lease, row.owner)
        for row in rows
    }
