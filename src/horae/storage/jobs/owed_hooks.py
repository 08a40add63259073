"""Owed hooks: noted when a job ends, taken and called by one process that knows the type, cleared.

`hook_taken_at` is set while a process calls the hook; if it is older than a number of seconds, that
process has died, and another one may take the hook. A row is taken in the same way for its
`before_delete`. A process that does not know the type of a job requests its deletion by noting
`before_delete` as owed: a process that knows it calls the hook and deletes the row.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from functools import partial
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    String,
    Update,
    and_,
    bindparam,
    case,
    cast,
    func,
    null,
    or_,
    select,
    update,
)

from horae.domain.jobs import Job, JobId, JobState, KeptFor
from horae.domain.times import LONGEST_DURATION
from horae.storage.engine import Instant, database_now, member_of, read, readable, seconds_ago
from horae.storage.jobs.group_tables import dependencies, groups
from horae.storage.jobs.reading import COLUMNS, job_from
from horae.storage.jobs.tables import HAS_STOPPED, jobs

EVER: Final = LONGEST_DURATION.total_seconds()
"""An age in seconds that no job exceeds."""
ON_ERROR: Final = "on_error"
ON_CANCELLED: Final = "on_cancelled"
BEFORE_DELETE: Final = "before_delete"
OWED_BY: Final[Mapping[JobState, str]] = {
    JobState.FAILED: ON_ERROR,
    JobState.CANCELLED: ON_CANCELLED,
}


class OwedHook(NamedTuple):
    """A job with the hook that is owed to it, or the first of two."""

    job: Job
    hook: str


class KeptJob(NamedTuple):
    """The place of an ended job in the order in which ended jobs are deleted."""

    finished_at: datetime | None
    id: JobId


FIRST: Final = KeptJob(None, JobId(0))
"""The place before all ended jobs."""


class LeftoverJobs(NamedTuple):
    """The numbers of ended jobs of one type that should be deleted, or whose hooks are owed."""

    type: str
    past_keeping: int
    owed: int


_free = or_(jobs.c.hook_taken_at.is_(None), jobs.c.hook_taken_at < seconds_ago("again"))
_due = and_(
    jobs.c.hook_owed.is_not(None),
    jobs.c.node_id.is_(None),
    member_of(jobs.c.type, "types"),
    _free,
)
"""The body has stopped, its type is known, and no other process is calling the hook."""
_then: Final = jobs.alias("then")
_awaited = (
    select(groups.c.id)
    .where(
        groups.c.id == jobs.c.group_id,
        or_(
            groups.c.ended_at.is_(None),
            and_(_then.c.id.is_not(None), _then.c.finished_at.is_(None)),
        ),
    )
    .select_from(groups.outerjoin(_then, _then.c.id == groups.c.then_id))
)
_waiting: Final = jobs.alias("waiting")
_waits_for_it = (
    select(_waiting.c.id)
    .select_from(dependencies.join(_waiting, _waiting.c.id == dependencies.c.job_id))
    .where(dependencies.c.after_id == jobs.c.id, _waiting.c.finished_at.is_(None))
)
_since: Final = bindparam("since", type_=Instant())
# This is the order of an index. Ordered by id, each batch would read all that is to be deleted.
PAST_KEEPING: Final = (
    select(jobs.c.id, jobs.c.finished_at)
    .where(
        jobs.c.finished_at < seconds_ago("seconds"),
        jobs.c.finished_at >= func.coalesce(cast(_since, Instant()), seconds_ago("oldest")),
        or_(jobs.c.finished_at > cast(_since, Instant()), jobs.c.id > bindparam("after")),
        member_of(jobs.c.state, "states"),
        # The job after a group, or after this one, still has to read the results.
        or_(jobs.c.group_id.is_(None), ~_awaited.exists()),
        ~_waits_for_it.exists(),
        jobs.c.node_id.is_(None),
        jobs.c.hook_owed.is_(None),
        member_of(jobs.c.type, "types"),
    )
    .order_by(jobs.c.finished_at, jobs.c.id)
    .limit(bindparam("limit"))
)


def _take(chosen: Select[Any], *more: ColumnElement[Any]) -> Update:
    """Take these rows, except those that another process is taking."""
    some = chosen.with_for_update(skip_locked=True).cte("some")
    return (
        update(jobs)
        .where(jobs.c.id.in_(select(some.c.id)))
        .values(hook_taken_at=database_now())
        .returning(*COLUMNS, *more)
    )


DUE: Final = select(jobs.c.type, func.count().label("waiting")).where(_due).group_by(jobs.c.type)
_due_first = select(jobs.c.id).where(_due).order_by(jobs.c.id).limit(bindparam("limit"))
TAKE: Final = _take(_due_first, jobs.c.hook_owed)
TAKE_ONE: Final = _take(
    _due_first.where(
        jobs.c.id == bindparam("job_id"),
        jobs.c.hook_owed != BEFORE_DELETE,  # the process that deletes the row calls it
    ),
    jobs.c.hook_owed,
)
TAKE_PAST_KEEPING: Final = _take(PAST_KEEPING.with_only_columns(jobs.c.id).where(_free))
TAKE_FOR_DELETION: Final = (
    update(jobs)
    .where(
        jobs.c.id == bindparam("job_id"),
        HAS_STOPPED,
        _free,
    )
    .values(hook_taken_at=database_now())
    .returning(jobs.c.id)
)
_hook: Final = bindparam("hook", type_=String())
MARK_CALLED: Final = (
    update(jobs)
    .where(
        jobs.c.id == bindparam("job_id"),
        or_(jobs.c.hook_owed == _hook, jobs.c.hook_owed.startswith(_hook + ",")),
    )
    .values(hook_owed=case((jobs.c.hook_owed != _hook, BEFORE_DELETE)), hook_taken_at=null())
)
_to_be_deleted: Final = jobs.c.hook_owed.like(f"%{BEFORE_DELETE}")
DELETION_NOT_REQUESTED: Final = or_(jobs.c.hook_owed.is_(None), ~_to_be_deleted)
"""No process was asked to delete the job."""
REQUEST_DELETION: Final = (
    update(jobs)
    .where(
        jobs.c.id == bindparam("job_id"),
        HAS_STOPPED,
        DELETION_NOT_REQUESTED,
    )
    .values(hook_owed=func.coalesce(jobs.c.hook_owed + ",", "") + BEFORE_DELETE)
    .returning(jobs.c.id)
)
DELETION_REQUESTED: Final = select(jobs.c.id).where(
    jobs.c.hook_owed.is_not(None),
    _to_be_deleted,
    jobs.c.node_id.is_(None),
    member_of(jobs.c.type, "types"),
)
FORGET: Final = (
    update(jobs)
    .where(jobs.c.hook_owed.is_not(None), member_of(jobs.c.type, "types"))
    .values(hook_owed=null(), hook_taken_at=null())
)
HAND_BACK: Final = update(jobs).where(member_of(jobs.c.id, "ids")).values(hook_taken_at=null())
_past = and_(jobs.c.finished_at < seconds_ago("seconds"), jobs.c.node_id.is_(None))
_owed = jobs.c.hook_owed.is_not(None)
LEFTOVER_JOBS: Final = (
    select(
        jobs.c.type,
        func.sum(case((_past, 1), else_=0)).label("past_keeping"),
        func.sum(case((_owed, 1), else_=0)).label("owed"),
    )
    .where(or_(_past, _owed), ~member_of(jobs.c.type, "types"))
    .group_by(jobs.c.type)
    .order_by(jobs.c.type)
)


def due(connection: Connection, types: Collection[str], again: float) -> dict[str, int]:
    """Return the number of owed hooks by type.

    `again`: seconds after which a hook that was taken may be taken again, because its process is
    dead.
    """
    rows = connection.execute(DUE, {"types": types, "again": again})
    return {row.type: row.waiting for row in rows}


def take(
    connection: Connection, types: Collection[str], again: float, job_id: JobId | None = None
) -> OwedHook | None:
    """Take one hook of these types, or of this job; the caller must call it."""
    given = {"types": types, "again": again, "limit": 1, "job_id": job_id}
    statement = TAKE if job_id is None else TAKE_ONE
    row = connection.execute(statement, given).one_or_none()
    if row is None:
        return None
    hooks: str = row.hook_owed
    job = read(jobs.name, row, partial(job_from, besides=("hook_owed",)))
    return OwedHook(job, hooks.partition(",")[0])


def take_past_keeping(
    connection: Connection,
    kept: KeptFor,
    *,
    after: KeptJob = FIRST,
    limit: int,
    oldest: float = EVER,
    again: float,
) -> list[Job]:
    """Take ended jobs for their `before_delete`; see `past_keeping`."""
    parameters = {**_wanted(kept, after, limit, oldest), "again": again}
    rows = connection.execute(TAKE_PAST_KEEPING, parameters).all()
    return sorted(readable(jobs.name, rows, job_from), key=lambda job: (job.finished_at, job.id))


def past_keeping(
    connection: Connection,
    kept: KeptFor,
    *,
    after: KeptJob = FIRST,
    limit: int,
    oldest: float = EVER,
) -> list[KeptJob]:
    """Return ended jobs that were kept for long enough and need no hook, in the order of their
    ends.

    `after`: the last job of the batch before; `oldest`: limits the first batch to those that ended
    less than so many seconds ago.
    """
    found = connection.execute(PAST_KEEPING, _wanted(kept, after, limit, oldest))
    return [KeptJob(finished_at, JobId(id_)) for id_, finished_at in found]


def _wanted(kept: KeptFor, after: KeptJob, limit: int, oldest: float) -> dict[str, Any]:
    return {
        **kept._asdict(),
        "since": after.finished_at,
        "after": after.id,
        "limit": limit,
        "oldest": oldest,
    }


def take_for_deletion(connection: Connection, job_id: JobId, again: float) -> bool:
    """Take one ended job for its `before_delete`; return False if another process deletes it."""
    return (
        connection.execute(TAKE_FOR_DELETION, {"job_id": job_id, "again": again}).one_or_none()
        is not None
    )


def request_deletion(connection: Connection, job_id: JobId) -> bool:
    """Request that a process that knows the type deletes an ended job; return whether it is new."""
    return connection.execute(REQUEST_DELETION, {"job_id": job_id}).one_or_none() is not None


def mark_called(connection: Connection, job_id: JobId, hook: str) -> None:
    """Note that this hook has been called; a second one may still be owed."""
    connection.execute(MARK_CALLED, {"job_id": job_id, "hook": hook})


def forget(connection: Connection, types: Collection[str]) -> list[JobId]:
    """Drop all hooks owed to jobs of these types; return the jobs whose deletion was requested."""
    wanted = connection.scalars(DELETION_REQUESTED, {"types": types}).all()
    connection.execute(FORGET, {"types": types})
    return [JobId(id_) for id_ in wanted]


def hand_back(connection: Connection, job_ids: Collection[JobId]) -> None:
    """Let other processes take the hooks of these jobs."""
    connection.execute(HAND_BACK, {"ids": job_ids})


def leftover_jobs(
    connection: Connection, known: Collection[str], seconds: float
) -> list[LeftoverJobs]:
    """Return the leftover jobs of types that are not among the known ones."""
    rows = connection.execute(LEFTOVER_JOBS, {"types": known, "seconds": seconds})
    return [LeftoverJobs(row.type, int(row.past_keeping), int(row.owed)) for row in rows]
