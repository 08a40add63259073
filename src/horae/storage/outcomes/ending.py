"""Ends that do not come from the body: cancels, time limits, crashes, clean-up."""

import json
from collections.abc import Collection, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, NamedTuple

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

from horae.domain.jobs.job import (
    AttemptOutcome,
    Claim,
    Job,
    JobEvent,
    JobId,
    JobState,
    NodeId,
    state_after,
    states_before,
)
from horae.domain.jobs.limits import Limit
from horae.domain.schedules.statistics import RunOutcome
from horae.storage.engine.dialect import IdList, PerDialect, json_rows, member_of, now_or, seconds_from_now
from horae.storage.engine.unreadable import readable
from horae.storage.jobs.claims import CLAIMED
from horae.storage.jobs.owed_hooks import ON_CANCELLED, ON_ERROR
from horae.storage.jobs.reading import COLUMNS, job_from
from horae.storage.jobs.tables import job_attempts, jobs, nodes, queues
from horae.storage.schedules import runs, stopping


class Overdue(NamedTuple):
    """A job that has passed a limit by the database's clock: since when that counts, and the limit in seconds."""

    id: JobId
    lease: int
    node: NodeId | None
    since: datetime
    seconds: float


_ENDED: Final = {"finished_at": now_or(jobs.c.updated_at), "updated_at": now_or(jobs.c.updated_at)}

# How far the body was stands in the live store; without it the bar would fall back when the job is cancelled.
_reported: Final = bindparam("seen_percentage", type_=Integer())
_further: Final = and_(jobs.c.lease == bindparam("seen_lease"), jobs.c.progress_percentage < _reported)
CANCEL: Final = (
    update(jobs)
    .where(jobs.c.id == bindparam("job_id"), jobs.c.state.in_(states_before(JobEvent.CANCEL)))
    .values(
        state=state_after(JobEvent.CANCEL),
        cancelled_by=bindparam("cancelled_by"),
        progress_percentage=case((_further, _reported), else_=jobs.c.progress_percentage),
        hook_owed=bindparam("hook_owed", type_=String()),
        **_ENDED,
    )
    .returning(*COLUMNS)
)

CANCEL_PENDING_OF: Final = (
    update(jobs)
    .where(jobs.c.schedule_id == bindparam("of_schedule"), jobs.c.state == JobState.PENDING)
    .values(
        state=state_after(JobEvent.CANCEL), cancelled_by=bindparam("cancelled_by"), hook_owed=ON_CANCELLED, **_ENDED
    )
    .returning(jobs.c.id)
)


def _overdue(
    dialect: str, state: JobState, since: Any, *more: Any, seconds: Any = None, queue_open: bool = False
) -> Select[*tuple[Any, ...]]:
    """What is past its limit; `queue_open`: only if its queue was not paused for any of that time."""
    limits = json_rows(dialect, "limits", type=String(), seconds=Float())
    limit = limits.c.seconds if seconds is None else limits.c.seconds + seconds
    latest = seconds_from_now(-limit)
    if queue_open:
        held = or_(queues.c.paused_at.is_not(None), queues.c.opened_at >= latest)
        more = (*more, ~select(queues.c.name).where(queues.c.name == jobs.c.queue, held).exists())
    return select(jobs.c.id, jobs.c.lease, jobs.c.node_id, since.label("since"), limit.label("seconds")).where(
        jobs.c.type == limits.c.type, since < latest, jobs.c.state == state, *more
    )


OVERDUE: Final = PerDialect(
    lambda dialect: _overdue(dialect, JobState.STARTED, jobs.c.started_at, jobs.c.max_runtime.is_(None))
)
OVERDUE_RUNS: Final = PerDialect(
    lambda dialect: _overdue(
        dialect,
        JobState.STARTED,
        jobs.c.started_at,
        jobs.c.max_runtime.is_not(None),  # then the limit of its type is not its own
        seconds=jobs.c.max_runtime,
    )
)
OVERDUE_PENDING: Final = PerDialect(
    lambda dialect: _overdue(
        dialect,
        JobState.PENDING,
        jobs.c.run_at,
        jobs.c.owner.is_not(None),
        jobs.c.attempt == 0,
        queue_open=True,
    )
)


def _expire(dialect: str) -> Update:
    passed = json_rows(dialect, "passed", id=BigInteger(), lease=BigInteger(), seen=Integer())
    active = jobs.c.state.in_(states_before(JobEvent.EXPIRE))
    return (
        update(jobs)
        .where(jobs.c.id == passed.c.id, jobs.c.lease == passed.c.lease, active)
        .values(
            state=state_after(JobEvent.EXPIRE),
            error=bindparam("error"),
            human_readable_error=bindparam("text"),
            progress_percentage=case(
                (passed.c.seen > jobs.c.progress_percentage, passed.c.seen), else_=jobs.c.progress_percentage
            ),
            hook_owed=ON_ERROR,
            **_ENDED,
        )
        .returning(*COLUMNS)
    )


EXPIRE: Final = PerDialect(_expire)


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
        .where(
            jobs.c.node_id.is_not(None),
            or_(
                member_of(dialect, jobs.c.node_id, "dead"),
                and_(member_of(dialect, jobs.c.node_id, "silent"), jobs.c.attempt < jobs.c.max_attempts),
                ~listed,
            ),
        )
        .order_by(jobs.c.id)
        .limit(bindparam("limit", type_=Integer()))
        .with_for_update(skip_locked=True, of=jobs)
    )


LOST: Final = PerDialect(_lost)

CRASHES: Final = PerDialect(
    lambda dialect: (
        select(job_attempts.c.job_id, func.count().label("crashes"))
        .where(
            member_of(dialect, job_attempts.c.job_id, "ids", of=IdList),
            job_attempts.c.outcome == AttemptOutcome.CRASHED,
        )
        .group_by(job_attempts.c.job_id)
    )
)


