"""The tables of limits by key and of fair queues.

A job with limits, or in a fair queue, waits in a lane, together with the jobs that are like it: a
limit that holds back the first job of a lane holds back all of them. So a claim reads the first
jobs of a few lanes, however many jobs wait. Moments are whole microseconds since 1970, because
rates are computed from them in Python.
"""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    FromClause,
    Index,
    Integer,
    String,
    Table,
    UniqueConstraint,
    and_,
    false,
    func,
    text,
)

from horae.domain.jobs import JobState, WaitsFor
from horae.storage.engine import NUMBERED_ONCE, Json
from horae.storage.jobs.tables import jobs, metadata, partial_index, row_id

limits = Table(
    "horae_limits",
    metadata,
    Column("name", String(200), primary_key=True),
    # The numbers in the code that created the latest job under this limit.
    Column("declared", Json),
    Column("changed", Json),  # the numbers that replace them, set at run time
    # The concurrency in force, for the statement that finds limits with room.
    Column("concurrency", Integer),
)

buckets = Table(
    "horae_limit_buckets",
    metadata,
    Column("id", row_id, primary_key=True, autoincrement=True),
    Column("limit_name", String(200), nullable=False),
    Column("key", String(200), nullable=False),
    Column("state", Json),  # the state of a rate: see `domain/limits/rate.py`
    Column("waiting", Boolean, nullable=False, server_default=false()),  # it holds lanes back
    # When a rate allows the next start; null if a job has to end first.
    Column("opens_at", BigInteger),
    # The time from which `state` means nothing any more.
    Column("fresh_at", BigInteger, nullable=False, server_default=text("0")),
    UniqueConstraint("limit_name", "key"),
    **NUMBERED_ONCE,
)
partial_index(
    "horae_limit_buckets_closed", buckets.c.opens_at, where=text("waiting AND opens_at IS NOT NULL")
)
partial_index("horae_limit_buckets_full", buckets.c.id, where=text("waiting AND opens_at IS NULL"))

buckets_and_limits = buckets.join(limits, limits.c.name == buckets.c.limit_name)

lanes = Table(
    "horae_lanes",
    metadata,
    Column("id", row_id, primary_key=True, autoincrement=True),
    # A hash of what the jobs of the lane have in common.
    Column("identity", String(64), nullable=False, unique=True),
    Column("queue", String(200), nullable=False),
    Column("type", String(200), nullable=False),
    Column("priority", Integer, nullable=False),
    Column("owner", String(200)),  # who takes turns in a fair queue; null in other queues
    Column("weight", Integer, nullable=False),
    # The time at which the first job is due, or the place of the owner among the others; null: no
    # job waits.
    Column("place", BigInteger),
    # When a job of the lane was last claimed.
    Column("turn", BigInteger, nullable=False, server_default=text("0")),
    Column("held_by", row_id),  # the bucket that is known to hold the lane back
    **NUMBERED_ONCE,
)
_free = text("held_by IS NULL AND place IS NOT NULL")


def lane_order(lane: FromClause) -> tuple[ColumnElement[Any], ...]:
    """Return the order in which lanes are claimed; `lane` is their table or an alias of it."""
    return lane.c.priority.desc(), lane.c.place, lane.c.id


partial_index("horae_lanes_next", *lane_order(lanes), where=_free)
partial_index("horae_lanes_due", lanes.c.place, where=_free)
partial_index(
    "horae_lanes_held", lanes.c.held_by, *lane_order(lanes), where=text("held_by IS NOT NULL")
)
_owner = text("owner IS NOT NULL")
partial_index(
    "horae_lanes_owner", lanes.c.queue, lanes.c.priority, lanes.c.owner, lanes.c.turn, where=_owner
)

lane_buckets = Table(
    "horae_lane_buckets",
    metadata,
    Column("lane_id", row_id, primary_key=True, autoincrement=False),
    Column("bucket_id", row_id, primary_key=True, autoincrement=False),
    Index("horae_lane_buckets_bucket_id", "bucket_id"),
)

# These are literals, because SQLite uses a partial index only for a condition that is written out.
WAITS_FOR_LIMIT = and_(jobs.c.state == JobState.PENDING, jobs.c.waits_for == WaitsFor.LIMIT)
"""The job is pending, and is claimed through its lane."""
IS_UNFILED = and_(
    jobs.c.waits_for == WaitsFor.LIMIT,
    jobs.c.lane_id.is_(None),
    jobs.c.finished_at.is_(None),
    func.coalesce(jobs.c.state, "") == "pending",
)
"""The job is not in a lane yet; the condition fits only the index of such jobs."""
WAITS_IN_LANE = and_(jobs.c.state == JobState.PENDING, jobs.c.lane_id.is_not(None))
"""The job is pending and was put into a lane."""
HOLDS_LANES = text("horae_limit_buckets.waiting")
"""The bucket holds lanes back; SQLite compares this text with the condition of its indexes."""
IS_FREE = and_(lanes.c.held_by.is_(None), lanes.c.place.is_not(None))
"""Jobs wait in the lane, and no limit is known to hold it back."""
