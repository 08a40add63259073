"""Jobs that a backend runs: it gets a message about each, and its workers claim the job by its id.

`sent_at` is set before the message is sent, so that no node claims the job in the meantime. A
message is only a hint: a job whose message was lost is sent again, and one whose message was
delivered twice is found to be claimed.
"""

from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    Connection,
    Executable,
    Integer,
    Select,
    Update,
    and_,
    bindparam,
    func,
    null,
    or_,
    select,
    update,
)

from horae.domain.jobs import OWN_BACKEND, Claim, JobId, NodeId, SentScope
from horae.storage.engine import (
    and_readable,
    database_now,
    member_of,
    one_of,
    seconds_ago,
    seconds_since,
)
from horae.storage.jobs.claims import CLAIMED, STARTED
from horae.storage.jobs.limit_tables import WAITS_FOR_LIMIT
from horae.storage.jobs.tables import (
    IS_HELD,
    IS_LIMITED,
    IS_READY,
    IS_SENT,
    is_startable,
    jobs,
    queues,
    queues_to_leave_out,
    ready_order,
)


class Dispatched(NamedTuple):
    """A job whose message is to be sent; `max_runtime`: its schedule's limit in seconds."""

    id: JobId
    type: str
    queue: str
    max_runtime: float | None


class SentJobs(NamedTuple):
    """Sent jobs of one type and queue that are still pending.

    `oldest`: seconds since the oldest message was sent.
    """

    type: str
    queue: str
    number: int
    oldest: float


_paused = queues_to_leave_out(queues.c.paused_at.is_not(None))
_limited = select(queues.c.name).where(IS_LIMITED)


_in_scope = or_(
    member_of(jobs.c.type, "types"),
    and_(member_of(jobs.c.queue, "queues"), ~member_of(jobs.c.type, "other_types")),
)
_due = (
    select(jobs.c.id)
    .where(IS_READY, is_startable(), jobs.c.queue.not_in(_paused), and_readable(_in_scope))
    .order_by(*ready_order)
)


def _send(chosen: Select[Any]) -> Update:
    due = chosen.limit(select(bindparam("limit", type_=Integer())).scalar_subquery())
    ids = select(due.with_for_update(skip_locked=True).cte("due").c.id)
    return (
        update(jobs)
        .where(one_of(jobs.c.id, ids))
        .values(sent_at=database_now())
        .returning(jobs.c.id, jobs.c.type, jobs.c.queue, jobs.c.max_runtime)
    )


SEND: Final = _send(_due.where(jobs.c.queue.not_in(_limited)))
SEND_OF_QUEUE: Final = _send(_due.where(jobs.c.queue == bindparam("of_queue")))
_occupied = (
    select(func.count())
    .where(jobs.c.queue == queues.c.name, or_(IS_HELD, IS_SENT))
    .correlate(queues)
    .scalar_subquery()
)
_room = queues.c.concurrency_limit - _occupied
_due_in_queue = _due.where(jobs.c.queue == queues.c.name).order_by(None).correlate(queues)
LIMITED_AND_DUE: Final = (
    select(queues.c.name, _room.label("room"))
    .where(
        IS_LIMITED,
        queues.c.paused_at.is_(None),
        _due_in_queue.exists(),
    )
    .order_by(queues.c.name)
)
LOCK_LIMITED: Final = (
    select(queues.c.name).where(queues.c.name == bindparam("queue")).with_for_update()
)
ROOM: Final = select(_room).where(queues.c.name == bindparam("queue"))


SEND_AGAIN: Final = _send(
    select(jobs.c.id)
    .where(
        IS_SENT,
        jobs.c.sent_at < seconds_ago("seconds"),
        is_startable(),
        jobs.c.queue.not_in(_paused),
        _in_scope,
    )
    .order_by(jobs.c.sent_at, jobs.c.id)
)
WITHDRAW: Final = (
    update(jobs)
    .where(IS_SENT, member_of(jobs.c.id, "ids"))
    .values(sent_at=null())
    .returning(jobs.c.id)
)
WITHDRAW_OF: Final = (
    update(jobs)
    .where(
        IS_SENT,
        jobs.c.type == bindparam("of_type"),
        jobs.c.queue == bindparam("of_queue"),
        ~select(queues.c.name)
        .where(queues.c.name == jobs.c.queue, queues.c.backend != OWN_BACKEND)
        .exists(),
    )
    .values(sent_at=null())
)
SENT: Final = (
    select(jobs.c.type, jobs.c.queue, func.count(), seconds_since(func.min(jobs.c.sent_at)))
    .where(IS_SENT)
    .group_by(jobs.c.type, jobs.c.queue)
    .order_by(jobs.c.type, jobs.c.queue)
)


