"""End the runs of schedules: plan from locked rows what follows from the end of their jobs.

`bulk_run_ending` does the same for ends that change nothing but statistics.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection, and_, bindparam, func, not_, select

from horae.domain.jobs import JobId, JobState, NodeId
from horae.domain.schedules import Overlap, Plan, Reason, RunEnded, RunOutcome
from horae.domain.schedules.plan import plan
from horae.storage.engine import member_of
from horae.storage.jobs import IS_OPEN, job_attempts, jobs
from horae.storage.outcomes import bulk_run_ending
from horae.storage.schedules import (
    JITTER,
    AppliedPlan,
    StoredSchedule,
    apply_plans,
    rules_of,
    schedules,
    snapshot_if_readable,
    snapshot_of,
    writing,
)

# A claimed job has not necessarily begun: one that was handed back, or ended while it waited for a
# slot, has no attempt.
_has_begun = select(job_attempts.c.job_id).where(job_attempts.c.job_id == jobs.c.id).exists()
ENDED_JOBS: Final = select(
    jobs.c.id,
    jobs.c.schedule_id,
    jobs.c.created_at,
    jobs.c.run_reason,
    jobs.c.started_at,
    jobs.c.finished_at,
    _has_begun.label("begun"),
).where(jobs.c.schedule_id.is_not(None), member_of(jobs.c.id, "ids"))
OTHER_RUNS: Final = (
    select(jobs.c.schedule_id, func.count().label("number"))
    .where(member_of(jobs.c.schedule_id, "ids"), not_(member_of(jobs.c.id, "ended")), IS_OPEN)
    .group_by(jobs.c.schedule_id)
)
# Runs whose body has stopped, although no end was written to the schedule; and runs whose job no
# longer exists.
UNREPORTED_ENDS: Final = (
    select(schedules.c.id, schedules.c.run_token, schedules.c.started_at, jobs.c.state)
    .select_from(schedules.outerjoin(jobs, jobs.c.id == schedules.c.run_token))
    .where(schedules.c.run_token.is_not(None), not_(and_(jobs.c.id.is_not(None), IS_OPEN)))
    .order_by(schedules.c.id)
    .limit(bindparam("limit"))
)

_OUTCOMES: Final = {
    JobState.FINISHED: RunOutcome.SUCCEEDED,
    JobState.FAILED: RunOutcome.FAILED,
    JobState.CANCELLED: RunOutcome.CANCELLED,
}
_UNCOUNTED: Final[Mapping[RunOutcome, RunOutcome]] = dict.fromkeys(
    (RunOutcome.FAILED, RunOutcome.CANCELLED), RunOutcome.UNCOUNTED
)

_IN_ADDITION: Final = frozenset({Reason.MANUAL, Reason.BACKFILL})
"""The reasons of runs in addition to the schedule, which do not move its next start."""


@dataclass(frozen=True, slots=True)
class RunEnd:
    """A job of a schedule that has ended and whose body has stopped.

    `reason`: why the schedule started it; `took`: how long the body ran, if known.
    """

    schedule_id: int
    job_id: JobId
    outcome: RunOutcome
    created_at: datetime
    reason: str | None
    took: timedelta | None = None


def outcome_of(state: str) -> RunOutcome:
    """Return the outcome of a run whose body has begun, by the final state of its job."""
    return _OUTCOMES[JobState(state)]


def end_runs(
    connection: Connection,
    outcomes: Mapping[JobId, RunOutcome],
    node: NodeId | None,
    scheduler_age: timedelta | None = None,
) -> list[AppliedPlan]:
    """End those runs of these jobs that their schedules still wait for.

    Returns the schedules whose plans have changed.
    """
    succeeded = [job_id for job_id, outcome in outcomes.items() if outcome is RunOutcome.SUCCEEDED]
    ended_in_bulk = bulk_run_ending.end(connection, succeeded)
    rest = {job_id: outcome for job_id, outcome in outcomes.items() if job_id not in ended_in_bulk}
    return _end(connection, _ends_of(connection, rest), node, scheduler_age) if rest else []


def end_unreported(connection: Connection, limit: int) -> list[AppliedPlan]:
    """End runs whose jobs ended without a report; a run without a job counts as a crash."""
    found = connection.execute(UNREPORTED_ENDS, {"limit": limit}).all()
    ended = {JobId(row.run_token): outcome_of(row.state) for row in found if row.state is not None}
    gone = [
        RunEnd(row.id, JobId(row.run_token), RunOutcome.CRASHED, row.started_at, reason=None)
        for row in found
        if row.state is None
    ]
    ends = [*(_ends_of(connection, ended) if ended else ()), *gone]
    return _end(connection, ends, None) if ends else []


def _ends_of(connection: Connection, outcomes: Mapping[JobId, RunOutcome]) -> list[RunEnd]:
    rows = connection.execute(ENDED_JOBS, {"ids": outcomes})
    return [
        RunEnd(
            row.schedule_id,
            JobId(row.id),
            outcomes[row.id] if row.begun else _UNCOUNTED.get(outcomes[row.id], outcomes[row.id]),
            row.created_at,
            row.run_reason,
            timedelta(0) if row.started_at is None else row.finished_at - row.started_at,
        )
        for row in rows
    ]


def _end(
    connection: Connection,
    ends: Sequence[RunEnd],
    node: NodeId | None,
    scheduler_age: timedelta | None = None,
) -> list[AppliedPlan]:
    """End the runs that their schedules still wait for.

    A schedule that cannot be read here is left alone; a node that can read it ends its run
    (`end_unreported`).
    """
    rows = writing.lock(connection, {ended.schedule_id for ended in ends})
    locked = {row.id: row for row in rows if snapshot_if_readable(row) is not None}
    applied: list[AppliedPlan] = []
    waiting = list(ends)
    # Each round handles one end per schedule; only `allow_all` needs more than one round.
    while waiting:
        now = {ended.schedule_id: ended for ended in reversed(waiting)}
        waiting = [ended for ended in waiting if now[ended.schedule_id] is not ended]
        current = [
            (locked[key], ended)
            for key, ended in now.items()
            if key in locked and (locked[key].run_token == ended.job_id or _allows_all(locked[key]))
        ]
        later = Counter(ended.schedule_id for ended in waiting)
        results = _end_one_each(connection, current, later, node, scheduler_age) if current else []
        locked |= {result.schedule.id: result.schedule for result in results}
        applied.extend(results)
    return applied


def _end_one_each(
    connection: Connection,
    current: Sequence[tuple[StoredSchedule, RunEnd]],
    later: Mapping[int, int],
    node: NodeId | None,
    scheduler_age: timedelta | None,
) -> list[AppliedPlan]:
    """Plan what follows from one end of each schedule, and carry the plans out.

    `later`: how many further ends of each schedule the batch has.
    """
    plans: list[tuple[StoredSchedule, Plan]] = []
    # Other runs are open, or their end is written later in the batch.
    others = Counter[int]()
    if ended_here := {row.id: ended.job_id for row, ended in current if _allows_all(row)}:
        given = {"ids": ended_here, "ended": ended_here.values()}
        others.update(
            {row.schedule_id: row.number for row in connection.execute(OTHER_RUNS, given)}
        )
        others.update({schedule_id: later.get(schedule_id, 0) for schedule_id in ended_here})
    for row, ended in current:
        started, now = row.started_at or ended.created_at, row.now
        if now < started:  # the clock was set back during the run
            if rules_of(row).finish_trigger is None:
                now = started  # all times up to the start of the run are decided
            else:
                started = now  # an interval must not wait until the clock has caught up
        event = RunEnded(
            outcome=ended.outcome,
            started=started,
            by_hand=ended.reason in _IN_ADDITION,
            backfill=ended.reason == Reason.BACKFILL,
            took=ended.took,
            others=others[row.id],
            scheduler_started=row.now - (scheduler_age or timedelta(0)),
        )
        freed = row._replace(run_token=None if row.run_token == ended.job_id else row.run_token)
        plans.append((freed, plan(snapshot_of(row), event, now, JITTER)))
    results = apply_plans(connection, plans, node)
    applied: list[AppliedPlan] = []
    for result, (row, _) in zip(results, current, strict=True):
        after = result.schedule.next_start
        earlier = after is not None and (row.next_start is None or after < row.next_start)
        applied.append(replace(result, moved_earlier=earlier))
    return applied


def _allows_all(row: StoredSchedule) -> bool:
    return rules_of(row).overlap is Overlap.ALLOW_ALL
