"""Runs that were told to stop: their schedules are `terminating` until they have stopped, or are tried again."""

from collections.abc import Collection
from typing import Any, Final

from sqlalchemy import Connection, Update, update

from horae.domain.jobs.job import JobId
from horae.domain.schedules.schedule import NEXT_STATE, ScheduleEvent, ScheduleState
from horae.storage.engine.dialect import IdList, PerDialect, database_now, member_of
from horae.storage.schedules.tables import schedules


def _move(dialect: str, state: ScheduleState, event: ScheduleEvent) -> Update:
    values: dict[str, Any] = {
        "state": NEXT_STATE[state, event].value,
        "version": schedules.c.version + 1,
        "updated_at": database_now(),
    }
    runs = member_of(dialect, schedules.c.run_token, "jobs", of=IdList)
    return update(schedules).where(runs, schedules.c.state == state.value).values(values)


STOP: Final = PerDialect(lambda dialect: _move(dialect, ScheduleState.EXECUTING, ScheduleEvent.STOP))
REPEAT: Final = PerDialect(lambda dialect: _move(dialect, ScheduleState.TERMINATING, ScheduleEvent.REPEAT))


def told(connection: Connection, job_ids: Collection[JobId]) -> None:
    """These bodies were told to stop, whoever did it, and have not stopped."""
    connection.execute(STOP.on(connection), {"jobs": list(job_ids)})


def repeated(connection: Connection, job_ids: Collection[JobId]) -> None:
    """These jobs have stopped, and are to be tried again."""
    connection.execute(REPEAT.on(connection), {"jobs": list(job_ids)})
