"""Delete jobs that have ended, and what is stored about them elsewhere."""

from collections.abc import Collection
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, delete, or_

from horae.domain.jobs import REPORTED, JobId
from horae.storage.engine import IdList, PerDialect, member_of
from horae.storage.jobs import job_attempts, jobs, logs
from horae.storage.jobs.groups import dependencies
from horae.storage.jobs.search import tags
from horae.storage.schedules import ticks


def _delete(dialect: str) -> tuple[Any, Any]:
    gone = member_of(dialect, jobs.c.id, "ids", of=IdList)
    # A job is not deleted before those that wait for its end were notified of it.
    ended = delete(jobs).where(
        gone,
        jobs.c.finished_at.is_not(None),
        jobs.c.node_id.is_(None),
        or_(jobs.c.awaited.is_(None), jobs.c.awaited == REPORTED),
    )
    seen = ended.returning(
        jobs.c.id, jobs.c.schedule_id, jobs.c.nominal_time, jobs.c.awaited, jobs.c.tags
    )
    return seen, delete(job_attempts).where(
        member_of(dialect, job_attempts.c.job_id, "ids", of=IdList)
    )


DELETE: Final = PerDialect(_delete)


def delete_jobs(connection: Connection, job_ids: Collection[JobId]) -> set[JobId]:
    """Delete those of these jobs that have ended and stopped, and return their ids.

    The decisions about the nominal times of a schedule are deleted with its oldest jobs, because
    otherwise they would pile up.
    """
    jobs_statement, attempts_statement = DELETE.on(connection)
    rows = connection.execute(jobs_statement, {"ids": list(job_ids)}).all()
    gone = {JobId(row.id) for row in rows}
    connection.execute(attempts_statement, {"ids": list(gone)})
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
