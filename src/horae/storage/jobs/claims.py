"""Claims: a pending job becomes a node's, with a new lease. What is not begun is handed back."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from typing import cast as cast_type

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Executable,
    Float,
    Integer,
    Select,
    Text,
    Update,
    and_,
    bindparam,
    case,
    cast,
    func,
    literal_column,
    or_,
    select,
    true,
    tuple_,
    type_coerce,
    update,
)
from sqlalchemy.exc import IntegrityError

from horae.domain.jobs.job import Claim, JobEvent, JobId, JobState, NodeId, state_after
from horae.storage.engine.dialect import (
    SQLITE,
    IdList,
    Json,
    PerDialect,
    database_now,
    json_rows,
    member_of,
    now_or,
    one_of,
    seconds_from_now,
    seconds_since,
)
from horae.storage.engine.row_bounds import JOB_IS_READABLE, MOST_ATTEMPTS, MOST_LEASES
from horae.storage.jobs.tables import jobs, queues, ready_order

_AS_TEXT: Final = frozenset({"params", "backoff", "meta"})  # parsed once, by whoever needs it
CLAIMED: Final = tuple(cast(jobs.c[name], Text()) if name in _AS_TEXT else jobs.c[name] for name in Claim._fields)


class NextWork(NamedTuple):
    """What is ahead of a node that finds nothing to do.

    `due_in`: seconds until the next pending job becomes due, infinite if none will; None if too many wait to tell.
    `limited`: the queues of which only so many jobs may run at a time.
    """

    due_in: float | None
    limited: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimScope:
    """What a node takes: the types it knows, the queues it serves (None: every queue)."""

    node: NodeId
    types: Sequence[str]
    queues: Sequence[str] | None = None


_STARTED: Final = {
    "state": state_after(JobEvent.CLAIM),
    "lease": jobs.c.lease + 1,
    "attempt": jobs.c.attempt + 1,
    "node_id": bindparam("node"),
    "started_at": now_or(jobs.c.updated_at),
    "updated_at": now_or(jobs.c.updated_at),
}


def readable(dialect: str) -> ColumnElement[bool]:
    """No CHECK refuses a row; on SQLite, where a row may have been written past them."""
    if dialect != SQLITE:
        return true()
    return literal_column(f"coalesce({JOB_IS_READABLE.texts[SQLITE]}, 1)", Boolean())  # as a CHECK takes null


def due_of(dialect: str, closed: Select[Any], *columns: Column[Any]) -> Select[Any]:
    """What a node may take, in order: of the types it knows, in the queues that it serves and that are not closed."""
    return (
        select(*columns)
        .where(
            jobs.c.state == JobState.PENDING,
            jobs.c.run_at <= database_now(),
            jobs.c.lease < MOST_LEASES,  # one more lease and attempt must be numbers still
            jobs.c.attempt < MOST_ATTEMPTS,
            member_of(dialect, jobs.c.type, "types"),
            or_(
                bindparam("every_queue", type_=Boolean()),
                member_of(dialect, jobs.c.queue, "queues"),
            ),
            jobs.c.queue.not_in(closed),
        )
        .order_by(*ready_order)
        # As a subquery, so that the plan does not depend on its value: PostgreSQL then takes it for a tenth of what is
        # ready and walks the index in its order. Told a number that is large against what it believes to be ready, it
        # reads and sorts all that is ready, for each claim.
        .limit(select(bindparam("limit", type_=Integer())).scalar_subquery())
    )


def start_of(dialect: str, chosen: Select[Any]) -> Executable:
    """Start the jobs with the chosen ids, and return them in order."""
    claimed = update(jobs).where(one_of(dialect, jobs.c.id, chosen)).values(_STARTED)
    if dialect == SQLITE:  # has no form around RETURNING, so `taken` brings the rows into their order
        return claimed.returning(*CLAIMED, type_coerce(jobs.c.run_at, BigInteger()).label("run_at"))
    rows = claimed.returning(*CLAIMED, jobs.c.run_at).cte("claimed")
    return select(*(rows.c[name] for name in Claim._fields)).order_by(rows.c.priority.desc(), rows.c.run_at, rows.c.id)


def _claim(dialect: str, *where: ColumnElement[bool]) -> Executable:
    # Of a queue with a limit only `limited_claims` takes, which counts what runs there.
    closed = select(queues.c.name).where(or_(queues.c.paused_at.is_not(None), queues.c.concurrency_limit.is_not(None)))
    due = due_of(dialect, closed, jobs.c.id).where(*where)
    # Rivals pass over our rows instead of queueing behind them.
    return start_of(dialect, select(due.with_for_update(skip_locked=True).cte("due").c.id))


def _beyond() -> ColumnElement[bool]:
    """Due after this job, or within the last second: a job that is started now may come to be by a later commit."""
    last, lately = jobs.alias("last"), seconds_from_now(-1.0)

    def of_last(value: ColumnElement[Any]) -> Any:
        return select(value).where(last.c.id == bindparam("beyond")).scalar_subquery()

    place = tuple_(
        of_last(func.least(last.c.run_at, lately)), of_last(case((last.c.run_at < lately, last.c.id), else_=0))
    )
    return and_(jobs.c.priority == of_last(last.c.priority), tuple_(jobs.c.run_at, jobs.c.id) > place)


CLAIM: Final = PerDialect(_claim)
CLAIM_READABLE: Final = PerDialect(lambda dialect: _claim(dialect, readable(dialect)))
CLAIM_BEYOND: Final = PerDialect(lambda dialect: _claim(dialect, _beyond()))

CLAIM_ONE: Final = (
    update(jobs)
    .where(
        jobs.c.id == bindparam("job_id"),
        jobs.c.state == JobState.PENDING,
        jobs.c.run_at <= database_now(),
    )
    .values(_STARTED)
    .returning(*CLAIMED)
)


GLANCE: Final = 1000
"""Pending jobs that are looked at for the next one to become due."""

_waiting = select(jobs.c.run_at).where(jobs.c.state == JobState.PENDING).limit(GLANCE).subquery("waiting")


def _ahead(dialect: str) -> Executable:
    together = func.json_group_array if dialect == SQLITE else func.json_agg
    limited = select(type_coerce(together(queues.c.name), Json())).where(queues.c.concurrency_limit.is_not(None))
    first = func.min(case((_waiting.c.run_at > database_now(), _waiting.c.run_at)))
    return select(func.count(), -seconds_since(first), limited.scalar_subquery()).select_from(_waiting)


AHEAD: Final = PerDialect(_ahead)


def _hand_back(dialect: str) -> Update:
    held = json_rows(dialect, "claims", id=BigInteger(), lease=BigInteger())
    return (
        update(jobs)
        .where(jobs.c.id == held.c.id, jobs.c.lease == held.c.lease, jobs.c.state == JobState.STARTED)
        .values(
            state=state_after(JobEvent.HAND_BACK),
            attempt=jobs.c.attempt - 1,
            node_id=None,
            started_at=None,
            updated_at=now_or(jobs.c.updated_at),
        )
        .returning(jobs.c.id)
    )


HAND_BACK: Final = PerDialect(_hand_back)
POSTPONE: Final = PerDialect(
    lambda dialect: (
        update(jobs)
        .where(member_of(dialect, jobs.c.id, "ids", of=IdList), jobs.c.state == JobState.PENDING)
        .values(run_at=seconds_from_now(bindparam("seconds", type_=Float())))
    )
)
ORPHANED: Final = PerDialect(
    lambda dialect: select(*CLAIMED).where(
        jobs.c.node_id == bindparam("node"), ~member_of(dialect, jobs.c.id, "known", of=IdList)
    )
)


def claim(connection: Connection, scope: ClaimScope, limit: int, beyond: JobId | None = None) -> list[Claim]:
    """Take up to `limit` due jobs, the highest priority first, then the longest due.

    `beyond`: only those of the same priority that come after this job; on PostgreSQL alone (ADR 0008).
    """
    parameters = {"node": scope.node, "limit": limit, **asked_by(scope)}
    if beyond is None:
        return _taken_at_first(connection, parameters)
    return taken(connection, CLAIM_BEYOND, {**parameters, "beyond": beyond})


def _taken_at_first(connection: Connection, parameters: Mapping[str, Any]) -> list[Claim]:
    """As if there were no rows that a CHECK refuses: to look for them costs a thirtieth of a job on SQLite."""
    try:
        return taken(connection, CLAIM, parameters)
    except IntegrityError:
        if connection.dialect.name != SQLITE:
            raise
        return taken(connection, CLAIM_READABLE, parameters)


def asked_by(scope: ClaimScope) -> dict[str, Any]:
    """The parameters of `due_of`, but the limit."""
    return {"types": scope.types, "every_queue": scope.queues is None, "queues": scope.queues or ()}


def taken(connection: Connection, statement: PerDialect[Executable], parameters: Mapping[str, Any]) -> list[Claim]:
    """The claims of a statement that ends with `start_of`."""
    rows = connection.execute(statement.on(connection), parameters).all()
    if connection.dialect.name != SQLITE:
        return [Claim._make(row) for row in rows]
    return [Claim._make(row[:-1]) for row in sorted(rows, key=lambda row: (-row.priority, row.run_at, row.id))]


def look_ahead(connection: Connection) -> NextWork:
    """When there may be something to do, and which queues have limits."""
    row = connection.execute(AHEAD.on(connection)).one()
    waiting, seconds, limited = cast_type("tuple[int, float | None, list[str] | None]", row)
    names = frozenset(limited or ())
    if waiting >= GLANCE:
        return NextWork(None, names)
    return NextWork(math.inf if seconds is None else max(0.0, seconds), names)


def claim_one(connection: Connection, job_id: JobId, node: NodeId) -> Claim | None:
    """Take this job if it is pending and due."""
    row = connection.execute(CLAIM_ONE, {"job_id": job_id, "node": node}).one_or_none()
    return None if row is None else Claim._make(row)


def hand_back(connection: Connection, claims: Sequence[Claim]) -> set[JobId]:
    """Return jobs whose bodies have not begun, the attempt does not count; those that had not ended meanwhile."""
    rows = connection.execute(HAND_BACK.on(connection), {"claims": _keys(claims)})
    return {JobId(id_) for id_ in rows.scalars()}


def postpone(connection: Connection, claims: Sequence[Claim], seconds: float) -> set[JobId]:
    """Hand back what was not begun, to be due again after some seconds."""
    returned = hand_back(connection, claims)
    connection.execute(POSTPONE.on(connection), {"ids": list(returned), "seconds": seconds})
    return returned


def orphaned(connection: Connection, node: NodeId, known: Sequence[JobId]) -> list[Claim]:
    """What the node holds and does not know of, because the answer to a claim was lost."""
    rows = connection.execute(ORPHANED.on(connection), {"node": node, "known": known})
    return [Claim._make(row) for row in rows]


def _keys(claims: Sequence[Claim]) -> str:
    return "[" + ",".join(f'{{"id":{claim.id},"lease":{claim.lease}}}' for claim in claims) + "]"
