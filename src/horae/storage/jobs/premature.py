"""Pending jobs that wait for a moment which the database's clock had shown before it was set back."""

from typing import Any, Final

from sqlalchemy import Connection, Integer, and_, bindparam, case, or_, select, update

from horae.domain.jobs.job import JobState
from horae.storage.engine.dialect import database_now, seconds_between, seconds_from_now
from horae.storage.jobs.tables import IS_READY, jobs, ready_order

# As started, and as handed back by a node that stopped.
_at_once = jobs.c.run_at <= jobs.c.updated_at
# The due time of a further attempt is a delay, counted from the last change; that of a new job may be a date that its
# caller chose, which is left alone.
_retried: Any = and_(jobs.c.attempt > 0, jobs.c.updated_at > database_now())
_waiting = (
    select(jobs.c.id)
    .where(IS_READY, jobs.c.run_at > database_now(), or_(_at_once, _retried))
    .order_by(*ready_order)  # of the index; by id, SQLite would read the whole table
    .limit(bindparam("limit", type_=Integer()))
    .with_for_update(skip_locked=True)
)
MAKE_DUE: Final = (
    update(jobs)
    .where(jobs.c.id.in_(_waiting), jobs.c.state == JobState.PENDING)
    .values(
        run_at=case(
            (_at_once, database_now()), else_=seconds_from_now(seconds_between(jobs.c.run_at, jobs.c.updated_at))
        )
    )
)


def make_due(connection: Connection, limit: int) -> int:
    """Make up to `limit` jobs due that were due at once, or after a back-off, by the clock before it was set back."""
    return connection.execute(MAKE_DUE, {"limit": limit}).rowcount