_foreign = select(queues.c.name).where(queues.c.backend != OWN_BACKEND)
HELD_IN_LANES: Final = (
    select(jobs.c.type, jobs.c.queue, func.count())
    .where(WAITS_FOR_LIMIT, or_(_in_scope, jobs.c.queue.in_(_foreign)))
    .group_by(jobs.c.type, jobs.c.queue)
    .order_by(jobs.c.type, jobs.c.queue)
)
_claim = (
    update(jobs)
    .where(
        jobs.c.id == bindparam("job_id"),
        IS_SENT,
        is_startable(),
        member_of(jobs.c.type, "types"),
        jobs.c.queue.not_in(_paused),
    )
    .values({**STARTED, "sent_at": null()})
    .returning(*CLAIMED)
)
CLAIM_SENT: Final = _claim.where(jobs.c.queue.not_in(_limited))
CLAIM_LIMITED: Final = _claim
LOCK_QUEUE: Final = (
    select(queues.c.name, queues.c.concurrency_limit)
    .select_from(queues.join(jobs, jobs.c.queue == queues.c.name))
    .where(jobs.c.id == bindparam("job_id"), IS_SENT, IS_LIMITED)
    .with_for_update(of=queues)
)
RUNNING: Final = select(func.count()).where(jobs.c.queue == bindparam("queue"), IS_HELD)


def send(connection: Connection, scope: SentScope, limit: int) -> list[Dispatched]:
    """Mark up to `limit` due jobs as sent and return them; `send_limited` is for limited queues."""
    return _mark_sent(connection, SEND, scope, limit)


def limited_and_due(connection: Connection, scope: SentScope) -> dict[str, int]:
    """Return the limited queues in which due jobs wait, each with the number it has room for."""
    found = connection.execute(LIMITED_AND_DUE, scope._asdict())
    return {row.name: row.room for row in found}


def send_limited(
    connection: Connection, scope: SentScope, limit: int, *, queue: str
) -> list[Dispatched]:
    """Mark as many due jobs of a limited queue as sent as have room, and return them.

    Running jobs and those that were sent before take up room.
    """
    # Without the lock two nodes would fill the same room twice.
    connection.execute(LOCK_LIMITED, {"queue": queue})
    room = connection.scalar(ROOM, {"queue": queue}) or 0
    if room <= 0:
        return []
    return _mark_sent(connection, SEND_OF_QUEUE, scope, min(limit, room), of_queue=queue)


def send_again(
    connection: Connection, scope: SentScope, limit: int, *, seconds: float
) -> list[Dispatched]:
    """Mark jobs whose last message is older than `seconds` as sent now; return them by age."""
    return _mark_sent(connection, SEND_AGAIN, scope, limit, seconds=seconds)


def withdraw_messages(connection: Connection, job_ids: Collection[JobId]) -> int:
    """Unmark jobs as sent, for example after an error; return how many are still pending."""
    return len(connection.execute(WITHDRAW, {"ids": job_ids}).all())


def withdraw_messages_of(connection: Connection, job_type: str, queue: str) -> int:
    """Unmark the sent jobs of a type in a queue, so that nodes claim them; return their number.

    Jobs stay marked if a backend runs the queue's jobs.
    """
    return connection.execute(WITHDRAW_OF, {"of_type": job_type, "of_queue": queue}).rowcount


def sent_jobs(connection: Connection) -> list[SentJobs]:
    """Return the jobs that were sent and that no worker has claimed yet, by type and queue."""
    return [SentJobs._make(row) for row in connection.execute(SENT)]


def held_in_lanes(connection: Connection, scope: SentScope) -> list[tuple[str, str, int]]:
    """Return how many of these jobs wait under limits by key or turns, by type and queue.

    It counts jobs of this scope, and those in queues that have a backend. No message is sent about
    them, and no node claims them.
    """
    return [
        (type_, queue, number)
        for type_, queue, number in connection.execute(HELD_IN_LANES, scope._asdict())
    ]


def claim_sent(
    connection: Connection, job_id: JobId, node: NodeId, types: Sequence[str]
) -> Claim | None:
    """Claim a sent job; None if it is not to be run now, for example after a second message.

    A job in a queue with a limit is claimed by `claim_limited`.
    """
    return _claim_by(connection, CLAIM_SENT, job_id, node, types)


def claim_limited(
    connection: Connection, job_id: JobId, node: NodeId, types: Sequence[str]
) -> Claim | None:
    """Claim a job of a limited queue if there is room; otherwise unmark it, to be sent again."""
    queue = connection.execute(LOCK_QUEUE, {"job_id": job_id}).one_or_none()
    if queue is None:
        return None
    if connection.execute(RUNNING, {"queue": queue.name}).scalar_one() < queue.concurrency_limit:
        return _claim_by(connection, CLAIM_LIMITED, job_id, node, types)
    withdraw_messages(connection, [job_id])
    return None


def _claim_by(
    connection: Connection,
    statement: Executable,
    job_id: JobId,
    node: NodeId,
    types: Sequence[str],
) -> Claim | None:
    parameters = {"job_id": job_id, "node": node, "types": types}
    row = connection.execute(statement, parameters).one_or_none()
    return None if row is None else Claim._make(row)


def _mark_sent(
    connection: Connection,
    statement: Executable,
    scope: SentScope,
    limit: int,
    **more: Any,
) -> list[Dispatched]:
    parameters = {**scope._asdict(), "limit": limit, **more}
    return [Dispatched._make(row) for row in connection.execute(statement, parameters)]
