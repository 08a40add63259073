"""What the jobs before a job have returned: those of `after`, or the members of its group."""

from typing import Any, Final, NamedTuple

from sqlalchemy import BigInteger, Connection, Text, bindparam, cast, or_, select

from horae.domain.jobs import GroupId, JobId, JobState
from horae.storage.jobs.group_tables import dependencies, groups
from horae.storage.jobs.groups.groups import IS_MEMBER_BETWEEN, REPEATED, read_members
from horae.storage.jobs.tables import jobs

READ_AT_ONCE: Final = 500


class PastResult(NamedTuple):
    """How a job before another one has ended; `text`: its result as JSON text, if it has one."""

    id: JobId
    type: str
    state: JobState
    text: str | None


class TooMuchError(ValueError):
    """The results are more, or longer, than a body gets as an argument."""


_job_id = bindparam("job_id", type_=BigInteger())
_columns = (jobs.c.id, jobs.c.type, jobs.c.state, cast(jobs.c.result, Text()).label("text"))
OF_DEPENDENCIES: Final = (
    select(*_columns)
    .select_from(dependencies.join(jobs, jobs.c.id == dependencies.c.after_id))
    .where(or_(dependencies.c.job_id == _job_id, dependencies.c.job_id.in_(REPEATED)))
    .order_by(jobs.c.id)
    .limit(bindparam("limit"))
)
GROUP_BEFORE: Final = select(groups.c.id).where(
    or_(groups.c.then_id == _job_id, groups.c.then_id.in_(REPEATED))
)
OF_MEMBERS: Final[Any] = (
    select(*_columns).where(IS_MEMBER_BETWEEN).order_by(jobs.c.id).limit(bindparam("limit"))
)


def results_before(
    connection: Connection, job_id: JobId, *, most: int, most_bytes: int
) -> list[PastResult] | None:
    """Return how the jobs before this one have ended, in the order in which they were created;
    None if it has not waited for any.

    Raises `TooMuchError` for more than `most` jobs, or more than `most_bytes` of results.
    """
    values = {"job_id": job_id, "limit": most + 1}
    found = [_read(row) for row in connection.execute(OF_DEPENDENCIES, values)]
    _check(found, most, most_bytes)
    if found:
        return found
    group_id = connection.scalars(GROUP_BEFORE, {"job_id": job_id}).first()
    if group_id is None:
        return None
    after = JobId(0)
    while True:
        rows = read_members(
            connection, OF_MEMBERS, GroupId(group_id), after=after, limit=READ_AT_ONCE
        )
        found += map(_read, rows)
        _check(found, most, most_bytes)
        if len(rows) < READ_AT_ONCE:
            return found
        after = found[-1].id


def _read(row: Any) -> PastResult:
    return PastResult(JobId(row.id), row.type, JobState(row.state), row.text)


def _check(found: list[PastResult], most: int, most_bytes: int) -> None:
    if len(found) > most:
        raise TooMuchError(f"more than {most:,} jobs")
    if sum(len(each.text or "") for each in found) > most_bytes:
        raise TooMuchError(f"more than {most_bytes:,} bytes of results")
