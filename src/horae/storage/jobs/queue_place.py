"""How many jobs the nodes claim before a pending one, and how quickly such jobs end.

The jobs before it are counted from the two parts of the index that precede it: those of a higher
priority, and those of the same one that come first. Each part is read up to a bound, so that the
answer costs the same in front of a million jobs.
"""

from collections import Counter
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    bindparam,
    case,
    func,
    literal,
    select,
    tuple_,
    union_all,
)

from horae.domain.jobs import MOST_COUNTED, JobId
from horae.storage.engine import seconds_from_now, seconds_since
from horae.storage.jobs.claims import (
    IS_CLOSED,
    ClaimScope,
    is_served,
    may_be_claimed,
    scope_parameters,
)
from horae.storage.jobs.limit_tables import WAITS_IN_LANE
from horae.storage.jobs.tables import IS_READY, jobs, queues_to_leave_out, ready_order

PERIOD: Final = 600.0
"""Seconds over which it is measured how many jobs end."""
FEWEST_ENDED: Final = 5
"""Number of ended jobs below which they tell nothing about the next ones."""


@dataclass(frozen=True, slots=True)
class Ahead:
    """The number of jobs that are claimed before another; `is_least`: there may be more."""

    count: int
    is_least: bool = False


@dataclass(frozen=True, slots=True)
class Before:
    """The jobs that come before another in the order of claims, by queue.

    `is_least`: there may be more.
    """

    by_queue: Mapping[str, int]
    is_least: bool = False

    def in_queue(self, name: str) -> int:
        """Return how many of them are in a queue."""
        return self.by_queue.get(name, 0)

    def claimed(self, full: Container[str]) -> int:
        """Return how many of them are claimed, if these queues are full."""
        return sum(count for name, count in self.by_queue.items() if name not in full)


_own = jobs.alias("own")


def _of_own(value: ColumnElement[Any]) -> Any:
    return select(value).where(_own.c.id == bindparam("job_id")).scalar_subquery()


def _first(*where: ColumnElement[bool]) -> Select[Any]:
    """Select the first ready jobs that meet the conditions, and whether they may be claimed."""
    part = (
        select(jobs.c.queue, case((may_be_claimed(_closed), 1)).label("counts"))
        .where(IS_READY, *where)
        .order_by(*ready_order)
        .limit(bindparam("most"))
    )
    return select(part.subquery())


_comes_first = tuple_(jobs.c.run_at, jobs.c.id) < tuple_(_of_own(_own.c.run_at), _of_own(_own.c.id))
_closed = queues_to_leave_out(IS_CLOSED)
_before = union_all(
    _first(jobs.c.priority > _of_own(_own.c.priority)).add_columns(literal(1).label("part")),
    _first(
        jobs.c.priority == _of_own(_own.c.priority),
        _comes_first,
    ).add_columns(literal(0).label("part")),
).subquery("before")
BEFORE: Final = select(
    _before.c.queue, _before.c.part, func.count(), func.count(_before.c.counts)
).group_by(_before.c.queue, _before.c.part)
_ahead_in_lane = (
    select(jobs.c.id)
    .where(
        WAITS_IN_LANE,
        jobs.c.lane_id == bindparam("lane"),
        _comes_first,
    )
    .limit(bindparam("most"))
    .subquery("ahead")
)
AHEAD_IN_LANE: Final = select(func.count()).select_from(_ahead_in_lane)

_ended = (
    select(jobs.c.finished_at)
    .where(
        jobs.c.finished_at > seconds_from_now(-PERIOD),
        jobs.c.started_at.is_not(None),
        is_served(),
    )
    .order_by(jobs.c.finished_at.desc())
    .limit(bindparam("most"))
    .subquery("ended")
)
ENDED: Final = select(func.count(), seconds_since(func.min(_ended.c.finished_at)))


def jobs_before(connection: Connection, job_id: JobId, scope: ClaimScope) -> Before:
    """Return which jobs a node of this scope claims before a job that is ready."""
    parameters = {"job_id": job_id, "most": MOST_COUNTED, **scope_parameters(scope)}
    by_queue, read = Counter[str](), Counter[int]()
    for queue, part, number, counting in connection.execute(BEFORE, parameters):
        by_queue[queue] += counting
        read[part] += number
    return Before(by_queue, is_least=max(read.values(), default=0) >= MOST_COUNTED)


def jobs_ahead_in_lane(connection: Connection, job_id: JobId, lane_id: int) -> Ahead:
    """Return how many jobs of its lane come before a job."""
    parameters = {"job_id": job_id, "lane": lane_id, "most": MOST_COUNTED}
    count = connection.execute(AHEAD_IN_LANE, parameters).scalar_one()
    return Ahead(count, is_least=count >= MOST_COUNTED)


def ends_per_second(
    connection: Connection, scope: ClaimScope, queue: str | None = None
) -> float | None:
    """Return how many jobs of a scope, or of one queue, ended a second lately; None: too few."""
    if queue is not None:
        scope = replace(scope, queues=(queue,))
    parameters = {"most": MOST_COUNTED, **scope_parameters(scope)}
    count, longest = connection.execute(ENDED, parameters).one()
    if count < FEWEST_ENDED:
        return None
    return float(count) / max(1.0, longest)
