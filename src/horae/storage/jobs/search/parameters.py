"""Read and write parameters of jobs in tables of the application."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy import Connection, insert, select

from horae.domain.jobs import JobId
from horae.errors import JobDoesNotExist
from horae.storage.engine import member_of
from horae.storage.jobs.search.mapped import MappedTable

M = TypeVar("M")


def add(
    connection: Connection, joined: MappedTable, rows: Sequence[tuple[JobId, Mapping[str, Any]]]
) -> None:
    """Write the parameters of new jobs."""
    # A statement writes only the columns of its first row, so rows with the same columns are
    # inserted together.
    batches: dict[frozenset[str], list[dict[str, Any]]] = {}
    for job_id, row in rows:
        batches.setdefault(frozenset(row), []).append({joined.key: job_id, **row})
    for batch in batches.values():
        connection.execute(insert(joined.table), batch)


def load_many(
    connection: Connection, joined: MappedTable, job_ids: Sequence[JobId]
) -> dict[JobId, Any]:
    """Load the parameters of many jobs in one statement, detached; missing ones are left out."""
    key = joined.table.c[joined.key]
    wanted = select(joined.mapped, key).where(member_of(key, "ids"))
    from sqlalchemy.orm import Session

    with Session(connection, expire_on_commit=False) as session:
        found = {
            JobId(job_id): row
            for row, job_id in session.execute(wanted, {"ids": list(job_ids)}).unique()
        }
        session.expunge_all()
    return found


def load(connection: Connection, mapped: type[M], job_id: JobId) -> M:
    """Load the parameters of a job, detached from any session; raises `JobDoesNotExist`."""
    from sqlalchemy.orm import Session

    with Session(connection, expire_on_commit=False) as session:
        found = session.get(mapped, job_id)
        if found is None:
            raise JobDoesNotExist(job_id)
        session.expunge(found)
        return found
