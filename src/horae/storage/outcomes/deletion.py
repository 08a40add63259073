"""Delete jobs that have ended."""

from collections.abc import Collection
from typing import Any, Final

from sqlalchemy import Connection, delete

from horae.domain.jobs.job import JobId
from horae.storage.engine.dialect import IdList, PerDialect, member_of
from horae.storage.jobs.tables import job_attempts, jobs


def _delete(dialect: str) -> tuple[Any, Any]:
    gone = member_of(dialect, jobs.c.id, "ids", of=IdList)
    ended = delete(jobs).where(gone, jobs.c.finished_at.is_not(None), jobs.c.node_id.is_(None)).returning(jobs.c.id)
    return ended, delete(job_attempts).where(member_of(dialect, job_attempts.c.job_id, "ids", of=IdList))


DELETE: Final = PerDialect(_delete)


def delete_jobs(connection: Connection, job_ids: Collection[JobId]) -> set[JobId]:
    """Delete those of these jobs that have ended and whose bodies have stopped, and return their ids."""
    jobs_statement, attempts_statement = DELETE.on(connection)
    gone = {JobId(id_) for id_ in connection.execute(jobs_statement, {"ids": list(job_ids)}).scalars()}
    connection.execute(attempts_statement, {"ids": list(gone)})
    return gone
