"""The due jobs with limits, or of fair queues, that could start now if there were slots for them.

What limits allow is estimated from above, without locks: an open rate counts with as many starts as
it allows at once. Jobs that no node has put into a lane yet count as well, because otherwise
nothing would start the first node for them; only the limits that such a job carries itself are
known by then.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Text, and_, cast, func, select

from horae.domain.limits import LimitNumbers
from horae.storage.engine import member_of, microseconds_now, seconds_since
from horae.storage.jobs.limit_tables import (
    HOLDS_LANES,
    IS_UNFILED,
    WAITS_IN_LANE,
    buckets,
    buckets_and_limits,
    lane_buckets,
    lanes,
    limits,
)
from horae.storage.jobs.limits.filing import Pair
from horae.storage.jobs.limits.lane_statements import MAY_START, running_weights
from horae.storage.jobs.limits.own_limits import own_limits
from horae.storage.jobs.tables import is_startable, jobs

_COUNT: Final = (func.count(), seconds_since(func.min(jobs.c.run_at)))
FILED: Final = (
    select(lanes.c.queue, lanes.c.type, *_COUNT, lanes.c.weight, lanes.c.id)
    .select_from(jobs.join(lanes, lanes.c.id == jobs.c.lane_id))
    .where(WAITS_IN_LANE, is_startable(), jobs.c.lane_id.in_(MAY_START))
    .group_by(lanes.c.id, lanes.c.queue, lanes.c.type, lanes.c.weight)
)
_own: Final = cast(jobs.c.limits, Text()).label("limits")
UNFILED: Final = (
    select(jobs.c.queue, jobs.c.type, *_COUNT, _own)
    .where(IS_UNFILED, is_startable())
    .group_by(jobs.c.queue, jobs.c.type, _own)
)
_closed: Final = and_(HOLDS_LANES, buckets.c.opens_at > microseconds_now())
BUCKETS: Final = (
    select(
        lane_buckets.c.lane_id,
        buckets.c.id,
        buckets.c.limit_name,
        buckets.c.key,
        _closed.label("closed"),
        limits.c.declared,
        limits.c.changed,
    )
    .select_from(buckets_and_limits.join(lane_buckets, lane_buckets.c.bucket_id == buckets.c.id))
    .where(member_of(lane_buckets.c.lane_id, "ids"))
)
RUNNING: Final = running_weights()


@dataclass(slots=True)
class _Group:
    """Due jobs that the same limits hold back."""

    queue: str
    type: str
    count: int
    oldest: float
    weight: int
    pairs: list[Pair]


def startable(connection: Connection) -> dict[tuple[str, str], tuple[int, float]]:
    """Return by queue and type how many jobs could start, and for how long the oldest is due."""
    room: dict[Pair, int] = {}
    groups: list[_Group] = []
    filed = connection.execute(FILED).all()
    pairs = defaultdict[int, list[Pair]](list)
    if filed:
        running = {bucket_id: int(weight) for bucket_id, weight in connection.execute(RUNNING)}
        for bucket in connection.execute(BUCKETS, {"ids": [lane_id for *_, lane_id in filed]}):
            pair = bucket.limit_name, bucket.key
            pairs[bucket.lane_id].append(pair)
            held = running.get(bucket.id, 0)
            free = 0 if bucket.closed else _room(bucket.changed or bucket.declared, held)
            room[pair] = free
    for queue, kind, count, oldest, weight, lane_id in filed:
        groups.append(_Group(queue, kind, count, oldest, weight, pairs[lane_id]))
    for queue, kind, count, oldest, stored in connection.execute(UNFILED):
        weight, entries = own_limits(stored)
        own = [(name, key) for name, key, _ in entries]
        groups.append(_Group(queue, kind, count, oldest, max(1, weight), own))
        for name, key, numbers in entries:
            room.setdefault((name, key), _room(numbers, 0))
    found: dict[tuple[str, str], tuple[int, float]] = {}
    for group in sorted(groups, key=lambda group: -group.oldest):
        fitting = [room[pair] // group.weight for pair in group.pairs if pair in room]
        count = max(0, min([group.count, *fitting]))
        for pair in group.pairs:
            if pair in room:
                room[pair] -= count * group.weight
        if count:
            before, oldest = found.get((group.queue, group.type), (0, 0.0))
            found[group.queue, group.type] = before + count, max(oldest, group.oldest)
    return found


def _room(stored: Any, running: int) -> int:
    """Return the weight for which a limit has room; a limit that cannot be read limits nothing."""
    try:
        numbers = LimitNumbers.from_json(stored)
    except (AttributeError, TypeError, ValueError):
        return 2**62
    return numbers.largest_weight - (0 if numbers.is_rate else running)
