"""Time limits: find jobs that have exceeded one by the database's clock, and fail them."""

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
    bindparam,
    case,
    select,
    update,
)

from horae.domain.jobs import (
    Job,
    JobEvent,
    JobId,
    JobState,
    NodeId,
    TimeLimit,
    state_after,
    states_before,
)
from horae.domain.schedules import RunOutcome
from horae.storage.engine import (
    constant,
    database_now,
    json_rows,
    readable,
    seconds_between,
    seconds_from_now,
)
from horae.storage.jobs import (
    COLUMNS,
    ENDED_NOW,
    EVERY_QUEUE,
    IS_HELD,
    ON_ERROR,
    job_from,
    jobs,
    queues,
)
from horae.storage.outcomes import follow_ups, run_ending
from horae.storage.schedules import writing


class OverdueJob(NamedTuple):
    """A job that has exceeded a limit: the start of the period, and the limit in seconds."""

    id: JobId
    lease: int
    node: NodeId | None
    since: datetime
    seconds: float


def _overdue(
    state: JobState,
    since: Any,
    condition: Any,
    *,
    seconds: Any = 0.0,
    queue_open: bool = False,
) -> Select[*tuple[Any, ...]]:
    """Select jobs past their limits; `queue_open`: only if the queue was open all that time."""
    limits = json_rows("limits", type=String(), seconds=Float())
    limit = limits.c.seconds + seconds
    latest = seconds_from_now(-limit)
    if queue_open:
        is_own_or_every = queues.c.name.in_([jobs.c.queue, constant(EVERY_QUEUE)])
        held = queues.c.paused_at.is_not(None) | (queues.c.opened_at >= latest)
        condition &= ~select(queues.c.name).where(is_own_or_every, held).exists()
    return select(
        jobs.c.id, jobs.c.lease, jobs.c.node_id, since.label("since"), limit.label("seconds")
    ).where(jobs.c.type == limits.c.type, since < latest, jobs.c.state == state, condition)


# The schedule of such a job sets its limit, not its type.
_of_schedule = jobs.c.max_runtime.is_not(None)
_unclaimed = jobs.c.waits_for.is_(None) & jobs.c.owner.is_not(None) & (jobs.c.attempt == 0)
OVERDUE: Final[Mapping[TimeLimit, Select[Any]]] = {
    TimeLimit.HARD: _overdue(JobState.STARTED, jobs.c.started_at, IS_HELD & ~_of_schedule),
    TimeLimit.OF_SCHEDULE: _overdue(
        JobState.STARTED, jobs.c.started_at, IS_HELD & _of_schedule, seconds=jobs.c.max_runtime
    ),
    TimeLimit.PENDING: _overdue(JobState.PENDING, jobs.c.run_at, _unclaimed, queue_open=True),
}
EXPIRED_JOBS: Final = (
    select(
        jobs.c.id,
        jobs.c.lease,
        jobs.c.node_id,
        jobs.c.created_at,
        seconds_between(jobs.c.expires_at, jobs.c.created_at).label("seconds"),
    )
    .where(jobs.c.state == JobState.PENDING, jobs.c.expires_at <= database_now())
    .order_by(jobs.c.expires_at)
    .limit(bindparam("limit"))
)


_passed = json_rows("passed", id=BigInteger(), lease=BigInteger(), reported=Integer())
EXPIRE: Final = (
    update(jobs)
    .where(
        jobs.c.id == _passed.c.id,
        jobs.c.lease == _passed.c.lease,
        jobs.c.state.in_(states_before(JobEvent.EXPIRE)),
    )
    .values(
        state=state_after(JobEvent.EXPIRE),
        error=bindparam("error"),
        human_readable_error=bindparam("text"),
        progress_percentage=case(
            (_passed.c.reported > jobs.c.progress_percentage, _passed.c.reported),
            else_=jobs.c.progress_percentage,
        ),
        hook_owed=ON_ERROR,
        **ENDED_NOW,
    )
    .returning(*COLUMNS)
)
# A job that was moved to another time in the meantime does not expire now.
EXPIRE_UNBEGUN: Final = EXPIRE.where(
    jobs.c.state == JobState.PENDING, jobs.c.expires_at <= database_now()
)


def overdue(
    connection: Connection, limit: TimeLimit, seconds: Mapping[str, float]
) -> list[OverdueJob]:
    """Return the jobs that have exceeded a limit; `seconds` by type.

    `HARD`: jobs that have run for too long. `OF_SCHEDULE`: runs that have exceeded the limit of
    their schedule by `seconds`. `PENDING`: jobs with an owner that no node has claimed in that
    time.
    """
    rows = json.dumps([{"type": name, "seconds": each} for name, each in seconds.items()])
    found = connection.execute(OVERDUE[limit], {"limits": rows})
    return readable(jobs.name, found, lambda row: OverdueJob(*row))


def expired_jobs(connection: Connection, limit: int) -> list[OverdueJob]:
    """Return pending jobs that were to begin by now, counted from their creation."""
    found = connection.execute(EXPIRED_JOBS, {"limit": limit})
    return readable(jobs.name, found, lambda row: OverdueJob(*row))


def expire(
    connection: Connection,
    passed: Collection[tuple[JobId, int]],
    limit: TimeLimit,
    reported: Mapping[tuple[JobId, int], int] = MappingProxyType({}),
) -> list[Job]:
    """Fail these jobs if active under these leases; the node stays until the body has stopped.

    `reported`: the percentages that bodies have last reported, so that the progress shown does not
    fall back.
    """
    leases = json.dumps(
        [
            {"id": key[0], "lease": key[1], "reported": reported.get(key, 0)}
            for key in sorted(passed)
        ]
    )
    values = {"passed": leases, "error": limit.error, "text": limit.human_readable_error}
    statement = EXPIRE_UNBEGUN if limit is TimeLimit.EXPIRED else EXPIRE
    failed = readable(jobs.name, connection.execute(statement, values), job_from)
    scheduled = [job for job in failed if job.schedule_id is not None]
    if running := [job.id for job in scheduled if job.node_id is not None]:
        writing.mark_stopping(connection, running)
    if waiting := [job.id for job in scheduled if job.node_id is None]:
        run_ending.end_runs(connection, dict.fromkeys(waiting, RunOutcome.FAILED), None)
    follow_ups.report_ids(connection, [job.id for job in failed])
    return failed
