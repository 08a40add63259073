"""The lanes of schedules: what became of their times in a period, and what comes next.

A lane is drawn a few hundred pixels wide, so the times of a fast schedule are put together: the
period has `CELLS` cells, and all times of one cell with the same outcome become one mark.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from horae.client.schedules.views import views_of
from horae.domain.jobs import JobState
from horae.domain.schedules import ON_TIME_WITHIN, Decision, Reason
from horae.domain.schedules.why import undecided
from horae.storage.engine import Reads, read_clock
from horae.storage.schedules import lanes, reading
from horae.storage.schedules.lanes import LaneRow

CELLS: Final = 96
"""The number of cells into which a period is divided: quarters of an hour in a day."""
MOST_LANES: Final = 100
"""The number of schedules that one request may ask for."""
LONGEST: Final = 24 * 31
"""The longest period in hours."""
AHEAD: Final = 8
"""The coming times are those of the next eighth of the period."""
_NEVER_LATE: Final = frozenset({Reason.ON_TIME, Reason.MANUAL, Reason.RETRY, Reason.BACKFILL})
"""The reasons of runs that are not late, whenever they started."""


class LaneOutcome(StrEnum):
    """What became of a time; the worst comes first, because it is drawn above the others."""

    FAILED = "failed"
    MISSED = "missed"
    WAITING = "waiting"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"
    COALESCED = "coalesced"
    LATE = "late"
    RUNNING = "running"
    RAN = "ran"
    PAUSED = "paused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """`count` times with one outcome, of which the last is `last`.

    `job_id`: the newest job of the last one. `reason`: that of the ledger, None for times that have
    no decision yet.
    """

    first: datetime
    last: datetime
    count: int
    outcome: LaneOutcome
    reason: str | None
    job_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleLane:
    """The lane of one schedule.

    `complete_from`: earlier times of the period are not among the marks, because there are too
    many; None if all are. `coming`: the next starts within the period ahead. `durations`: of the
    last ended runs in seconds, the oldest first.
    """

    schedule_id: int
    marks: Sequence[Mark]
    complete_from: datetime | None
    coming: Sequence[datetime]
    durations: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleLanes:
    """The lanes of a page of schedules: from `start` over `now` to `end`."""

    start: datetime
    now: datetime
    end: datetime
    lanes: Sequence[ScheduleLane]


def lanes_of(reads: Reads, schedule_ids: Collection[int], hours: int) -> ScheduleLanes:
    """Return the lanes of these schedules; those that do not exist or cannot be read are left out.

    Each takes a bounded statement, all on one connection.
    """
    stored = reads.autocommit(reading.by_ids, schedule_ids)
    now = stored[0].now if stored else reads.autocommit(read_clock)
    period = timedelta(hours=hours)
    start, end = now - period, now + period / AHEAD
    views = views_of(reads, stored)
    by_schedule = reads.autocommit(lanes.rows, [view.id for view in views], start)
    made: list[ScheduleLane] = []
    for view in views:
        own = by_schedule[view.id]
        within = [row for row in own if row.until >= start]
        is_cut = len(within) >= lanes.MOST_OF_PERIOD and within[0].nominal_time > start
        marks = list(_marks(within, start, period / CELLS))
        late = undecided(view.rules, view.last_tick, now)
        if late is not None and late[1] >= start:
            outcome = LaneOutcome.WAITING if view.enabled else LaneOutcome.PAUSED
            marks.append(
                Mark(
                    first=max(late[0], start),
                    last=late[1],
                    count=late[2],
                    outcome=outcome,
                    reason=None,
                    job_id=view.job_id,
                )
            )
        made.append(
            ScheduleLane(
                schedule_id=view.id,
                marks=marks,
                complete_from=within[0].nominal_time if is_cut else None,
                coming=[each for each in view.upcoming(24) if each <= end],
                durations=[
                    max((row.finished_at - row.started_at).total_seconds(), 0.0)
                    for row in own
                    if row.finished_at is not None and row.started_at is not None
                ][-lanes.LATEST :],
            )
        )
    return ScheduleLanes(start=start, now=now, end=end, lanes=made)


def outcome_of(row: LaneRow) -> LaneOutcome:
    """Return what became of the times of a row."""
    match Decision(row.decision):
        case Decision.MISSED:
            return LaneOutcome.MISSED
        case Decision.SKIPPED:
            return LaneOutcome.PAUSED if row.reason == Reason.PAUSED else LaneOutcome.SKIPPED
        case Decision.COALESCED:
            return LaneOutcome.COALESCED
        case Decision.FIRED if row.state in {JobState.FAILED, JobState.CANCELLED}:
            return LaneOutcome(row.state)
        case Decision.FIRED if row.state in {JobState.PENDING, JobState.STARTED}:
            return LaneOutcome.RUNNING
        case Decision.FIRED:
            is_late = row.decided_at - row.nominal_time > ON_TIME_WITHIN
            may_be_late = row.reason not in _NEVER_LATE
            return LaneOutcome.LATE if is_late and may_be_late else LaneOutcome.RAN


def _marks(rows: Iterable[LaneRow], start: datetime, cell: timedelta) -> Iterable[Mark]:
    """Put the rows of each cell with the same outcome together, in order."""
    together: dict[tuple[int, LaneOutcome], Mark] = {}
    for row in rows:
        outcome = outcome_of(row)
        key = (max(row.nominal_time - start, timedelta(0)) // cell, outcome)
        known = together.get(key)
        together[key] = Mark(
            first=row.nominal_time if known is None else known.first,
            last=row.until,
            count=row.times + (0 if known is None else known.count),
            outcome=outcome,
            reason=row.reason,
            job_id=row.job_id,
        )
    return together.values()