def _delete(dialect: str) -> tuple[Any, Any]:
    gone = member_of(dialect, jobs.c.id, "ids", of=IdList)
    ended = delete(jobs).where(gone, jobs.c.finished_at.is_not(None), jobs.c.node_id.is_(None)).returning(jobs.c.id)
    return ended, delete(job_attempts).where(member_of(dialect, job_attempts.c.job_id, "ids", of=IdList))


DELETE: Final = PerDialect(_delete)


def cancel(
    connection: Connection, job_id: JobId, cancelled_by: str | None, seen: Job | None = None, *, owed: bool = True
) -> Job | None:
    """Pending or started becomes cancelled; None where the job was in another state.

    The node stays on a started job's row until its body has stopped. `seen`: the job as it was last shown; its
    percentage stays, if its lease still holds. `owed`: whether its type has, or may have, an `on_cancelled`.
    """
    lease, percentage = (-1, 0) if seen is None else (seen.lease, seen.progress_percentage)
    parameters = {
        "job_id": job_id,
        "cancelled_by": cancelled_by,
        "seen_lease": lease,
        "seen_percentage": percentage,
        "hook_owed": ON_CANCELLED if owed else None,
    }
    row = connection.execute(CANCEL, parameters).one_or_none()
    if row is None:
        return None
    job = job_from(row)
    if job.schedule_id is not None and job.node_id is None:
        runs.end_jobs(connection, {job.id: RunOutcome.CANCELLED}, None)
    elif job.schedule_id is not None:
        stopping.told(connection, [job.id])
    return job


def cancel_pending_of(connection: Connection, schedule_id: int, cancelled_by: str) -> list[JobId]:
    """Cancel those jobs of a schedule that no node has taken; which they were."""
    values = {"of_schedule": schedule_id, "cancelled_by": cancelled_by}
    ids = [JobId(id_) for id_ in connection.execute(CANCEL_PENDING_OF, values).scalars()]
    if ids:
        runs.end_jobs(connection, dict.fromkeys(ids, RunOutcome.CANCELLED), None)
    return ids


def overdue(connection: Connection, limits: Mapping[str, float]) -> list[Overdue]:
    """What has run past its hard limit (seconds by type), by the database's clock."""
    return _overdue_of(connection, OVERDUE, limits)


def overdue_runs(connection: Connection, graces: Mapping[str, float]) -> list[Overdue]:
    """What has gone on for longer than its schedule and the grace of its type (seconds) allow."""
    return _overdue_of(connection, OVERDUE_RUNS, graces)


def overdue_pending(connection: Connection, limits: Mapping[str, float]) -> list[Overdue]:
    """Owned jobs that no worker took in time (seconds by type)."""
    return _overdue_of(connection, OVERDUE_PENDING, limits)


def _overdue_of(
    connection: Connection, statement: PerDialect[Select[Any]], limits: Mapping[str, float]
) -> list[Overdue]:
    rows = json.dumps([{"type": name, "seconds": seconds} for name, seconds in limits.items()])
    return readable(
        jobs.name, connection.execute(statement.on(connection), {"limits": rows}), lambda row: Overdue(*row)
    )


def expire(
    connection: Connection,
    passed: Collection[tuple[JobId, int]],
    limit: Limit,
    seen: Mapping[tuple[JobId, int], int] = MappingProxyType({}),
) -> list[Job]:
    """Fail those of these jobs that are active under these leases; the node stays until the body has stopped.

    `seen`: how many percent bodies have last reported, so that what is shown of them does not fall back.
    """
    leases = json.dumps([{"id": key[0], "lease": key[1], "seen": seen.get(key, 0)} for key in sorted(passed)])
    values = {"passed": leases, "error": limit.error, "text": limit.human_readable_error}
    failed = readable(jobs.name, connection.execute(EXPIRE.on(connection), values), job_from)
    scheduled = [job for job in failed if job.schedule_id is not None]
    if running := [job.id for job in scheduled if job.node_id is not None]:
        stopping.told(connection, running)
    if waiting := [job.id for job in scheduled if job.node_id is None]:
        runs.end_jobs(connection, dict.fromkeys(waiting, RunOutcome.FAILED), None)
    return failed


def lost(
    connection: Connection, dead: Collection[NodeId], limit: int, silent: Collection[NodeId] = ()
) -> list[tuple[Claim, NodeId, JobState, int]]:
    """What these nodes, or nodes without a row, still hold: claim, holder, state, crashes so far. Locks the rows.

    `silent`: of these nodes only what may be run again.
    """
    parameters = {"dead": list(dead), "silent": list(silent), "limit": limit}
    rows = connection.execute(LOST.on(connection), parameters).all()
    width = len(Claim._fields)
    return [(Claim._make(row[:width]), NodeId(row.holder), JobState(row.state), row.crashes) for row in rows]


def crashes_of(connection: Connection, job_ids: Collection[JobId]) -> dict[JobId, int]:
    """How often each of these jobs was there when its process ended; those that never were are left out."""
    rows = connection.execute(CRASHES.on(connection), {"ids": list(job_ids)})
    return {JobId(row.job_id): row.crashes for row in rows}


def remove(connection: Connection, job_ids: Collection[JobId]) -> set[JobId]:
    """Delete those of these jobs that have ended and whose bodies have stopped; the ones deleted."""
    delete_jobs, delete_attempts = DELETE.on(connection)
    gone = {JobId(id_) for id_ in connection.execute(delete_jobs, {"ids": list(job_ids)}).scalars()}
    connection.execute(delete_attempts, {"ids": list(gone)})
    return gone
