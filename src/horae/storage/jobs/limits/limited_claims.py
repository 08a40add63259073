"""Claims from queues with a concurrency limit, which holds for the jobs of all nodes together.

A job counts while a node holds it: once it is started, even while it waits there for a slot, and
after it was cancelled or failed until its body has stopped.

Two nodes that count at the same time would both find room. So a node that claims from such a queue
locks the row of the queue first, and counts in a second statement, whose snapshot shows all that
the previous holder has started. It does not wait for the lock: queues that another node has locked
are left out of the claim.
"""

from collections.abc import Collection
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, func, or_, select

from horae.domain.jobs import Claim
from horae.storage.engine import member_of
from horae.storage.jobs import claims
from horae.storage.jobs.claims import (
    IS_CLOSED,
    ClaimScope,
    due_jobs,
    scope_parameters,
    start_in_order,
)
from horae.storage.jobs.tables import IS_HELD, IS_LIMITED, jobs, queues, queues_to_leave_out


class LimitedClaims(NamedTuple):
    """The claimed jobs.

    `contended`: whether another node had locked one of the queues, so that another claim soon may
    find more.
    """

    claims: list[Claim]
    contended: bool


def running_in_queues(*where: ColumnElement[bool]) -> Select[*tuple[Any, ...]]:
    """Select the number of jobs that nodes hold, by queue."""
    return (
        select(jobs.c.queue, func.count().label("running"))
        .where(IS_HELD, *where)
        .group_by(jobs.c.queue)
    )


_held = running_in_queues().subquery("held")
_running = func.coalesce(_held.c.running, 0)
_closed_or_full = queues_to_leave_out(
    or_(IS_CLOSED, queues.c.concurrency_limit <= _running)
).select_from(queues.outerjoin(_held, _held.c.queue == queues.c.name))
_first = due_jobs(_closed_or_full, jobs.c.queue).subquery("first")
ROOM: Final = (
    select(queues.c.name, queues.c.concurrency_limit - _running)
    .select_from(queues.outerjoin(_held, _held.c.queue == queues.c.name))
    .where(IS_LIMITED)
)
LIMITED_QUEUES_WITH_ROOM: Final = (
    select(queues.c.name)
    .where(IS_LIMITED, queues.c.name.in_(select(_first.c.queue)))
    .order_by(queues.c.name)
)
LOCK: Final = (
    select(queues.c.name)
    .where(member_of(queues.c.name, "names"), IS_LIMITED, ~IS_CLOSED)
    .order_by(queues.c.name)
    .with_for_update(skip_locked=True)
)
_locked = member_of(queues.c.name, "locked")
_open_to_all = ~IS_CLOSED & ~IS_LIMITED
_closed = queues_to_leave_out(~or_(_locked, _open_to_all))
_due = (
    due_jobs(_closed, jobs.c.id, jobs.c.queue, jobs.c.priority, jobs.c.run_at)
    .with_for_update(skip_locked=True)
    .cte("due")
)
_place = func.row_number().over(
    partition_by=_due.c.queue, order_by=(_due.c.priority.desc(), _due.c.run_at, _due.c.id)
)
_ranked = select(_due.c.id, _due.c.queue, _place.label("place")).subquery("ranked")
_fitting = (
    select(_ranked.c.id)
    .select_from(
        _ranked.outerjoin(queues, queues.c.name == _ranked.c.queue).outerjoin(
            _held, _held.c.queue == _ranked.c.queue
        )
    )
    .where(
        or_(
            ~IS_LIMITED,
            _ranked.c.place <= queues.c.concurrency_limit - _running,
        )
    )
)
CLAIM: Final = start_in_order(_fitting)


def limited_queues_with_room(connection: Connection, scope: ClaimScope, limit: int) -> list[str]:
    """Return the limited queues with room that have a job among the next `limit` ones."""
    rows = connection.execute(LIMITED_QUEUES_WITH_ROOM, {"limit": limit, **scope_parameters(scope)})
    return [str(name) for name in rows.scalars()]


def claim(
    connection: Connection, scope: ClaimScope, limit: int, names: Collection[str]
) -> LimitedClaims:
    """Claim up to `limit` due jobs in order, and from these queues only as many as have room.

    It may claim fewer jobs than possible: those behind a job without room are left to the next
    claim.
    """
    locked = list(connection.scalars(LOCK, {"names": names}))
    if not locked:
        return LimitedClaims(claims.claim(connection, scope, limit), contended=True)
    parameters = {"node": scope.node, "limit": limit, "locked": locked, **scope_parameters(scope)}
    taken = claims.execute_claim(connection, CLAIM, parameters)
    return LimitedClaims(taken, contended=not taken or len(locked) < len(names))


def room_in_queues(connection: Connection) -> dict[str, int]:
    """Return how many further jobs may run in each queue with a limit, by name."""
    return {name: max(0, room) for name, room in connection.execute(ROOM)}
