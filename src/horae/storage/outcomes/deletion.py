"""Delete jobs that have ended, and what is stored about them elsewhere."""

from collections.abc import Collection
from datetime import datetime
from typing import Final

from sqlalchemy import BigInteger, Connection, Text, bindparam, cast, delete, func, or_, select

from horae.domain.jobs import REPORTED, JobId
from horae.storage.engine import member_of
from horae.storage.jobs import HAS_STOPPED, job_attempts, jobs, logs
from horae.storage.jobs.groups import dependencies
from horae.storage.jobs.search import tags
from horae.storage.schedules import ticks

# A job is not deleted before those that wait for its end were notified of it.
DELETE: Final = (
    delete(jobs)
    .where(
        member_of(jobs.c.id, "ids"),
        HAS_STOPPED,
        or_(jobs.c.awaited.is_(None), jobs.c.awaited == REPORTED),
    )
    .returning(jobs.c.id, jobs.c.schedule_id, jobs.c.nominal_time, jobs.c.awaited, jobs.c.tags)
)
DELETE_ATTEMPTS: Final = delete(job_attempts).where(member_of(job_attempts.c.job_id, "ids"))


_params, _result = cast(jobs.c.params, Text()), cast(jobs.c.result, Text())
LARGE_VALUES: Final = select(jobs.c.id, _params.label("params"), _result.label("result")).where(
    member_of(jobs.c.id, "ids"),
    or_(_params.contains("$stored"), _result.contains("$stored")),
)
_after = bindparam("after", type_=BigInteger())
ALL_LARGE_VALUES: Final = select(_params.label("params"), _result.label("result")).where(
    jobs.c.id > _after,
    jobs.c.id <= bindparam("upto"),
    or_(_params.contains("$stored"), _result.contains("$stored")),
)
LAST_ID: Final = select(func.coalesce(func.max(jobs.c.id), 0))
FIRST_ID: Final = select(func.coalesce(func.min(jobs.c.id), 0))


def with_large_values(
    connection: Connection, job_ids: Collection[JobId]
) -> dict[JobId, tuple[str | None, str | None]]:
    """Return parameters and result, as JSON text, of those jobs that refer to a store."""
    rows = connection.execute(LARGE_VALUES, {"ids": job_ids})
    return {JobId(row.id): (row.params, row.result) for row in rows}


def large_values_between(connection: Connection, after: int, upto: int) -> list[str]:
    """Return the parameters and results that refer to a store, of jobs with these ids."""
    rows = connection.execute(ALL_LARGE_VALUES, {"after": after, "upto": upto})
    return [text for row in rows for text in (row.params, row.result) if text]


def ids_of_jobs(connection: Connection) -> tuple[int, int]:
    """Return the least and the largest id of a job; zeros if there is none."""
    return connection.scalar(FIRST_ID) or 0, connection.scalar(LAST_ID) or 0


def delete_jobs(connection: Connection, job_ids: Collection[JobId]) -> set[JobId]:
    """Delete those of these jobs that have ended and stopped, and return their ids.

    The decisions about the nominal times of a schedule are deleted with its oldest jobs, because
    otherwise they would pile up.
    """
    rows = connection.execute(DELETE, {"ids": job_ids}).all()
    gone = {JobId(row.id) for row in rows}
    connection.execute(DELETE_ATTEMPTS, {"ids": gone})
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
