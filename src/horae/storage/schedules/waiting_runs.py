"""Why runs of schedules that are pending have not started."""

from collections.abc import Collection
from typing import Final

from sqlalchemy import Connection, select

from horae.domain.jobs import JobId, JobState
from horae.storage.engine import member_of
from horae.storage.jobs import jobs, reading
from horae.storage.jobs.waiting_reason import waiting_reason

PENDING: Final = (
    select(jobs.c.id)
    .where(jobs.c.state == JobState.PENDING, member_of(jobs.c.id, "ids"))
    .order_by(jobs.c.id)
    .limit(20)
)


def waiting_reasons(connection: Connection, job_ids: Collection[int]) -> dict[int, str]:
    """Return by id why these jobs, as far as they are pending, have not started."""
    pending = connection.scalars(PENDING, {"ids": sorted(job_ids)})
    found = reading.get_many(connection, [JobId(id_) for id_ in pending])
    reasons = {job.id: waiting_reason(connection, job) for job in found}
    return {job_id: reason for job_id, reason in reasons.items() if reason is not None}
