"""The tags of jobs: in the job's row to be shown, and in a table of their own to be searched.

They are written after the job, in its transaction, so that the insert of a job without tags needs
no work for them.
"""

import json
from collections.abc import Collection, Sequence
from typing import Any, Final

from sqlalchemy import BigInteger, Connection, Text, bindparam, cast, delete, insert, select, update

from horae.domain.jobs import JobId
from horae.storage.engine import Json, PerDialect, among, json_rows
from horae.storage.jobs.tables import job_tags, jobs

SET: Final = among(
    update(jobs).values(tags=cast(bindparam("tags", type_=Text()), Json())), jobs.c.id
)


def _add(dialect: str) -> Any:
    rows = json_rows(dialect, "rows", tag=Text(), job_id=BigInteger())
    return insert(job_tags).from_select(["tag", "job_id"], select(rows.c.tag, rows.c.job_id))


ADD: Final = PerDialect(_add)
DELETE: Final = among(delete(job_tags), job_tags.c.job_id)


def write(connection: Connection, job_ids: Sequence[JobId], tags: Sequence[str]) -> None:
    """Write the tags of new jobs, which all have the same ones."""
    write_each(connection, [(job_id, tags) for job_id in job_ids])


def write_each(
    connection: Connection, jobs_with_tags: Sequence[tuple[JobId, Sequence[str]]]
) -> None:
    """Write the tags of new jobs, each with its own."""
    rows = [{"tag": tag, "job_id": job_id} for job_id, given in jobs_with_tags for tag in given]
    connection.execute(ADD.on(connection), {"rows": json.dumps(rows)})
    by_tags: dict[str, list[JobId]] = {}
    for job_id, given in jobs_with_tags:
        by_tags.setdefault(json.dumps(given, ensure_ascii=False), []).append(job_id)
    for text, job_ids in by_tags.items():
        connection.execute(SET.on(connection), {"ids": job_ids, "tags": text})


def delete_tags(connection: Connection, job_ids: Collection[JobId]) -> None:
    """Delete the tags of jobs that were deleted."""
    connection.execute(DELETE.on(connection), {"ids": list(job_ids)})
