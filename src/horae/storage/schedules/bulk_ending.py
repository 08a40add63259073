"""Ends of runs that leave the plan as it is, which is what most runs of a schedule with set times come to.

A run has succeeded, nothing came due while it ran, and nothing waits: then its next start stays where the fire has put
it, and only the statistics go on (`Statistics.succeeded`). Three statements say so for any number of schedules; all
else is decided by `plan`. A test compares the two.
"""

from collections.abc import Collection
from typing import Any, Final

from sqlalchemy import Connection, Row, Select, Update, and_, case, cast, literal, null, select, true, update
from sqlalchemy.types import String, Text

from horae.domain.jobs.job import JobId
from horae.domain.schedules.run_end import leaves_plan_alone
from horae.domain.schedules.schedule import NEXT_STATE, ScheduleEvent, ScheduleState
from horae.storage.engine.dialect import IdList, PerDialect, database_now, member_of, seconds_between
from horae.storage.engine.row_bounds import MOST_RUNS, MOST_VERSIONS
from horae.storage.jobs.tables import jobs
from horae.storage.schedules.planning_state import UNREADABLE, rules_from
from horae.storage.schedules.tables import schedule_statistics
from horae.storage.schedules.tables import schedules as table

_WHAT_DECIDES: Final = ("trigger_kind", "trigger", "timezone", "last_tick", "next_start")


def _lock(dialect: str) -> Select[Any]:
    """All schedules that these jobs are of, in the order in which everybody locks them, also those that are left."""
    theirs = select(jobs.c.schedule_id).where(member_of(dialect, jobs.c.id, "jobs", of=IdList))
    runs = and_(
        member_of(dialect, table.c.run_token, "jobs", of=IdList),
        table.c.state == ScheduleState.EXECUTING.value,
        table.c.enabled,
        table.c.version < MOST_VERSIONS,
    )
    columns = (table.c.id, table.c.run_token, *(table.c[name] for name in _WHAT_DECIDES))
    chosen: Select[Any] = select(
        *columns, cast(table.c.rules, Text()).label("rules"), runs.label("runs"), database_now().label("now")
    )
    return chosen.where(table.c.id.in_(theirs)).order_by(table.c.id).with_for_update()


def _count(dialect: str) -> Update:
    """What `Statistics.succeeded` says, of all; before their schedules forget when they began."""
    own = schedule_statistics.c
    # A clock may step back: the run took no time then, and its end is no earlier than its start.
    forwards = table.c.started_at <= database_now()
    finish = case((forwards, database_now()), else_=table.c.started_at)
    values: dict[str, Any] = {
        "last_finish": finish,
        "last_successful_finish": finish,
        "last_run_success": true(),
        "total_successes": own.total_successes + 1,
        "total_crashes": own.total_crashes - 1,
        # From the begin of the body: what it waited for a slot is no part of it.
        "total_duration": own.total_duration + seconds_between(jobs.c.finished_at, jobs.c.started_at),
        "last_start": case(
            (and_(own.last_start > jobs.c.started_at, own.last_start <= finish), own.last_start),
            else_=jobs.c.started_at,
        ),
        "consecutive_failures": literal(0),
        "consecutive_crashes": literal(0),
    }
    mine = member_of(dialect, own.schedule_id, "ids", of=IdList)
    run = and_(own.schedule_id == table.c.id, table.c.run_token == jobs.c.id)
    return update(schedule_statistics).where(run, mine, own.total_successes < MOST_RUNS).values(values)


def _free(dialect: str) -> Update:
    values: dict[str, Any] = {
        "state": literal(NEXT_STATE[ScheduleState.EXECUTING, ScheduleEvent.END].value, String()),
        "run_token": null(),
        "started_at": null(),
        "version": table.c.version + 1,
        "updated_at": database_now(),
    }
    return update(table).where(member_of(dialect, table.c.id, "ids", of=IdList)).values(values)


LOCK: Final = PerDialect(_lock)
END: Final = PerDialect(lambda dialect: (_count(dialect), _free(dialect)))


def end(connection: Connection, succeeded: Collection[JobId]) -> set[JobId]:
    """End the runs that these jobs were, as far as that changes no plan; which those are."""
    if not succeeded:
        return set()
    rows = connection.execute(LOCK.on(connection), {"jobs": list(succeeded)})
    plain = {row.id: JobId(row.run_token) for row in rows if row.runs and _is_plain(row)}
    if plain:
        for statement in END.on(connection):
            connection.execute(statement, {"ids": list(plain)})
    return set(plain.values())


def _is_plain(row: Row[Any]) -> bool:
    if row.last_tick is None or row.next_start is None:
        return False
    try:
        rules = rules_from(row.trigger_kind, row.trigger, row.timezone, row.rules)
    except UNREADABLE:
        return False
    return leaves_plan_alone(rules, row.last_tick, row.next_start, row.now)
