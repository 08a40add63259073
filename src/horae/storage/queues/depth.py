"""The due jobs of each queue and type, and mean durations by type: the input of autoscaling."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from sqlalchemy import Connection, and_, bindparam, func, or_, select, union, union_all

from horae.domain.jobs import JobState, WaitsFor
from horae.storage.engine import (
    readable,
    row_reader,
    seconds_ago,
    seconds_from_now,
    seconds_since,
)
from horae.storage.jobs import (
    IS_HELD,
    IS_READY,
    IS_SENT,
    IS_WAITING,
    buckets,
    has_not_expired,
    is_startable,
    jobs,
    lanes,
)
from horae.storage.jobs.limits import lane_depth
from horae.storage.operations import DURATION

DAY: Final = 86_400.0
"""The period in seconds over which durations are measured."""
SAMPLES: Final = (5_000, 100_000)
"""How many of the last ended jobs are measured: more only if a job type is not among the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DueJobs:
    """Due jobs of one type in one queue that only wait for a slot.

    `oldest`: for how many seconds one has been due; `sent`: a backend was asked to run them;
    `limit`: the limit by key that holds them back, of jobs that have waited for long.
    """

    queue: str
    type: str
    count: int
    oldest: float
    sent: bool = False
    limit: str | None = None


@dataclass(frozen=True, slots=True)
class MeanDurations:
    """Mean durations of bodies in seconds, by job type; `overall`: of all, None if unknown."""

    by_type: Mapping[str, float]
    overall: float | None


# Each part has an index; for both conditions in one SQLite would read all jobs.
_due = union_all(
    *(
        select(jobs.c.queue, jobs.c.type, jobs.c.sent_at, jobs.c.run_at).where(each, is_startable())
        for each in (IS_READY, IS_SENT)
    )
).subquery("due")
_sent = _due.c.sent_at.is_not(None)
DUE_JOBS: Final = select(
    _due.c.queue, _due.c.type, _sent, func.count(), seconds_since(func.min(_due.c.run_at))
).group_by(_due.c.queue, _due.c.type, _sent)
# The run of a late schedule was due long before there was a job.
WAITING_LONG: Final = (
    select(
        jobs.c.queue,
        jobs.c.type,
        buckets.c.limit_name.label("limit"),
        func.count().label("count"),
        seconds_since(func.min(jobs.c.run_at)).label("oldest"),
    )
    .select_from(
        jobs.outerjoin(lanes, lanes.c.id == jobs.c.lane_id).outerjoin(
            buckets, buckets.c.id == lanes.c.held_by
        )
    )
    .where(
        or_(IS_READY, IS_SENT, and_(IS_WAITING, jobs.c.waits_for == WaitsFor.LIMIT)),
        jobs.c.run_at <= seconds_ago("seconds"),
        jobs.c.created_at <= seconds_ago("seconds"),
        has_not_expired(),
    )
    .group_by(jobs.c.queue, jobs.c.type, buckets.c.limit_name)
)
_lately = jobs.c.started_at > seconds_ago("seconds")
_read: Final = row_reader(DueJobs, [jobs.c.queue, jobs.c.type])
CLAIMED: Final = union(
    select(jobs.c.queue).where(IS_HELD, _lately),
    select(jobs.c.queue).where(jobs.c.finished_at > seconds_ago("seconds"), _lately),
)
_latest = (
    select(jobs.c.type, DURATION.label("seconds"))
    .where(
        jobs.c.finished_at > seconds_from_now(-DAY),
        jobs.c.started_at.is_not(None),
        # The end of a cancelled body tells nothing.
        jobs.c.state.in_([JobState.FINISHED, JobState.FAILED]),
    )
    .order_by(jobs.c.finished_at.desc())
    .limit(bindparam("limit"))
    .subquery("latest")
)
MEANS: Final = select(_latest.c.type, func.count(), func.sum(_latest.c.seconds)).group_by(
    _latest.c.type
)


def due_jobs(connection: Connection) -> list[DueJobs]:
    """Return the due jobs that wait for a slot, and no limit by key or other job holds back."""
    found = {
        (queue, kind, bool(sent)): (count, oldest)
        for queue, kind, sent, count, oldest in connection.execute(DUE_JOBS)
    }
    for place, (count, oldest) in lane_depth.startable(connection).items():
        before, longest = found.get((*place, False), (0, 0.0))
        found[*place, False] = before + count, max(longest, oldest)
    rows = [
        {"queue": queue, "type": kind, "count": count, "oldest": oldest, "sent": sent}
        for (queue, kind, sent), (count, oldest) in found.items()
    ]
    due = readable(jobs.name, rows, _read)
    return sorted(due, key=attrgetter("queue", "type", "sent"))


def waiting_long(connection: Connection, seconds: float) -> list[DueJobs]:
    """Return the pending jobs that have been there, and due, for so long; also those that a limit
    holds back.
    """
    rows = connection.execute(WAITING_LONG, {"seconds": seconds}).mappings()
    return readable(jobs.name, rows, _read)


def claimed(connection: Connection, seconds: float) -> set[str]:
    """Return the queues of which a job was claimed in the last `seconds`."""
    return set(connection.scalars(CLAIMED, {"seconds": seconds}))


def durations(connection: Connection, types: Collection[str]) -> MeanDurations:
    """Return the mean durations of the last ended jobs; `types`: those that should be found."""
    found = MeanDurations({}, None)
    for size in SAMPLES:
        rows = connection.execute(MEANS, {"limit": size}).all()
        means = {name: max(0.0, seconds / count) for name, count, seconds in rows}
        total = sum(count for _, count, _ in rows)
        found = MeanDurations(
            means, max(0.0, sum(seconds for *_, seconds in rows) / total) if total else None
        )
        if total < size or means.keys() >= set(types):
            break
    return found
