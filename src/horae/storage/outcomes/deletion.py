"""Delete jobs that have ended, and what is stored about them elsewhere."""

from collections.abc import Collection
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, delete, or_

from horae.domain.jobs import REPORTED, JobId
from horae.storage.engine import member_of
from horae.storage.jobs import job_attempts, jobs, logs
from horae.storage.jobs.groups import dependencies
from horae.storage.jobs.search import tags
from horae.storage.schedules import ticks

# A job is not deleted before those that wait for its end were notified of it.
DELETE: Final = (
    delete(jobs)
    .where(
        member_of(jobs.c.id, "ids"),
        jobs.c.finished_at.is_not(None),
        jobs.c.node_id.is_(None),
        or_(jobs.c.awaited.is_(None), jobs.c.awaited == REPORTED),
    )
    .returning(jobs.c.id, jobs.c.schedule_id, jobs.c.nominal_time, jobs.c.awaited, jobs.c.tags)
)
DELETE_ATTEMPTS: Final = delete(job_attempts).where(member_of(job_attempts.c.job_id, "ids"))


def delete_jobs(connection: Connection, job_ids: Collection[JobId]) -> set[JobId]:
    """Delete those of these jobs that have ended and stopped, and return their ids.

    The decisions about the nominal times of a schedule are deleted with its oldest jobs, because
    otherwise they would pile up.
    """
    rows = connection.execute(DELETE, {"ids": list(job_ids)}).all()
    gone = {JobId(row.id) for row in rows}
    connection.execute(DELETE_ATTEMPTS, {"ids": list(gone)})
    logs.delete_logs(connection, gone)
    if tagged := [JobId(row.id) for row in rows if row.tags is not None]:
        tags.delete_tags(connection, tagged)
    if awaited := [JobId(row.id) for row in rows if row.awaited is not None]:
        dependencies.forget(connection, awaited)
    upto: dict[int, datetime] = {}
    for row in rows:
        if row.schedule_id is not None and row.nominal_time is not None:
            upto[row.schedule_id] = max(
                row.nominal_time, upto.get(row.schedule_id, row.nominal_time)
            )
    if upto:
        ticks.forget(connection, upto)
    return gone
