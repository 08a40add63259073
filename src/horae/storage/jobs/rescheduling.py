"""Move pending jobs to another time.

A claim takes a job either as it was before the move, or as it is after it.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, update

from horae.domain.jobs import Job, JobId, JobState
from horae.storage.engine import member_of, now_or_later, readable, shifted
from horae.storage.jobs.creation import RUN_AT
from horae.storage.jobs.reading import COLUMNS, job_from
from horae.storage.jobs.tables import jobs

_move = (
    update(jobs)
    .where(jobs.c.state == JobState.PENDING, member_of(jobs.c.id, "ids"))
    .values(
        run_at=RUN_AT,
        # The time for which the job may wait, once it is due, stays the same.
        expires_at=shifted(jobs.c.expires_at, RUN_AT, jobs.c.run_at),
        lane_id=None,  # a job with limits is put into its lane again, by its new time
        sent_at=None,  # a backend receives a new message when the job is due
        updated_at=now_or_later(jobs.c.updated_at),
    )
)
RESCHEDULE: Final = _move.returning(jobs.c.id)
RESCHEDULE_AND_READ: Final = _move.returning(*COLUMNS)


def reschedule(connection: Connection, job_ids: Collection[JobId], run_at: datetime) -> list[JobId]:
    """Make the pending ones among these jobs due at `run_at`, and return their ids."""
    parameters = {"ids": job_ids, "run_at": run_at, "delay": None}
    rows = connection.execute(RESCHEDULE, parameters)
    return sorted(JobId(row.id) for row in rows)


def reschedule_one(
    connection: Connection, job_id: JobId, run_at: datetime | None, delay: float | None
) -> list[Job]:
    """Make a pending job due at `run_at`, or in `delay` seconds, and return it in a list."""
    parameters = {"ids": [job_id], "run_at": run_at, "delay": delay}
    rows = connection.execute(RESCHEDULE_AND_READ, parameters)
    return readable(jobs.name, rows, job_from)
