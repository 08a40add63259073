"""Owed hooks: noted when a job ends, taken and called by one process that knows the type, cleared.

`hook_taken_at` is set while a process calls the hook; if it is older than a number of seconds, that
process has died, and another one may take the hook. A row is taken in the same way for its
`before_delete`. A process that does not know the type of a job requests its deletion by noting
`before_delete` as owed: a process that knows it calls the hook and deletes the row.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Integer,
    Row,
    Select,
    String,
    Update,
    and_,
    bindparam,
    case,
    func,
    null,
    or_,
    select,
    update,
)

from horae.domain.jobs import ENDED, Job, JobId, JobState
from horae.domain.times import LONGEST_DURATION
from horae.storage.engine import (
    PerDialect,
    TextList,
    among,
    database_now,
    member_of,
    read,
    readable,
    seconds_ago,
)
from horae.storage.jobs.group_tables import groups
from horae.storage.jobs.reading import COLUMNS, job_from, job_of
from horae.storage.jobs.tables import jobs

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


class LeftoverJobs(NamedTuple):
    """The numbers of ended jobs of one type that should be deleted, or whose hooks are owed."""

    type: str
    past_keeping: int
    owed: int


def _free() -> ColumnElement[bool]:
    again = seconds_ago("again")
    return or_(jobs.c.hook_taken_at.is_(None), jobs.c.hook_taken_at < again)


def _due(dialect: str) -> ColumnElement[bool]:
    """Return the condition that a body has stopped, its type is known, and its hook is free."""
    return and_(
        jobs.c.hook_owed.is_not(None),
        jobs.c.node_id.is_(None),
        member_of(dialect, jobs.c.type, "types"),
        _free(),
    )


_then: Final = jobs.alias("then")


def _past_keeping(dialect: str) -> ColumnElement[bool]:
    awaited = (
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
    return and_(
        jobs.c.finished_at < seconds_ago("seconds"),
        jobs.c.finished_at >= seconds_ago("oldest"),
        member_of(dialect, jobs.c.state, "states"),
        # The job after a group still has to read the results of its members.
        or_(jobs.c.group_id.is_(None), ~awaited.exists()),
        jobs.c.node_id.is_(None),
        jobs.c.hook_owed.is_(None),
        jobs.c.id > bindparam("after", type_=BigInteger()),
        member_of(dialect, jobs.c.type, "types"),
    )


_by_id: Final = (jobs.c.id,)
# The latest ends are found by the index of ends. Ordered by id, all older jobs would be read first.
_by_end: Final = (jobs.c.finished_at, jobs.c.id)


def _taken(
    chosen: Select[Any], *more: ColumnElement[Any], order: Sequence[ColumnElement[Any]] = _by_id
) -> Update:
    """Take these rows, except those that another process is taking."""
    limited = chosen.order_by(*order).limit(bindparam("limit", type_=Integer()))
    some = limited.with_for_update(skip_locked=True).cte("some")
    taken = (
        update(jobs).where(jobs.c.id.in_(select(some.c.id))).values(hook_taken_at=database_now())
    )
    return taken.returning(*COLUMNS, *more)


DUE: Final = PerDialect(
    lambda dialect: (
        select(jobs.c.type, func.count().label("waiting"))
        .where(_due(dialect))
        .group_by(jobs.c.type)
    )
)
TAKE: Final = PerDialect(
    lambda dialect: _taken(select(jobs.c.id).where(_due(dialect)), jobs.c.hook_owed)
)
_one = select(jobs.c.id).where(
    jobs.c.id == bindparam("job_id", type_=BigInteger()),
    jobs.c.hook_owed != BEFORE_DELETE,  # the process that deletes the row calls it
)
TAKE_ONE: Final = PerDialect(lambda dialect: _taken(_one.where(_due(dialect)), jobs.c.hook_owed))
TAKE_PAST_KEEPING: Final = PerDialect(
    lambda dialect: _taken(select(jobs.c.id).where(_past_keeping(dialect), _free()))
)
TAKE_LATELY_PAST_KEEPING: Final = PerDialect(
    lambda dialect: _taken(select(jobs.c.id).where(_past_keeping(dialect), _free()), order=_by_end)
)
_ids = select(jobs.c.id).limit(bindparam("limit", type_=Integer()))
PAST_KEEPING: Final = PerDialect(
    lambda dialect: _ids.where(_past_keeping(dialect)).order_by(*_by_id)
)
LATELY_PAST_KEEPING: Final = PerDialect(
    lambda dialect: _ids.where(_past_keeping(dialect)).order_by(*_by_end)
)
TAKE_FOR_DELETION: Final = (
    update(jobs)
    .where(
        jobs.c.id == bindparam("job_id"),
        jobs.c.finished_at.is_not(None),
        jobs.c.node_id.is_(None),
        _free(),
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
REQUEST_DELETION: Final = (
    update(jobs)
    .where(
        jobs.c.id == bindparam("job_id"),
        jobs.c.finished_at.is_not(None),
        jobs.c.node_id.is_(None),
        or_(jobs.c.hook_owed.is_(None), ~_to_be_deleted),
    )
    .values(hook_owed=func.coalesce(jobs.c.hook_owed + ",", "") + BEFORE_DELETE)
    .returning(jobs.c.id)
)
_deletion_requested = select(jobs.c.id).where(
    jobs.c.hook_owed.is_not(None), _to_be_deleted, jobs.c.node_id.is_(None)
)
DELETION_REQUESTED: Final = among(_deletion_requested, jobs.c.type, "types", of=TextList)
_forget = (
    update(jobs).where(jobs.c.hook_owed.is_not(None)).values(hook_owed=null(), hook_taken_at=null())
)
FORGET: Final = among(_forget, jobs.c.type, "types", of=TextList)
HAND_BACK: Final = among(update(jobs).values(hook_taken_at=null()), jobs.c.id)


def _leftover_jobs(dialect: str) -> Select[*tuple[Any, ...]]:
    past = and_(jobs.c.finished_at < seconds_ago("seconds"), jobs.c.node_id.is_(None))
    owed = jobs.c.hook_owed.is_not(None)
    return (
        select(
            jobs.c.type,
            func.sum(case((past, 1), else_=0)).label("past_keeping"),
            func.sum(case((owed, 1), else_=0)).label("owed"),
        )
        .where(or_(past, owed), ~member_of(dialect, jobs.c.type, "types"))
        .group_by(jobs.c.type)
        .order_by(jobs.c.type)
    )


LEFTOVER_JOBS: Final = PerDialect(_leftover_jobs)


def due(connection: Connection, types: Collection[str], again: float) -> dict[str, int]:
    """Return the number of owed hooks by type.

    `again`: seconds after which a hook that was taken may be taken again, because its process is
    dead.
    """
    rows = connection.execute(DUE.on(connection), {"types": list(types), "again": again})
    return {row.type: row.waiting for row in rows}


def take(
    connection: Connection, types: Collection[str], again: float, job_id: JobId | None = None
) -> OwedHook | None:
    """Take one hook of these types, or of this job; the caller must call it."""
    parameters: dict[str, Any] = {"types": list(types), "again": again, "limit": 1}
    statement = TAKE if job_id is None else TAKE_ONE
    row = connection.execute(
        statement.on(connection), {**parameters, "job_id": job_id}
    ).one_or_none()
    if row is None:
        return None
    return OwedHook(read(jobs.name, row, _without_hook), row.hook_owed.partition(",")[0])


def _without_hook(row: Row[Any]) -> Job:
    # `_mapping` is the public name of a row's mapping.
    values = row._mapping  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    return job_of({name: value for name, value in values.items() if name != "hook_owed"})


def take_past_keeping(
    connection: Connection,
    types: Collection[str],
    seconds: float,
    *,
    again: float,
    after: JobId,
    limit: int,
    states: Collection[JobState] = ENDED,
    oldest: float = EVER,
) -> list[Job]:
    """Take ended jobs older than `seconds`, by id, for `before_delete`; see `past_keeping`."""
    parameters = {
        "types": list(types),
        "seconds": seconds,
        "again": again,
        "after": after,
        "limit": limit,
    }
    parameters |= {"oldest": oldest, "states": [state.value for state in states]}
    statement = TAKE_PAST_KEEPING if oldest == EVER else TAKE_LATELY_PAST_KEEPING
    rows = connection.execute(statement.on(connection), parameters).all()
    return sorted(readable(jobs.name, rows, job_from), key=lambda job: job.id)


def past_keeping(
    connection: Connection,
    types: Collection[str],
    seconds: float,
    *,
    after: JobId,
    limit: int,
    states: Collection[JobState] = ENDED,
    oldest: float = EVER,
) -> list[JobId]:
    """Return ended jobs that have been kept for `seconds` and need no hook.

    `states`: the states in which they ended; `oldest`: limits them to those that ended less than so
    many seconds ago, in the order of their ends; otherwise they are in the order of their ids.
    """
    parameters = {
        "types": list(types),
        "seconds": seconds,
        "after": after,
        "limit": limit,
        "oldest": oldest,
    }
    parameters["states"] = [state.value for state in states]
    statement = PAST_KEEPING if oldest == EVER else LATELY_PAST_KEEPING
    return [
        JobId(id_) for id_ in connection.execute(statement.on(connection), parameters).scalars()
    ]


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
    wanted = (
        connection.execute(DELETION_REQUESTED.on(connection), {"types": list(types)})
        .scalars()
        .all()
    )
    connection.execute(FORGET.on(connection), {"types": list(types)})
    return [JobId(id_) for id_ in wanted]


def hand_back(connection: Connection, job_ids: Collection[JobId]) -> None:
    """Let other processes take the hooks of these jobs."""
    connection.execute(HAND_BACK.on(connection), {"ids": list(job_ids)})


def leftover_jobs(
    connection: Connection, known: Collection[str], seconds: float
) -> list[LeftoverJobs]:
    """Return the leftover jobs of types that are not among the known ones."""
    rows = connection.execute(
        LEFTOVER_JOBS.on(connection), {"types": list(known), "seconds": seconds}
    )
    return [LeftoverJobs(row.type, int(row.past_keeping), int(row.owed)) for row in rows]
