"""Schedules whose current run has been asked to stop: `terminating` until it has stopped, or is tried again."""

from collections.abc import Collection
from typing import Any, Final

from sqlalchemy import Connection, Update, update

from horae.domain.jobs.job import JobId
from horae.domain.schedules.schedule import NEXT_STATE, ScheduleEvent, ScheduleState
from horae.storage.engine.dialect import IdList, PerDialect, database_now, member_of
from horae.storage.schedules.tables import schedules


def _change_state(dialect: str, state: ScheduleState, event: ScheduleEvent) -> Update:
    values: dict[str, Any] = {
        "state": NEXT_STATE[state, event].value,
        "version": schedules.c.version + 1,
        "updated_at": database_now(),
    }
    runs = member_of(dialect, schedules.c.run_token, "jobs", of=IdList)
    return update(schedules).where(runs, schedules.c.state == state.value).values(values)


STOP: Final = PerDialect(lambda dialect: _change_state(dialect, ScheduleState.EXECUTING, ScheduleEvent.STOP))
REPEAT: Final = PerDialect(lambda dialect: _change_state(dialect, ScheduleState.TERMINATING, ScheduleEvent.REPEAT))


def mark_stopping(connection: Connection, job_ids: Collection[JobId]) -> None:
    """Note that the bodies of these jobs have been asked to stop, and still run."""
    connection.execute(STOP.on(connection), {"jobs": list(job_ids)})


def mark_repeating(connection: Connection, job_ids: Collection[JobId]) -> None:
    """Note that these jobs have stopped and are tried again."""
    connection.execute(REPEAT.on(connection), {"jobs": list(job_ids)})
