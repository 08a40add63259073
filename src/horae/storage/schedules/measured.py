"""How long the latest runs of schedules took, and whether they succeeded."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from sqlalchemy import Connection, Integer, bindparam, select

from horae.domain.jobs.job import AttemptOutcome
from horae.domain.schedules.tick import Decision
from horae.storage.jobs.tables import job_attempts
from horae.storage.schedules.tables import ticks


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """One attempt at a run: how long its body took, and whether it succeeded."""

    took: timedelta
    succeeded: bool


_latest = (
    select(ticks.c.job_id)
    .where(
        ticks.c.schedule_id == bindparam("schedule_id"), ticks.c.decision == Decision.FIRED.value
    )
    .order_by(ticks.c.nominal_time.desc())
    .limit(bindparam("limit", type_=Integer()))
    .subquery("latest")
)
# The end of a crashed or cancelled body tells nothing about how long it takes.
_WHOLE: Final = (
    AttemptOutcome.FINISHED.value,
    AttemptOutcome.FAILED.value,
    AttemptOutcome.TIMED_OUT.value,
)
MEASURED: Final = (
    select(job_attempts.c.started_at, job_attempts.c.finished_at, job_attempts.c.outcome)
    .join(_latest, _latest.c.job_id == job_attempts.c.job_id)
    .where(job_attempts.c.finished_at.is_not(None), job_attempts.c.outcome.in_(_WHOLE))
    .order_by(job_attempts.c.job_id, job_attempts.c.lease)
)


def measured_runs(
    connection: Connection, ids: Collection[int], limit: int
) -> dict[int, list[MeasuredRun]]:
    """Return the latest runs of each schedule by its id, at most `limit` of each, the oldest
    first.
    """
    return {schedule_id: _of(connection, schedule_id, limit) for schedule_id in ids}


def _of(connection: Connection, schedule_id: int, limit: int) -> list[MeasuredRun]:
    rows = connection.execute(MEASURED, {"schedule_id": schedule_id, "limit": limit})
    return [
        MeasuredRun(
            max(row.finished_at - row.started_at, timedelta(0)),
            row.outcome == AttemptOutcome.FINISHED,
        )
        for row in rows
    ]
