"""Write, read and delete the log lines of jobs."""

import json
from collections.abc import Collection, Sequence
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Connection,
    Integer,
    bindparam,
    delete,
    exists,
    func,
    select,
    tuple_,
)

from horae.domain.jobs import JobId, LogLine
from horae.storage.engine import insert, json_moment, json_rows, member_of, seconds_ago
from horae.storage.jobs.log_tables import job_logs
from horae.storage.jobs.tables import jobs

_given = json_rows("lines", **{column.name: column.type for column in job_logs.c})
_write = insert(job_logs).from_select(
    [column.name for column in job_logs.c],
    # Lines of a job that was deleted in the meantime are not written: nothing would ever delete
    # them.
    select(_given).where(exists().where(jobs.c.id == _given.c.job_id)),
)
WRITE: Final = _write.on_conflict_do_update(
    index_elements=[job_logs.c.job_id, job_logs.c.lease, job_logs.c.line],
    set_={"dropped": _write.excluded.dropped},
)
_lease, _line = bindparam("lease", type_=BigInteger()), bindparam("line", type_=Integer())
READ: Final = (
    select(job_logs)
    .where(
        job_logs.c.job_id == bindparam("job_id"),
        tuple_(job_logs.c.lease, job_logs.c.line) > tuple_(_lease, _line),
        job_logs.c.level >= bindparam("level"),
    )
    .order_by(job_logs.c.lease, job_logs.c.line)
    .limit(bindparam("limit"))
)
DROPPED: Final = select(func.coalesce(func.sum(job_logs.c.dropped), 0)).where(
    job_logs.c.job_id == bindparam("job_id")
)
DELETE: Final = delete(job_logs).where(member_of(job_logs.c.job_id, "ids"))
_old: Final = (
    select(job_logs.c.job_id, job_logs.c.lease, job_logs.c.line)
    .where(job_logs.c.at < seconds_ago("seconds"))
    .order_by(job_logs.c.at)
    .limit(bindparam("limit"))
)
FORGET: Final = delete(job_logs).where(
    tuple_(job_logs.c.job_id, job_logs.c.lease, job_logs.c.line).in_(_old)
)


def write(connection: Connection, lines: Sequence[LogLine]) -> None:
    """Write lines; of lines that exist already, only the number of dropped lines changes."""
    # PostgreSQL refuses two updates of one row.
    latest = {(line.job_id, line.lease, line.line): line for line in lines}
    rows = [
        {**line._asdict(), "at": json_moment(connection, line.at), "dropped": line.dropped or None}
        for line in latest.values()
    ]
    connection.execute(WRITE, {"lines": json.dumps(rows)})


def read(
    connection: Connection, job_id: JobId, after: tuple[int, int], level: int, limit: int
) -> list[LogLine]:
    """Return the lines of a job, from this level on, that follow a place (lease, line)."""
    values = {"job_id": job_id, "lease": after[0], "line": after[1], "level": level, "limit": limit}
    rows = connection.execute(READ, values).mappings()
    lines: list[dict[str, Any]] = [{**row, "dropped": row["dropped"] or 0} for row in rows]
    return [LogLine(**line) for line in lines]


def count_dropped(connection: Connection, job_id: JobId) -> int:
    """Return how many lines of the job were dropped."""
    return int(connection.execute(DROPPED, {"job_id": job_id}).scalar_one())


def delete_logs(connection: Connection, job_ids: Collection[JobId]) -> None:
    """Delete the lines of these jobs."""
    connection.execute(DELETE, {"ids": job_ids})


def forget(connection: Connection, seconds: float, limit: int) -> int:
    """Delete up to `limit` lines that are older than `seconds`; return their number."""
    return connection.execute(FORGET, {"seconds": seconds, "limit": limit}).rowcount
