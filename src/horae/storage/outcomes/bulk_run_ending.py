"""End many runs whose ends change statistics only, in three statements for all schedules.

Most runs with fixed start times end in this way: the run has succeeded, no nominal time came due
while it ran, and none is waiting. The next start then stays as it was written when the run was
fired (`Statistics.ended` tells what changes). All others are left to `run_ending`. A test compares
the two.
"""

from collections.abc import Collection
from typing import Any, Final

from sqlalchemy import Connection, and_, case, cast, literal, null, select, true, update
from sqlalchemy.types import String, Text

from horae.domain.jobs import JobId
from horae.domain.schedules import NEXT_STATE, ScheduleEvent, ScheduleState, leaves_plan_alone
from horae.storage.engine import (
    MOST_RUNS,
    MOST_VERSIONS,
    ROW_ERRORS,
    database_now,
    member_of,
    seconds_between,
)
from horae.storage.jobs import jobs
from horae.storage.schedules import rules_from, schedule_statistics, schedules

LOCK: Final = (
    select(
        schedules.c.id,
        schedules.c.run_token,
        schedules.c.trigger_kind,
        schedules.c.trigger,
        schedules.c.timezone,
        schedules.c.last_tick,
        schedules.c.next_start,
        schedules.c.moved_start,
        schedules.c.backfill_next,
        cast(schedules.c.rules, Text()).label("rules"),
        and_(
            member_of(schedules.c.run_token, "jobs"),
            schedules.c.state == ScheduleState.EXECUTING.value,
            schedules.c.enabled,
            schedules.c.version < MOST_VERSIONS,
        ).label("runs"),
        database_now().label("now"),
    )
    .where(schedules.c.id.in_(select(jobs.c.schedule_id).where(member_of(jobs.c.id, "jobs"))))
    .order_by(schedules.c.id)
    .with_for_update()
)
"""Lock the schedules of all these jobs, also those for `run_ending`, in the common order."""
# If the clock was set back, the run took no time: its end is not earlier than its start.
_finish = case(
    (schedules.c.started_at <= database_now(), database_now()), else_=schedules.c.started_at
)
_own = schedule_statistics.c
COUNT_SUCCESS: Final = (
    update(schedule_statistics)
    .where(
        and_(_own.schedule_id == schedules.c.id, schedules.c.run_token == jobs.c.id),
        member_of(_own.schedule_id, "ids"),
        _own.total_successes < MOST_RUNS,
    )
    .values(
        last_finish=_finish,
        last_successful_finish=_finish,
        last_run_success=true(),
        total_successes=_own.total_successes + 1,
        total_crashes=_own.total_crashes - 1,
        # The duration counts from the start of the body, without the time that the job waited for a
        # slot.
        total_duration=_own.total_duration + seconds_between(jobs.c.finished_at, jobs.c.started_at),
        last_start=case(
            (
                and_(_own.last_start > jobs.c.started_at, _own.last_start <= _finish),
                _own.last_start,
            ),
            else_=jobs.c.started_at,
        ),
        consecutive_failures=literal(0),
        consecutive_crashes=literal(0),
    )
)
"""Do in SQL what `Statistics.ended` does, before `FREE` clears the start of the run."""
FREE: Final = (
    update(schedules)
    .where(member_of(schedules.c.id, "ids"))
    .values(
        state=literal(NEXT_STATE[ScheduleState.EXECUTING, ScheduleEvent.END].value, String()),
        run_token=null(),
        started_at=null(),
        version=schedules.c.version + 1,
        updated_at=database_now(),
    )
)


def end(connection: Connection, succeeded: Collection[JobId]) -> set[JobId]:
    """End the runs of these succeeded jobs whose plans do not change; return the jobs of these
    runs.
    """
    if not succeeded:
        return set()
    rows = connection.execute(LOCK, {"jobs": succeeded})
    ended = {row.id: JobId(row.run_token) for row in rows if row.runs and _keeps_plan(row)}
    if ended:
        connection.execute(COUNT_SUCCESS, {"ids": ended})
        connection.execute(FREE, {"ids": ended})
    return set(ended.values())


def _keeps_plan(row: Any) -> bool:
    if row.last_tick is None or row.next_start is None:
        return False
    if row.moved_start is not None or row.backfill_next is not None:  # another start may come first
        return False
    try:
        rules = rules_from(row.trigger_kind, row.trigger, row.timezone, row.rules)
    except ROW_ERRORS:
        return False
    return leaves_plan_alone(rules, row.last_tick, row.next_start, row.now)
