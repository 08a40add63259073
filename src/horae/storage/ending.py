"""Ends that do not come from the body: cancels, time limits, crashes, clean-up."""

import json
from collections.abc import Collection, Mapping
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Connection,
    Float,
    Integer,
    Select,
    String,
    Update,
    and_,
    bindparam,
    case,
    delete,
    func,
    or_,
    select,
    update,
)

from horae.domain.job import AttemptOutcome, Claim, Job, JobId, JobState, NodeId
from horae.domain.statistics import RunOutcome
from horae.storage import runs
from horae.storage.claims import CLAIMED
from horae.storage.dialect import (
    IdList,
    PerDialect,
    database_now,
    json_rows,
    member_of,
    seconds_from_now,
)
from horae.storage.reading import COLUMNS, job_from
from horae.storage.tables import job_attempts, jobs, nodes, queues

_ENDED: Final = {"finished_at": database_now(), "updated_at": database_now()}

# How far the body was stands in the live store; without it the bar would fall back when the job is cancelled.
_reported: Final = bindparam("seen_percentage", type_=Integer())
_further: Final = and_(jobs.c.lease == bindparam("seen_lease"), jobs.c.progress_percentage < _reported)
CANCEL: Final = (
    update(jobs)
    .where(jobs.c.id == bindparam("job_id"), jobs.c.state.in_([JobState.PENDING, JobState.STARTED]))
    .values(
        state=JobState.CANCELLED,
        cancelled_by=bindparam("cancelled_by"),
        progress_percentage=case((_further, _reported), else_=jobs.c.progress_percentage),
        **_ENDED,
    )
    .returning(*COLUMNS)
)

CANCEL_PENDING_OF: Final = (
    update(jobs)
    .where(jobs.c.schedule_id == bindparam("of_schedule"), jobs.c.state == JobState.PENDING)
    .values(state=JobState.CANCELLED, cancelled_by=bindparam("cancelled_by"), **_ENDED)
    .returning(jobs.c.id)
)


def _expire(
    dialect: str, state: JobState, since: Any, *more: Any, besides: Any = 0.0, queue_open: bool = False
) -> Update:
    """Fail what is past its limit; `queue_open`: only if its queue was not paused for any of that time."""
    limits = json_rows(dialect, "limits", type=String(), seconds=Float())
    latest = seconds_from_now(-(limits.c.seconds + besides))
    if queue_open:
        held = or_(queues.c.paused_at.is_not(None), queues.c.opened_at >= latest)
        more = (*more, ~select(queues.c.name).where(queues.c.name == jobs.c.queue, held).exists())
    overdue = (
        select(jobs.c.id)
        .where(
            jobs.c.type == limits.c.type,
            since < latest,
            jobs.c.state == state,
            *more,
        )
        .order_by(jobs.c.id)
        .with_for_update(skip_locked=True, of=jobs)
        .cte("overdue")
    )
    return (
        update(jobs)
        .where(jobs.c.id.in_(select(overdue.c.id)))
        .values(
            state=JobState.FAILED,
            error=bindparam("error"),
            human_readable_error=bindparam("text"),
            **_ENDED,
        )
        .returning(*COLUMNS)
    )


EXPIRE_STARTED: Final = PerDialect(
    lambda dialect: _expire(
        dialect, JobState.STARTED, jobs.c.started_at, jobs.c.node_id.is_not(None), jobs.c.max_runtime.is_(None)
    )
)
EXPIRE_RUNS: Final = PerDialect(
    lambda dialect: _expire(
        dialect,
        JobState.STARTED,
        jobs.c.started_at,
        jobs.c.node_id.is_not(None),
        jobs.c.max_runtime.is_not(None),  # then the limit of its type is not its own
        besides=jobs.c.max_runtime,
    )
)
EXPIRE_PENDING: Final = PerDialect(
    lambda dialect: _expire(
        dialect, JobState.PENDING, jobs.c.run_at, jobs.c.owner.is_not(None), jobs.c.attempt == 0, queue_open=True
    )
)


def _lost(dialect: str) -> Select[Any]:
    listed = select(nodes.c.id).where(nodes.c.id == jobs.c.node_id).exists()
    crashes = (
        select(func.count())
        .where(job_attempts.c.job_id == jobs.c.id, job_attempts.c.outcome == AttemptOutcome.CRASHED)
        .scalar_subquery()
    )
    return (
        select(
            *CLAIMED,
            jobs.c.node_id.label("holder"),
            jobs.c.state.label("state"),
            crashes.label("crashes"),
        )
        .where(jobs.c.node_id.is_not(None), or_(member_of(dialect, jobs.c.node_id, "dead"), ~listed))
        .order_by(jobs.c.id)
        .limit(bindparam("limit", type_=Integer()))
        .with_for_update(skip_locked=True, of=jobs)
    )


LOST: Final = PerDialect(_lost)

