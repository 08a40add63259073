"""Cancel jobs."""

from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Executable, Integer, and_, bindparam, case, update

from horae.domain.jobs import Job, JobEvent, JobId, JobState, state_after, states_before
from horae.domain.names import LONGEST_NAME
from horae.domain.schedules import RunOutcome
from horae.storage.engine import member_of
from horae.storage.jobs import COLUMNS, ENDED_NOW, ON_CANCELLED, job_from, jobs
from horae.storage.outcomes import follow_ups, run_ending
from horae.storage.outcomes.follow_ups import FollowUps
from horae.storage.schedules import writing

DISCARDED_BY: Final = "limit"
"""Begins who cancelled a job that a limit has discarded; the name of the limit follows."""

# The live store has the latest progress; without it the progress bar would fall back when the job
# is cancelled.
_reported_percentage: Final = bindparam("reported_percentage", type_=Integer())
_has_progressed: Final = and_(
    jobs.c.lease == bindparam("reported_lease"), jobs.c.progress_percentage < _reported_percentage
)
CANCEL: Final = (
    update(jobs)
    .where(jobs.c.id == bindparam("job_id"), jobs.c.state.in_(states_before(JobEvent.CANCEL)))
    .values(
        state=state_after(JobEvent.CANCEL),
        cancelled_by=bindparam("cancelled_by"),
        progress_percentage=case(
            (_has_progressed, _reported_percentage), else_=jobs.c.progress_percentage
        ),
        hook_owed=bindparam("hook_owed"),
        **ENDED_NOW,
    )
    .returning(*COLUMNS)
)

_cancel_pending = (
    update(jobs)
    .where(jobs.c.state == JobState.PENDING)
    .values(
        state=state_after(JobEvent.CANCEL),
        cancelled_by=bindparam("cancelled_by"),
        hook_owed=ON_CANCELLED,
        **ENDED_NOW,
    )
    .returning(jobs.c.id, jobs.c.schedule_id)
)
CANCEL_PENDING: Final = _cancel_pending.where(member_of(jobs.c.id, "ids"))
CANCEL_UNCLAIMED: Final = CANCEL_PENDING.where(jobs.c.lease == 0)
CANCEL_PENDING_OF: Final = _cancel_pending.where(jobs.c.schedule_id == bindparam("of_schedule"))


class CancelledJob(NamedTuple):
    """A job that was cancelled, and what followed for those that waited for it."""

    job: Job
    follow_ups: FollowUps


def cancel(
    connection: Connection,
    job_id: JobId,
    cancelled_by: str | None,
    shown: Job | None = None,
    *,
    owed: bool = True,
) -> CancelledJob | None:
    """Cancel a pending or started job; return None if it was in another state.

    The node stays on the row of a started job until its body has stopped. `shown`: the job as it
    was last shown; its percentage is kept if its lease is still the current one. `owed`: whether
    its type has, or may have, an `on_cancelled`.
    """
    lease, percentage = (-1, 0) if shown is None else (shown.lease, shown.progress_percentage)
    parameters = {
        "job_id": job_id,
        "cancelled_by": cancelled_by,
        "reported_lease": lease,
        "reported_percentage": percentage,
        "hook_owed": ON_CANCELLED if owed else None,
    }
    row = connection.execute(CANCEL, parameters).one_or_none()
    if row is None:
        return None
    job = job_from(row)
    if job.schedule_id is not None and job.node_id is None:
        run_ending.end_runs(connection, {job.id: RunOutcome.CANCELLED}, None)
    elif job.schedule_id is not None:
        writing.mark_stopping(connection, [job.id])
    return CancelledJob(job, follow_ups.report_ids(connection, [job.id]))


def cancel_pending(
    connection: Connection, job_ids: Collection[JobId], cancelled_by: str
) -> list[JobId]:
    """Cancel those of these jobs that no node has claimed, and return their ids."""
    return _cancel_all(connection, CANCEL_PENDING, cancelled_by, ids=job_ids)


def discard(connection: Connection, found: Mapping[str, Collection[JobId]]) -> None:
    """Cancel pending jobs that no node has ever claimed, by the name of the limit that discards
    them.
    """
    for limit, job_ids in found.items():
        text = f"{DISCARDED_BY} {limit}"[:LONGEST_NAME]
        _cancel_all(connection, CANCEL_UNCLAIMED, text, ids=job_ids)


def cancel_pending_of(connection: Connection, schedule_id: int, cancelled_by: str) -> list[JobId]:
    """Cancel the jobs of a schedule that no node has claimed, and return their ids."""
    return _cancel_all(connection, CANCEL_PENDING_OF, cancelled_by, of_schedule=schedule_id)


def _cancel_all(
    connection: Connection, statement: Executable, cancelled_by: str, **which: Any
) -> list[JobId]:
    rows = connection.execute(statement, {**which, "cancelled_by": cancelled_by}).all()
    if runs := [JobId(row.id) for row in rows if row.schedule_id is not None]:
        run_ending.end_runs(connection, dict.fromkeys(runs, RunOutcome.CANCELLED), None)
    ids = [JobId(row.id) for row in rows]
    follow_ups.report_ids(connection, ids)
    return ids
