"""Retries of runs: the new job has the old one's nominal time, and counts as a run by hand."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeAlias

from sqlalchemy import Connection, bindparam, update

from horae.domain.jobs import Job
from horae.domain.schedules import Reason, RunRetried
from horae.domain.schedules.plan import plan
from horae.errors import ScheduleIsRunning
from horae.storage.jobs import jobs
from horae.storage.schedules import ticks, writing
from horae.storage.schedules.plan_writing import JITTER, apply_plans
from horae.storage.schedules.rows import snapshot_of

Create: TypeAlias = Callable[[Connection], tuple[Job, bool]]
"""Inserts the retry of a job unless it exists; returns it and whether it is new."""

ADOPT: Final = (
    update(jobs)
    .where(jobs.c.id == bindparam("retry"))
    .values(
        schedule_id=bindparam("schedule"),
        nominal_time=bindparam("nominal"),
        deployment_id=bindparam("deployment"),
        run_reason=Reason.MANUAL.value,
    )
)


def retry(connection: Connection, of: Job, create: Create) -> tuple[Job, bool]:
    """Create the retry of a run, as a plain job if the schedule was deleted.

    Raises `ScheduleIsRunning` if another run blocks it.
    """
    rows = [] if of.schedule_id is None else writing.lock(connection, [of.schedule_id])
    created, is_new = create(connection)
    if not is_new or not rows or of.nominal_time is None:
        return created, is_new
    (row,) = rows
    snapshot = snapshot_of(row)
    if snapshot.executing:
        raise ScheduleIsRunning(row.name, row.run_token or 0)
    own = {
        "schedule": row.id,
        "nominal": of.nominal_time,
        "deployment": of.deployment_id,
        "retry": created.id,
    }
    connection.execute(ADOPT, own)
    apply_plans(
        connection,
        [(row, plan(snapshot, RunRetried(), row.now, JITTER))],
        started={row.id: created.id},
    )
    ticks.note_retry(connection, row.id, of.nominal_time, created.id)
    kept = {name: getattr(of, name) for name in ("schedule_id", "nominal_time", "deployment_id")}
    return replace(created, **kept, run_reason=Reason.MANUAL.value), True
