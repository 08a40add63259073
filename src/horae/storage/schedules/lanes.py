"""The newest rows of the ledgers of several schedules, with how their jobs ended: for their lanes.

One statement reads those of a whole page. It is bounded for each schedule, because a fast one has
many thousand times a day: the rows of a period, at most `MOST_OF_PERIOD`, and in any case the last
`LATEST`, of which the durations are shown.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, bindparam, func, select

from horae.storage.engine import Instant, earlier_of, member_of, readable
from horae.storage.jobs import jobs
from horae.storage.schedules.tables import schedules, ticks
from horae.storage.schedules.ticks import NEWEST_JOB

MOST_OF_PERIOD: Final = 500
"""Maximum number of rows of one schedule within the period."""
LATEST: Final = 20
"""The number of a schedule's latest rows that are read, however old they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneRow:
    """A row of a ledger, and the job that ran last for it; None without one or once deleted."""

    schedule_id: int
    nominal_time: datetime
    until: datetime
    count: int
    decision: str
    reason: str
    decided_at: datetime
    job_id: int | None
    state: str | None
    started_at: datetime | None
    finished_at: datetime | None


_since: Final = bindparam("since", type_=Instant())
_earlier = ticks.alias("earlier")
_recent = ticks.alias("recent")
_last = ticks.alias("last")
# A row for several times may begin before the period and reach into it.
_reaching = (
    select(func.max(_earlier.c.nominal_time))
    .where(_earlier.c.schedule_id == schedules.c.id, _earlier.c.nominal_time <= _since)
    .correlate(schedules)
    .scalar_subquery()
)
_newest_of_period = (
    select(_recent.c.nominal_time)
    .where(_recent.c.schedule_id == schedules.c.id, _recent.c.nominal_time >= _since)
    .order_by(_recent.c.nominal_time.desc())
    .offset(MOST_OF_PERIOD - 1)
    .limit(1)
    .correlate(schedules)
    .scalar_subquery()
)
_latest = (
    select(_last.c.nominal_time)
    .where(_last.c.schedule_id == schedules.c.id)
    .order_by(_last.c.nominal_time.desc())
    .offset(LATEST - 1)
    .limit(1)
    .correlate(schedules)
    .scalar_subquery()
)
_begins = func.coalesce(_newest_of_period, _reaching, _since)
_all_if_few = func.coalesce(_latest, bindparam("earliest", type_=Instant()))
# The bounds come first, so that each is one look-up for a schedule and not one for a row.
_bounds = (
    select(schedules.c.id, earlier_of(_begins, _all_if_few).label("first_row"))
    .where(member_of(schedules.c.id, "ids"))
    .cte("bounds")
    .prefix_with("MATERIALIZED")
)
ROWS: Final = (
    select(
        ticks.c.schedule_id,
        ticks.c.nominal_time,
        ticks.c.until,
        ticks.c.count,
        ticks.c.decision,
        ticks.c.reason,
        ticks.c.decided_at,
        NEWEST_JOB.label("job_id"),
        jobs.c.state,
        jobs.c.started_at,
        jobs.c.finished_at,
    )
    .select_from(
        _bounds.join(ticks, ticks.c.schedule_id == _bounds.c.id).outerjoin(
            jobs, jobs.c.id == NEWEST_JOB
        )
    )
    .where(ticks.c.nominal_time >= _bounds.c.first_row)
    .order_by(ticks.c.schedule_id, ticks.c.nominal_time)
)


def rows(
    connection: Connection, schedule_ids: Collection[int], since: datetime, earliest: datetime
) -> list[LaneRow]:
    """Return the rows since a moment and the latest ones, by schedule, the oldest first.

    `earliest`: a moment before all rows.
    """
    values = {"ids": sorted(schedule_ids), "since": since, "earliest": earliest}
    return readable(
        ticks.name,
        connection.execute(ROWS, values).mappings(),
        lambda row: LaneRow(**row),
    )
