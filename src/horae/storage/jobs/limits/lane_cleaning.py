"""Deletes lanes in which nothing waits or runs, and buckets of limits that are not needed.

A bucket is not needed if it holds nothing back and remembers nothing. Rows are locked by one
statement and deleted by the next, which sees what other transactions did before the lock.
"""

from typing import Final

from sqlalchemy import Connection, and_, delete, select

from horae.storage.engine import member_of, microseconds_now
from horae.storage.jobs.limit_tables import buckets, lane_buckets, lanes
from horae.storage.jobs.tables import IS_HELD, jobs

MOST_AT_ONCE: Final = 1000
"""Maximum number of lanes, and of buckets, that one transaction deletes."""
_of_lane = jobs.c.lane_id == lanes.c.id
_runs = select(jobs.c.id).where(_of_lane, IS_HELD).exists()
_is_idle = and_(lanes.c.place.is_(None), lanes.c.held_by.is_(None), ~_runs)
_in_lane = select(lane_buckets.c.lane_id).where(lane_buckets.c.bucket_id == buckets.c.id).exists()
_is_fresh = and_(~buckets.c.waiting, buckets.c.fresh_at <= microseconds_now(), ~_in_lane)


IDLE_LANES: Final = (
    select(lanes.c.id)
    .where(_is_idle)
    .order_by(lanes.c.id)
    .limit(MOST_AT_ONCE)
    .with_for_update(skip_locked=True)
)
FRESH_BUCKETS: Final = (
    select(buckets.c.id)
    .where(_is_fresh)
    .order_by(buckets.c.id)
    .limit(MOST_AT_ONCE)
    .with_for_update(skip_locked=True)
)
DELETE_LANES: Final = (
    delete(lanes).where(member_of(lanes.c.id, "ids"), _is_idle).returning(lanes.c.id)
)
DELETE_PAIRS: Final = delete(lane_buckets).where(member_of(lane_buckets.c.lane_id, "ids"))
DELETE_BUCKETS: Final = delete(buckets).where(member_of(buckets.c.id, "ids"), _is_fresh)


def clean(connection: Connection) -> bool:
    """Delete unneeded lanes and buckets; return whether there may be more."""
    idle = list(connection.scalars(IDLE_LANES))
    if idle:
        gone = list(connection.scalars(DELETE_LANES, {"ids": idle}))
        connection.execute(DELETE_PAIRS, {"ids": gone})
    fresh = list(connection.scalars(FRESH_BUCKETS))
    if fresh:
        connection.execute(DELETE_BUCKETS, {"ids": fresh})
    return MOST_AT_ONCE in (len(idle), len(fresh))
