"""Claims where some queues have limits: of each no more jobs run at a time, over all nodes, than its limit allows.

What counts is what a node holds: what has started, also while it waits there for a slot, and what was cancelled or
failed under a body that has not stopped yet.

Two nodes that counted at once would both find room. So whoever takes of such a queue holds the queue's row, and counts
in a statement of its own: its snapshot, taken after the lock, shows everything that the last holder has started.
Nobody waits for the lock: a queue that a rival holds is passed over, and the rest is taken.
"""

from collections.abc import Collection
from typing import Final, NamedTuple

from sqlalchemy import Connection, Executable, Select, Subquery, func, or_, select

from horae.domain.jobs.job import Claim
from horae.storage.engine.dialect import PerDialect, member_of
from horae.storage.jobs import claims
from horae.storage.jobs.claims import ClaimScope, asked_by, due_of, readable, start_of
from horae.storage.jobs.tables import jobs, queues


class Taken(NamedTuple):
    """What a claim has brought. `contended`: a rival was at one of the queues, so that it is worth another try soon."""

    claims: list[Claim]
    contended: bool


def _held() -> Subquery:
    counted = select(jobs.c.queue, func.count().label("running")).where(jobs.c.node_id.is_not(None))
    return counted.group_by(jobs.c.queue).subquery("held")


def _within_reach(dialect: str) -> Select[tuple[str]]:
    held = _held()
    full = queues.c.concurrency_limit <= func.coalesce(held.c.running, 0)
    closed = (
        select(queues.c.name)
        .select_from(queues.outerjoin(held, held.c.queue == queues.c.name))
        .where(or_(queues.c.paused_at.is_not(None), full))
    )
    first = due_of(dialect, closed, jobs.c.queue).where(readable(dialect)).subquery("first")
    limited = queues.c.concurrency_limit.is_not(None)
    return select(queues.c.name).where(limited, queues.c.name.in_(select(first.c.queue))).order_by(queues.c.name)


WITHIN_REACH: Final = PerDialect(_within_reach)

LOCK: Final = PerDialect(
    lambda dialect: (
        select(queues.c.name)
        .where(
            member_of(dialect, queues.c.name, "names"),
            queues.c.concurrency_limit.is_not(None),
            queues.c.paused_at.is_(None),
        )
        .order_by(queues.c.name)
        .with_for_update(skip_locked=True)
    )
)


def _claim(dialect: str) -> Executable:
    mine = member_of(dialect, queues.c.name, "locked")
    open_to_all = queues.c.paused_at.is_(None) & queues.c.concurrency_limit.is_(None)
    closed = select(queues.c.name).where(~or_(mine, open_to_all))
    columns = (jobs.c.id, jobs.c.queue, jobs.c.priority, jobs.c.run_at)
    due = due_of(dialect, closed, *columns).where(readable(dialect)).with_for_update(skip_locked=True).cte("due")
    order = (due.c.priority.desc(), due.c.run_at, due.c.id)
    place = func.row_number().over(partition_by=due.c.queue, order_by=order)
    ranked = select(due.c.id, due.c.queue, place.label("place")).subquery("ranked")
    held = _held()
    left = queues.c.concurrency_limit - func.coalesce(held.c.running, 0)
    rows = ranked.outerjoin(queues, queues.c.name == ranked.c.queue).outerjoin(held, held.c.queue == ranked.c.queue)
    fits = or_(queues.c.concurrency_limit.is_(None), ranked.c.place <= left)
    return start_of(dialect, select(ranked.c.id).select_from(rows).where(fits))


CLAIM: Final = PerDialect(_claim)


def within_reach(connection: Connection, scope: ClaimScope, limit: int) -> list[str]:
    """The queues with limits that have room, and of which a job is among the next `limit` ones."""
    rows = connection.execute(WITHIN_REACH.on(connection), {"limit": limit, **asked_by(scope)})
    return [str(name) for name in rows.scalars()]


def claim(connection: Connection, scope: ClaimScope, limit: int, names: Collection[str]) -> Taken:
    """Take up to `limit` due jobs in their order, of these queues no more than they have room for.

    It may take less than there is: what is left behind a job that did not fit is for the next claim.
    """
    locked = list(connection.execute(LOCK.on(connection), {"names": names}).scalars())
    if not locked:
        return Taken(claims.claim(connection, scope, limit), contended=True)
    parameters = {"node": scope.node, "limit": limit, "locked": locked, **asked_by(scope)}
    taken = claims.taken(connection, CLAIM, parameters)
    return Taken(taken, contended=not taken or len(locked) < len(names))
