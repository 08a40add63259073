"""End many runs whose ends change statistics only, in three statements for all schedules.

Most runs with fixed start times end in this way: the run has succeeded, no nominal time came due
while it ran, and none is waiting. The next start then stays as it was written when the run was
fired (`Statistics.ended` tells what changes). All others are left to `run_ending`. A test compares
the two.
"""

from collections.abc import Collection
from typing import Any, Final

from sqlalchemy import (
    Connection,
    Row,
    Select,
    Update,
    and_,
    case,
    cast,
    literal,
    null,
    select,
    true,
    update,
)
from sqlalchemy.types import String, Text

from horae.domain.jobs import JobId
from horae.domain.schedules import NEXT_STATE, ScheduleEvent, ScheduleState, leaves_plan_alone
from horae.storage.engine import (
    MOST_RUNS,
    MOST_VERSIONS,
    IdList,
    PerDialect,
    database_now,
    member_of,
    seconds_between,
)
from horae.storage.jobs import jobs
from horae.storage.schedules import UNREADABLE, rules_from, schedule_statistics, schedules

_NEEDED_TO_DECIDE: Final = (
    "trigger_kind",
    "trigger",
    "timezone",
    "last_tick",
    "next_start",
    "moved_start",
    "backfill_next",
)


def _lock(dialect: str) -> Select[Any]:
    """Lock the schedules of all these jobs, also those for `run_ending`, in the common order."""
    theirs = select(jobs.c.schedule_id).where(member_of(dialect, jobs.c.id, "jobs", of=IdList))
    runs = and_(
        member_of(dialect, schedules.c.run_token, "jobs", of=IdList),
        schedules.c.state == ScheduleState.EXECUTING.value,
        schedules.c.enabled,
        schedules.c.version < MOST_VERSIONS,
    )
    columns = (
        schedules.c.id,
        schedules.c.run_token,
        *(schedules.c[name] for name in _NEEDED_TO_DECIDE),
    )
    chosen: Select[Any] = select(
        *columns,
        cast(schedules.c.rules, Text()).label("rules"),
        runs.label("runs"),
        database_now().label("now"),
    )
    return chosen.where(schedules.c.id.in_(theirs)).order_by(schedules.c.id).with_for_update()


def _count_success(dialect: str) -> Update:
    """Do in SQL what `Statistics.ended` does, before `_free` clears the start of the run."""
    own = schedule_statistics.c
    # If the clock was set back, the run took no time: its end is not earlier than its start.
    forwards = schedules.c.started_at <= database_now()
    finish = case((forwards, database_now()), else_=schedules.c.started_at)
    values: dict[str, Any] = {
        "last_finish": finish,
        "last_successful_finish": finish,
        "last_run_success": true(),
        "total_successes": own.total_successes + 1,
        "total_crashes": own.total_crashes - 1,
        # The duration counts from the start of the body, without the time that the job waited for a
        # slot.
        "total_duration": own.total_duration
        + seconds_between(jobs.c.finished_at, jobs.c.started_at),
        "last_start": case(
            (and_(own.last_start > jobs.c.started_at, own.last_start <= finish), own.last_start),
            else_=jobs.c.started_at,
        ),
        "consecutive_failures": literal(0),
        "consecutive_crashes": literal(0),
    }
    theirs = member_of(dialect, own.schedule_id, "ids", of=IdList)
    run = and_(own.schedule_id == schedules.c.id, schedules.c.run_token == jobs.c.id)
    return (
        update(schedule_statistics)
        .where(run, theirs, own.total_successes < MOST_RUNS)
        .values(values)
    )


def _free(dialect: str) -> Update:
    values: dict[str, Any] = {
        "state": literal(NEXT_STATE[ScheduleState.EXECUTING, ScheduleEvent.END].value, String()),
        "run_token": null(),
        "started_at": null(),
        "version": schedules.c.version + 1,
        "updated_at": database_now(),
    }
    return (
        update(schedules).where(member_of(dialect, schedules.c.id, "ids", of=IdList)).values(values)
    )


LOCK: Final = PerDialect(_lock)
END: Final = PerDialect(lambda dialect: (_count_success(dialect), _free(dialect)))


def end(connection: Connection, succeeded: Collection[JobId]) -> set[JobId]:
    """End the runs of these succeeded jobs whose plans do not change; return the jobs of these
    runs.
    """
    if not succeeded:
        return set()
    rows = connection.execute(LOCK.on(connection), {"jobs": list(succeeded)})
    ended = {row.id: JobId(row.run_token) for row in rows if row.runs and _keeps_plan(row)}
    if ended:
        for statement in END.on(connection):
            connection.execute(statement, {"ids": list(ended)})
    return set(ended.values())


def _keeps_plan(row: Row[Any]) -> bool:
    if row.last_tick is None or row.next_start is None:
        return False
    if row.moved_start is not None or row.backfill_next is not None:  # another start may come first
        return False
    try:
        rules = rules_from(row.trigger_kind, row.trigger, row.timezone, row.rules)
    except UNREADABLE:
        return False
    return leaves_plan_alone(rules, row.last_tick, row.next_start, row.now)
