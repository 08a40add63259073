"""Pending jobs whose start time lies in the future because the database's clock was set back."""

from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Update,
    and_,
    bindparam,
    case,
    func,
    or_,
    select,
    update,
)

from horae.domain.jobs import JobState
from horae.storage.engine import database_now, microseconds_now, seconds_between, seconds_from_now
from horae.storage.jobs.limit_tables import WAITS_FOR_LIMIT, WAITS_IN_LANE, buckets, lanes
from horae.storage.jobs.tables import IS_READY, jobs, ready_order

# A job is due at once if it was just started, or handed back by a node that stopped.
_at_once = jobs.c.run_at <= jobs.c.updated_at
# The due time after a failed attempt or a snooze is a delay, counted from the last change; that of
# a job that was never claimed may be a date that its caller chose, which is left alone.
_retried: Any = and_(jobs.c.lease > 0, jobs.c.updated_at > database_now())


def _make_due(held_back: ColumnElement[bool], *order: ColumnElement[Any]) -> Update:
    waiting = (
        select(jobs.c.id)
        .where(held_back, jobs.c.run_at > database_now(), or_(_at_once, _retried))
        .order_by(*order)
        .limit(bindparam("limit"))
        .with_for_update(skip_locked=True)
    )
    after_delay = seconds_from_now(seconds_between(jobs.c.run_at, jobs.c.updated_at))
    run_at = case((_at_once, database_now()), else_=after_delay)
    # A job with limits is put into its lane again, by its new time.
    values = {"run_at": run_at, "lane_id": None}
    return (
        update(jobs).where(jobs.c.id.in_(waiting), jobs.c.state == JobState.PENDING).values(values)
    )


# The order is that of the indexes; by id, SQLite would read the whole table.
MAKE_DUE: Final = _make_due(IS_READY, *ready_order)
MAKE_DUE_IN_LANES: Final = _make_due(WAITS_FOR_LIMIT, jobs.c.run_at, jobs.c.id)
# These lanes have due jobs and a place in the future, and these rates would stay closed until the
# clock had caught up.
_due = (
    select(jobs.c.id)
    .where(jobs.c.lane_id == lanes.c.id, WAITS_IN_LANE, jobs.c.run_at <= database_now())
    .exists()
)
_is_ahead = and_(lanes.c.place > microseconds_now(), _due)
CALL_UP_LANES: Final = (
    update(lanes).where(_is_ahead, lanes.c.owner.is_(None)).values(place=microseconds_now())
)
# Owners keep their order: the latest turn counts as made now, and the others as much earlier as
# they were. A turn in the future would put its owner behind all others, again and again, until the
# clock had caught up.
_latest_place = (
    select(func.max(lanes.c.place)).where(_is_ahead, lanes.c.owner.is_not(None)).scalar_subquery()
)
_latest_turn = select(func.max(lanes.c.turn)).scalar_subquery()
LATEST: Final = select(_latest_place, _latest_turn, microseconds_now())
_step = bindparam("step", type_=BigInteger())
SHIFT_TURNS: Final = (
    update(lanes)
    .where(lanes.c.owner.is_not(None), or_(lanes.c.turn > microseconds_now(), _is_ahead))
    .values(
        turn=case((lanes.c.turn > microseconds_now(), lanes.c.turn - _step), else_=lanes.c.turn),
        place=case((_is_ahead, lanes.c.place - _step), else_=lanes.c.place),
    )
)
OPEN_BUCKETS: Final = (
    update(buckets)
    .where(buckets.c.opens_at > microseconds_now(), buckets.c.waiting)
    .values(opens_at=microseconds_now())
)


def make_due(connection: Connection, limit: int) -> int:
    """Make up to `limit` jobs due that were due at once, or after a delay, by the old clock."""
    made = sum(
        connection.execute(each, {"limit": limit}).rowcount
        for each in (MAKE_DUE, MAKE_DUE_IN_LANES)
    )
    call_up(connection)
    return made


def call_up(connection: Connection) -> None:
    """End the waits in lanes and for rates that setting the clock back has prolonged."""
    for statement in (CALL_UP_LANES, OPEN_BUCKETS):
        connection.execute(statement)
    place, turn, now = connection.execute(LATEST).one()
    if (step := max(place or 0, turn or 0) - now) > 0:
        connection.execute(SHIFT_TURNS, {"step": step})
