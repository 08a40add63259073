"""The newest rows of the ledgers of several schedules, with how their jobs ended: for their lanes.

They are bounded for each schedule, because a fast one has many thousand times a day: the rows of a
period, at most `MOST_OF_PERIOD`, and in any case the last `LATEST`, whose durations are shown.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Final, NamedTuple

from sqlalchemy import Connection, bindparam, or_, select

from horae.storage.engine import readable
from horae.storage.jobs import jobs
from horae.storage.schedules.tables import ticks
from horae.storage.schedules.ticks import NEWEST_FIRST, newest_job

MOST_OF_PERIOD: Final = 300
"""Maximum number of rows of one schedule within the period: every five minutes of a day."""
LATEST: Final = 20
"""The number of a schedule's latest rows that are read, however old they are."""


class LaneRow(NamedTuple):
    """A row of a ledger, and the job that ran last for it; None without one or once deleted."""

    schedule_id: int
    nominal_time: datetime
    until: datetime
    times: int
    decision: str
    reason: str
    decided_at: datetime
    job_id: int | None
    state: str | None
    started_at: datetime | None
    finished_at: datetime | None


_newest = NEWEST_FIRST.limit(MOST_OF_PERIOD).subquery("newest")
_latest = NEWEST_FIRST.with_only_columns(ticks.c.nominal_time).limit(LATEST)
_newest_job: Final = newest_job(_newest.c)
# One schedule at a time: for many in one statement PostgreSQL would read the whole ledger and all
# jobs, because it does not know how few rows of each are wanted.
ROWS: Final = (
    select(
        _newest.c.schedule_id,
        _newest.c.nominal_time,
        _newest.c.until,
        _newest.c["count"].label("times"),
        _newest.c.decision,
        _newest.c.reason,
        _newest.c.decided_at,
        _newest_job.label("job_id"),
        jobs.c.state,
        jobs.c.started_at,
        jobs.c.finished_at,
    )
    .select_from(_newest.outerjoin(jobs, jobs.c.id == _newest_job))
    .where(
        or_(
            _newest.c.until >= bindparam("since"),
            _newest.c.nominal_time.in_(_latest),
        )
    )
    .order_by(_newest.c.nominal_time)
)


def rows(
    connection: Connection, schedule_ids: Collection[int], since: datetime
) -> dict[int, list[LaneRow]]:
    """Return the rows since a moment and the latest ones of each schedule, the oldest first."""
    return {
        schedule_id: readable(
            ticks.name,
            connection.execute(ROWS, {"schedule_id": schedule_id, "since": since}),
            LaneRow._make,
        )
        for schedule_id in schedule_ids
    }
