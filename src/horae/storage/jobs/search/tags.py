"""The tags of jobs: in the job's row to be shown, and in a table of their own to be searched.

They are written after the job, in its transaction, so that the insert of a job without tags needs
no work for them.
"""

import json
from collections.abc import Collection, Sequence
from typing import Final

from sqlalchemy import BigInteger, Connection, Text, bindparam, cast, delete, insert, select, update

from horae.domain.jobs import JobId
from horae.storage.engine import Json, json_rows, member_of
from horae.storage.jobs.tables import job_tags, jobs

SET: Final = (
    update(jobs)
    .where(member_of(jobs.c.id, "ids"))
    .values(tags=cast(bindparam("tags", type_=Text()), Json()))
)
_row = json_rows("rows", tag=Text(), job_id=BigInteger())
ADD: Final = insert(job_tags).from_select(["tag", "job_id"], select(_row.c.tag, _row.c.job_id))
DELETE: Final = delete(job_tags).where(member_of(job_tags.c.job_id, "ids"))


def write(connection: Connection, job_ids: Sequence[JobId], tags: Sequence[str]) -> None:
    """Write the tags of new jobs, which all have the same ones."""
    write_each(connection, [(job_id, tags) for job_id in job_ids])


def write_each(
    connection: Connection, jobs_with_tags: Sequence[tuple[JobId, Sequence[str]]]
) -> None:
    """Write the tags of new jobs, each with its own."""
    rows = [{"tag": tag, "job_id": job_id} for job_id, given in jobs_with_tags for tag in given]
    connection.execute(ADD, {"rows": json.dumps(rows)})
    by_tags: dict[str, list[JobId]] = {}
    for job_id, given in jobs_with_tags:
        by_tags.setdefault(json.dumps(given, ensure_ascii=False), []).append(job_id)
    for text, job_ids in by_tags.items():
        connection.execute(SET, {"ids": job_ids, "tags": text})


def delete_tags(connection: Connection, job_ids: Collection[JobId]) -> None:
    """Delete the tags of jobs that were deleted."""
    connection.execute(DELETE, {"ids": job_ids})
