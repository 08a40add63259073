"""Claims from queues with a concurrency limit, which holds for the jobs of all nodes together.

A job counts while a node holds it: once it is started, even while it waits there for a slot, and
after it was cancelled or failed until its body has stopped.

Two nodes that count at the same time would both find room. So a node that claims from such a queue
locks the row of the queue first, and counts in a second statement, whose snapshot shows all that
the previous holder has started. It does not wait for the lock: queues that another node has locked
are left out of the claim.
"""

from collections.abc import Collection
from typing import Final, NamedTuple

from sqlalchemy import Connection, Executable, Select, Subquery, func, or_, select

from horae.domain.jobs import Claim
from horae.storage.engine import PerDialect, member_of
from horae.storage.jobs import claims
from horae.storage.jobs.claims import (
    IS_CLOSED,
    ClaimScope,
    due_jobs,
    scope_parameters,
    start_in_order,
)
from horae.storage.jobs.tables import jobs, queues


class LimitedClaims(NamedTuple):
    """The claimed jobs.

    `contended`: whether another node had locked one of the queues, so that another claim soon may
    find more.
    """

    claims: list[Claim]
    contended: bool


def _held() -> Subquery:
    counted = select(jobs.c.queue, func.count().label("running")).where(jobs.c.node_id.is_not(None))
    return counted.group_by(jobs.c.queue).subquery("held")


def _limited_queues_with_room(dialect: str) -> Select[tuple[str]]:
    held = _held()
    full = queues.c.concurrency_limit <= func.coalesce(held.c.running, 0)
    closed = (
        select(queues.c.name)
        .select_from(queues.outerjoin(held, held.c.queue == queues.c.name))
        .where(or_(IS_CLOSED, full))
    )
    first = due_jobs(dialect, closed, jobs.c.queue).subquery("first")
    limited = queues.c.concurrency_limit.is_not(None)
    return (
        select(queues.c.name)
        .where(limited, queues.c.name.in_(select(first.c.queue)))
        .order_by(queues.c.name)
    )


LIMITED_QUEUES_WITH_ROOM: Final = PerDialect(_limited_queues_with_room)

LOCK: Final = PerDialect(
    lambda dialect: (
        select(queues.c.name)
        .where(
            member_of(dialect, queues.c.name, "names"),
            queues.c.concurrency_limit.is_not(None),
            ~IS_CLOSED,
        )
        .order_by(queues.c.name)
        .with_for_update(skip_locked=True)
    )
)


def _claim(dialect: str) -> Executable:
    locked = member_of(dialect, queues.c.name, "locked")
    open_to_all = ~IS_CLOSED & queues.c.concurrency_limit.is_(None)
    closed = select(queues.c.name).where(~or_(locked, open_to_all))
    columns = (jobs.c.id, jobs.c.queue, jobs.c.priority, jobs.c.run_at)
    due = due_jobs(dialect, closed, *columns).with_for_update(skip_locked=True).cte("due")
    order = (due.c.priority.desc(), due.c.run_at, due.c.id)
    place = func.row_number().over(partition_by=due.c.queue, order_by=order)
    ranked = select(due.c.id, due.c.queue, place.label("place")).subquery("ranked")
    held = _held()
    left = queues.c.concurrency_limit - func.coalesce(held.c.running, 0)
    rows = ranked.outerjoin(queues, queues.c.name == ranked.c.queue).outerjoin(
        held, held.c.queue == ranked.c.queue
    )
    fits = or_(queues.c.concurrency_limit.is_(None), ranked.c.place <= left)
    return start_in_order(dialect, select(ranked.c.id).select_from(rows).where(fits))


CLAIM: Final = PerDialect(_claim)


def limited_queues_with_room(connection: Connection, scope: ClaimScope, limit: int) -> list[str]:
    """Return the limited queues with room that have a job among the next `limit` ones."""
    rows = connection.execute(
        LIMITED_QUEUES_WITH_ROOM.on(connection), {"limit": limit, **scope_parameters(scope)}
    )
    return [str(name) for name in rows.scalars()]


def claim(
    connection: Connection, scope: ClaimScope, limit: int, names: Collection[str]
) -> LimitedClaims:
    """Claim up to `limit` due jobs in order, and from these queues only as many as have room.

    It may claim fewer jobs than possible: those behind a job without room are left to the next
    claim.
    """
    locked = list(connection.execute(LOCK.on(connection), {"names": names}).scalars())
    if not locked:
        return LimitedClaims(claims.claim(connection, scope, limit), contended=True)
    parameters = {"node": scope.node, "limit": limit, "locked": locked, **scope_parameters(scope)}
    taken = claims.execute_claim(connection, CLAIM, parameters)
    return LimitedClaims(taken, contended=not taken or len(locked) < len(names))
