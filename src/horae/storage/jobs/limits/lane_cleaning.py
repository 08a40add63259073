"""Deletes lanes in which nothing waits or runs, and buckets of limits that are not needed.

A bucket is not needed if it holds nothing back and remembers nothing. Rows are locked by one
statement and deleted by the next, which sees what other transactions did before the lock.
"""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Connection, Integer, Select, and_, bindparam, delete, select

from horae.storage.engine import IdList, PerDialect, member_of, microseconds_now
from horae.storage.jobs.limit_tables import buckets, lane_buckets, lanes
from horae.storage.jobs.tables import jobs

MOST_CLEANED: Final = 1000
"""Maximum number of rows that one transaction deletes."""

_most = bindparam("limit", type_=Integer())
_of_lane = jobs.c.lane_id == lanes.c.id
_runs = select(jobs.c.id).where(_of_lane, jobs.c.node_id.is_not(None)).exists()
_is_idle = and_(lanes.c.place.is_(None), lanes.c.held_by.is_(None), ~_runs)
_in_lane = select(lane_buckets.c.lane_id).where(lane_buckets.c.bucket_id == buckets.c.id).exists()
_is_fresh = and_(~buckets.c.waiting, buckets.c.fresh_at <= microseconds_now(), ~_in_lane)


def _locked(rows: Select[Any]) -> Select[Any]:
    return rows.limit(_most).with_for_update(skip_locked=True)


IDLE_LANES: Final = _locked(select(lanes.c.id).where(_is_idle).order_by(lanes.c.id))
FRESH_BUCKETS: Final = _locked(select(buckets.c.id).where(_is_fresh).order_by(buckets.c.id))


def _delete_lanes(dialect: str) -> Sequence[Any]:
    gone = delete(lanes).where(member_of(dialect, lanes.c.id, "ids", of=IdList), _is_idle)
    return gone.returning(lanes.c.id), delete(lane_buckets).where(
        member_of(dialect, lane_buckets.c.lane_id, "ids", of=IdList)
    )


DELETE_LANES: Final = PerDialect(_delete_lanes)
DELETE_BUCKETS: Final = PerDialect(
    lambda dialect: delete(buckets).where(
        member_of(dialect, buckets.c.id, "ids", of=IdList), _is_fresh
    )
)


def clean(connection: Connection, most: int = MOST_CLEANED) -> bool:
    """Delete up to `most` unneeded lanes and buckets; return whether there may be more."""
    idle = list(connection.execute(IDLE_LANES, {"limit": most}).scalars())
    if idle:
        lanes_statement, pairs_statement = DELETE_LANES.on(connection)
        gone = list(connection.execute(lanes_statement, {"ids": idle}).scalars())
        connection.execute(pairs_statement, {"ids": gone})
    fresh = list(connection.execute(FRESH_BUCKETS, {"limit": most}).scalars())
    if fresh:
        connection.execute(DELETE_BUCKETS.on(connection), {"ids": fresh})
    return len(idle) == most or len(fresh) == most
