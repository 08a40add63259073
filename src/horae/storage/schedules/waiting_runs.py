"""Why runs of schedules that are pending have not started."""

from collections.abc import Collection
from typing import Final

from sqlalchemy import Connection, select

from horae.domain.jobs import JobId, JobState
from horae.storage.engine import among
from horae.storage.jobs import jobs, reading
from horae.storage.jobs.waiting_reason import waiting_reason

MOST_EXPLAINED: Final = 20
"""Pending runs of one schedule that are explained, the oldest ones; few schedules let more than one
wait.
"""
PENDING: Final = among(
    select(jobs.c.id)
    .where(jobs.c.state == JobState.PENDING)
    .order_by(jobs.c.id)
    .limit(MOST_EXPLAINED),
    jobs.c.id,
)


def waiting_reasons(connection: Connection, job_ids: Collection[int]) -> dict[int, str]:
    """Return why those of these jobs that are pending have not started, by their ids."""
    pending = connection.execute(PENDING.on(connection), {"ids": sorted(job_ids)}).scalars()
    found = reading.get_many(connection, [JobId(id_) for id_ in pending])
    reasons = {job.id: waiting_reason(connection, job) for job in found}
    return {job_id: reason for job_id, reason in reasons.items() if reason is not None}
