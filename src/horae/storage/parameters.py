"""Parameters kept in a table of the application, beside the job's row."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy import Connection, insert
from sqlalchemy.orm import Session

from horae.domain.job import JobId
from horae.errors import JobDoesNotExist
from horae.storage.mapped import MappedTable

M = TypeVar("M")


def add(connection: Connection, joined: MappedTable, rows: Sequence[tuple[JobId, Mapping[str, Any]]]) -> None:
    """Write the parameters of new jobs."""
    # A statement writes the columns of its first row and no others, so rows that leave out the same go together.
    alike: dict[frozenset[str], list[dict[str, Any]]] = {}
    for job_id, row in rows:
        alike.setdefault(frozenset(row), []).append({joined.key: job_id, **row})
    for batch in alike.values():
        connection.execute(insert(joined.table), batch)


def load(connection: Connection, mapped: type[M], job_id: JobId) -> M:
    """The parameters of a job, detached from any session; raises `JobDoesNotExist`."""
    with Session(connection, expire_on_commit=False) as session:
        found = session.get(mapped, job_id)
        if found is None:
            raise JobDoesNotExist(job_id)
        session.expunge(found)
        return found
