"""Move the due time of pending jobs."""

from collections.abc import Collection
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, bindparam, update

from horae.domain.jobs.job import JobId, JobState
from horae.storage.engine.dialect import Instant, among, now_or_later
from horae.storage.jobs.tables import jobs

RESCHEDULE: Final = among(
    update(jobs)
    .where(jobs.c.state == JobState.PENDING)
    .values(run_at=bindparam("run_at", type_=Instant()), updated_at=now_or_later(jobs.c.updated_at))
    .returning(jobs.c.id),
    jobs.c.id,
)


def reschedule(connection: Connection, job_ids: Collection[JobId], run_at: datetime) -> list[JobId]:
    """Make those of these jobs that are pending due at `run_at`, and return their ids; others are left as they are."""
    rows = connection.execute(RESCHEDULE.on(connection), {"ids": list(job_ids), "run_at": run_at})
    return sorted(JobId(row.id) for row in rows)