EXPIRED: Final = (
    select(*COLUMNS)
    .where(
        jobs.c.finished_at < seconds_from_now(-bindparam("seconds", type_=Float())),
        jobs.c.node_id.is_(None),
        jobs.c.id > bindparam("after", type_=BigInteger()),
    )
    .order_by(jobs.c.id)
    .limit(bindparam("limit", type_=Integer()))
)


def _delete(dialect: str) -> tuple[Any, Any]:
    gone = member_of(dialect, jobs.c.id, "ids", of=IdList)
    ended = delete(jobs).where(gone, jobs.c.finished_at.is_not(None), jobs.c.node_id.is_(None)).returning(jobs.c.id)
    return ended, delete(job_attempts).where(member_of(dialect, job_attempts.c.job_id, "ids", of=IdList))


DELETE: Final = PerDialect(_delete)


def cancel(connection: Connection, job_id: JobId, cancelled_by: str | None, seen: Job | None = None) -> Job | None:
    """Pending or started becomes cancelled; None where the job was in another state.

    The node stays on a started job's row until its body has stopped. `seen`: the job as it was last shown; its
    percentage stays, if its lease still holds.
    """
    lease, percentage = (-1, 0) if seen is None else (seen.lease, seen.progress_percentage)
    parameters = {"job_id": job_id, "cancelled_by": cancelled_by, "seen_lease": lease, "seen_percentage": percentage}
    row = connection.execute(CANCEL, parameters).one_or_none()
    if row is None:
        return None
    job = job_from(row)
    if job.schedule_id is not None and job.node_id is None:
        runs.end_jobs(connection, {job.id: RunOutcome.CANCELLED}, None)
    return job


def cancel_pending_of(connection: Connection, schedule_id: int, cancelled_by: str) -> list[JobId]:
    """Cancel those jobs of a schedule that no node has taken; which they were."""
    values = {"of_schedule": schedule_id, "cancelled_by": cancelled_by}
    ids = [JobId(id_) for id_ in connection.execute(CANCEL_PENDING_OF, values).scalars()]
    if ids:
        runs.end_jobs(connection, dict.fromkeys(ids, RunOutcome.CANCELLED), None)
    return ids


def expire_started(connection: Connection, limits: Mapping[str, float]) -> list[Job]:
    """Fail what has run past its hard limit (seconds by type); the node stays until the body has stopped."""
    text = "This job ran for longer than it may and was stopped."
    return _expire_all(connection, EXPIRE_STARTED, limits, "hard time limit exceeded", text)


def expire_runs(connection: Connection, graces: Mapping[str, float]) -> list[Job]:
    """Fail runs that have gone on for longer than their schedules and the grace of their types (seconds) allow."""
    text = "This run took longer than its schedule allows and was stopped."
    return _expire_all(connection, EXPIRE_RUNS, graces, "hard time limit of the schedule exceeded", text)


def expire_pending(connection: Connection, limits: Mapping[str, float]) -> list[Job]:
    """Fail owned jobs that no worker took in time (seconds by type)."""
    text = "This job was not started in time because no worker was free to take it."
    return _expire_all(connection, EXPIRE_PENDING, limits, "pending timeout exceeded: no worker took the job", text)


def _expire_all(
    connection: Connection,
    statement: PerDialect[Update],
    limits: Mapping[str, float],
    error: str,
    text: str,
) -> list[Job]:
    rows = json.dumps([{"type": name, "seconds": seconds} for name, seconds in limits.items()])
    parameters = {"limits": rows, "error": error, "text": text}
    return [job_from(row) for row in connection.execute(statement.on(connection), parameters)]


def lost(connection: Connection, dead: Collection[NodeId], limit: int) -> list[tuple[Claim, NodeId, JobState, int]]:
    """What these nodes, or nodes without a row, still hold: claim, holder, state, crashes so far. Locks the rows."""
    rows = connection.execute(LOST.on(connection), {"dead": list(dead), "limit": limit}).all()
    width = len(Claim._fields)
    return [(Claim._make(row[:width]), NodeId(row.holder), JobState(row.state), row.crashes) for row in rows]


def expired(connection: Connection, seconds: float, after: JobId, limit: int) -> list[Job]:
    """Jobs that ended longer ago than this, by id."""
    rows = connection.execute(EXPIRED, {"seconds": seconds, "after": after, "limit": limit})
    return [job_from(row) for row in rows]


def remove(connection: Connection, job_ids: Collection[JobId]) -> set[JobId]:
    """Delete those of these jobs that have ended and whose bodies have stopped; the ones deleted."""
    delete_jobs, delete_attempts = DELETE.on(connection)
    gone = {JobId(id_) for id_ in connection.execute(delete_jobs, {"ids": list(job_ids)}).scalars()}
    connection.execute(delete_attempts, {"ids": list(gone)})
    return gone
