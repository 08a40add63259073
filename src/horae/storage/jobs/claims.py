"""Claims: a node takes pending jobs, each with a new lease, and hands back those not begun.

All claims are made of two parts: `due_jobs` says which jobs may be claimed, and in which order;
`start` says what a claim changes in a job. Claims through lanes and from queues with a limit
(`storage/jobs/limits`) only choose other jobs.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, NamedTuple
from typing import cast as cast_type

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    FromClause,
    Integer,
    Select,
    Text,
    Update,
    and_,
    bindparam,
    case,
    cast,
    func,
    or_,
    select,
    true,
    tuple_,
    type_coerce,
    update,
)

from horae.domain.jobs import OWN_BACKEND, Claim, JobEvent, JobId, JobState, NodeId, state_after
from horae.storage.engine import (
    Direct,
    PerDialect,
    Returning,
    and_readable,
    constant,
    database_now,
    earlier_of,
    json_list,
    json_rows,
    member_of,
    microseconds_of,
    now_or_later,
    one_of,
    seconds_from_now,
    seconds_since,
)
from horae.storage.jobs.limit_tables import WAITS_FOR_LIMIT
from horae.storage.jobs.tables import (
    IS_LIMITED,
    IS_READY,
    is_startable,
    jobs,
    queues,
    queues_to_leave_out,
    ready_order,
)

_AS_TEXT: Final = frozenset({"params", "backoff", "meta"})  # they are parsed where they are needed
CLAIMED: Final = tuple(
    cast(jobs.c[name], Text()) if name in _AS_TEXT else jobs.c[name] for name in Claim._fields
)


class Part(Enum):
    """The part of the due jobs that a claim may take, relative to the last claimed job (ADR 0008).

    All parts except the first are for PostgreSQL only.
    """

    ALL = "all"
    HIGHER = "of a higher priority"
    AFTER = "of the same priority, and later in the order"
    LOWER = "of a lower priority"


class NextWork(NamedTuple):
    """When the next job is due, which queues have a concurrency limit, and whether lanes have jobs.

    `due_in`: seconds until the next pending job becomes due; infinite if there is none, None if too
    many are pending to find it cheaply; `due_at`: the same moment in whole microseconds, None if
    `due_in` is not a finite number.
    """

    due_in: float | None
    limited: frozenset[str]
    lanes: bool = False
    due_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimScope:
    """The jobs that a node may claim, by their types and queues (None: all queues)."""

    node: NodeId
    types: Sequence[str]
    queues: Sequence[str] | None = None


_own: Final = constant(OWN_BACKEND)
IS_CLOSED: Final = or_(
    queues.c.paused_at.is_not(None), func.coalesce(queues.c.backend, _own) != _own
)
"""No node may claim from the queue, because it is paused or a backend runs its jobs."""
STARTED: Final = {
    "state": constant(state_after(JobEvent.CLAIM)),
    "lease": jobs.c.lease + constant(1),
    "attempt": jobs.c.attempt + constant(1),
    "node_id": bindparam("node"),
    "started_at": now_or_later(jobs.c.updated_at),
    "updated_at": now_or_later(jobs.c.updated_at),
}


def is_served(row: FromClause = jobs) -> ColumnElement[bool]:
    """Return the condition that a node serves the type and the queue of a job, or of a lane.

    Its parameters are `scope_parameters`.
    """
    return and_(
        member_of(row.c.type, "types"),
        or_(bindparam("every_queue", type_=Boolean()), member_of(row.c.queue, "queues")),
    )


def may_be_claimed(closed: Select[Any]) -> ColumnElement[bool]:
    """Return the condition under which a node may claim a job that is ready.

    `closed`: names of queues to leave out.
    """
    return and_(is_startable(), is_served(), and_readable(jobs.c.queue.not_in(closed)))


def due_jobs(closed: Select[Any], *columns: Column[Any]) -> Select[Any]:
    """Select the due jobs that a node may claim, in order.

    `closed`: names of queues to leave out.
    """
    return (
        select(*columns)
        .where(IS_READY, may_be_claimed(closed))
        .order_by(*ready_order)
        # The limit is a subquery, so that the plan does not depend on its value: PostgreSQL then
        # estimates a tenth of the ready jobs and follows the index in its order. With a number that
        # is large compared with its estimate of the ready jobs, it would read and sort all of them
        # for each claim.
        .limit(select(bindparam("limit", type_=Integer())).scalar_subquery())
    )


def start(*where: ColumnElement[bool], **changes: Any) -> Update:
    """Start the jobs that meet the conditions; `changes`: columns that get other values here."""
    return update(jobs).where(*where).values({**STARTED, **changes})


def start_in_order(chosen: Select[Any]) -> Direct:
    """Start the jobs with the chosen ids, and return their claims in order."""
    claimed = start(one_of(jobs.c.id, chosen))
    rows = claimed.returning(*CLAIMED, jobs.c.run_at).cte("claimed")
    in_order: Any = select(*(rows.c[name] for name in Claim._fields)).order_by(
        rows.c.priority.desc(), rows.c.run_at, rows.c.id
    )
    # SQLite cannot order the rows of RETURNING; `execute_claim` does.
    run_at = type_coerce(jobs.c.run_at, BigInteger()).label("run_at")
    return Direct(PerDialect[Returning](in_order, claimed.returning(*CLAIMED, run_at)))


_last = jobs.alias("last")


def _of_last(value: ColumnElement[Any]) -> Any:
    """Select a value of the job `last`, the one that was claimed last."""
    return select(value).where(_last.c.id == bindparam("last")).scalar_subquery()


# A transaction that commits late may create jobs that are due before the last claimed one, so jobs
# that have been due for less than a second count as coming after it, too.
_lately: Final = seconds_from_now(-1.0)
_place_of_last: Final = tuple_(
    _of_last(func.least(_last.c.run_at, _lately)),
    _of_last(case((_last.c.run_at < _lately, _last.c.id), else_=0)),
)
_priority_of_last: Final = _of_last(_last.c.priority)
_IN_PART: Final[Mapping[Part, ColumnElement[bool]]] = {
    Part.ALL: true(),
    Part.HIGHER: jobs.c.priority > _priority_of_last,
    Part.AFTER: and_(
        jobs.c.priority == _priority_of_last, tuple_(jobs.c.run_at, jobs.c.id) > _place_of_last
    ),
    Part.LOWER: jobs.c.priority < _priority_of_last,
}


# Queues with a limit are left to `limited_claims`, which counts their running jobs.
_closed = queues_to_leave_out(or_(IS_CLOSED, IS_LIMITED))
# Other nodes skip rows that are locked here instead of waiting for them.
_due = due_jobs(_closed, jobs.c.id).with_for_update(skip_locked=True)
CLAIM: Final[Mapping[Part, Direct]] = {
    part: start_in_order(select(_due.where(condition).cte("due").c.id))
    for part, condition in _IN_PART.items()
}
EXISTS: Final = select(jobs.c.id).where(jobs.c.id == bindparam("job_id"))

CLAIM_ONE: Final = start(
    jobs.c.id == bindparam("job_id"),
    # A job that its caller runs at once takes no turn in a fair queue.
    or_(IS_READY, and_(WAITS_FOR_LIMIT, jobs.c.limits.is_(None))),
    is_startable(),
).returning(*CLAIMED)


MOST_SCANNED: Final = 1000
"""Maximum number of pending jobs that are read to find the next one to become due."""

# In the order of the index of ready jobs: in any order, PostgreSQL reads all jobs if most of them
# were ready when it collected its statistics.
_waiting = (
    select(jobs.c.run_at)
    .where(IS_READY)
    .order_by(*ready_order)
    .limit(MOST_SCANNED)
    .subquery("waiting")
)


_first = func.min(case((_waiting.c.run_at > database_now(), _waiting.c.run_at)))
_limits: Final = (
    select(json_list(queues.c.name)).where(IS_LIMITED).scalar_subquery(),
    select(jobs.c.id).where(WAITS_FOR_LIMIT).exists(),
)
NEXT_WORK: Final = select(
    *_limits, func.count(), -seconds_since(_first), microseconds_of(_first)
).select_from(_waiting)
LIMITS: Final = select(*_limits)
_held = json_rows("claims", id=BigInteger(), lease=BigInteger())
HAND_BACK: Final = (
    update(jobs)
    .where(
        jobs.c.id == _held.c.id,
        jobs.c.lease == _held.c.lease,
        jobs.c.state == JobState.STARTED,
        jobs.c.node_id == bindparam("holder"),
    )
    .values(
        state=state_after(JobEvent.HAND_BACK),
        attempt=jobs.c.attempt - 1,
        node_id=None,
        lane_id=None,  # a job with limits is put into its lane again
        started_at=None,
        # It was due, even if the clock has been set back since.
        run_at=earlier_of(jobs.c.run_at, database_now()),
        updated_at=now_or_later(jobs.c.updated_at),
    )
    .returning(jobs.c.id)
)
POSTPONE: Final = (
    update(jobs)
    .where(jobs.c.state == JobState.PENDING, member_of(jobs.c.id, "ids"))
    .values(run_at=seconds_from_now("seconds"))
)
ORPHANED: Final = select(*CLAIMED).where(
    jobs.c.node_id == bindparam("node"), ~member_of(jobs.c.id, "known")
)


def claim(
    connection: Connection,
    scope: ClaimScope,
    limit: int,
    part: Part = Part.ALL,
    last: JobId | None = None,
) -> list[Claim]:
    """Claim up to `limit` due jobs: by priority, then those that have been due longest.

    `part`: the part of the due jobs to claim from, relative to the job `last`.
    """
    parameters = {"node": scope.node, "limit": limit, **scope_parameters(scope)}
    if part is not Part.ALL:
        parameters["last"] = last
    return execute_claim(connection, CLAIM[part], parameters)


def exists(connection: Connection, job_id: JobId) -> bool:
    """Return whether there is a job with this id, which may have been deleted."""
    return connection.execute(EXISTS, {"job_id": job_id}).first() is not None


def scope_parameters(scope: ClaimScope) -> dict[str, Any]:
    """Return the parameters of `is_served`, and so those of `due_jobs` except the limit."""
    return {"types": scope.types, "every_queue": scope.queues is None, "queues": scope.queues or ()}


def execute_claim(
    connection: Connection, statement: Direct, parameters: Mapping[str, Any]
) -> list[Claim]:
    """Execute a statement made by `start_in_order`, and return its claims in order."""
    rows = statement.all(connection, parameters)
    # The form for SQLite also returns `run_at`, and its rows are in no order.
    if rows and len(rows[0]) > len(Claim._fields):
        found = [(Claim._make(row[:-1]), row[-1]) for row in rows]
        found.sort(key=lambda each: (-each[0].priority, each[1], each[0].id))
        return [claim for claim, _ in found]
    return [Claim._make(row) for row in rows]


def next_work(connection: Connection) -> NextWork:
    """Return when the next job is due, which queues have limits, and whether lanes have jobs."""
    row = connection.execute(NEXT_WORK).one()
    limited, lanes, waiting, seconds, due_at = cast_type(
        "tuple[list[str] | None, bool, int, float | None, int | None]", row
    )
    names = frozenset(limited or ())
    if waiting >= MOST_SCANNED:
        return NextWork(None, names, bool(lanes))
    return NextWork(math.inf if seconds is None else max(0.0, seconds), names, bool(lanes), due_at)


def limits(connection: Connection) -> NextWork:
    """Return what `next_work` does, except the due time, without reading any ready job."""
    limited, lanes = connection.execute(LIMITS).one()
    return NextWork(None, frozenset(limited or ()), bool(lanes))


def claim_one(connection: Connection, job_id: JobId, node: NodeId) -> Claim | None:
    """Claim this job if it is pending and due."""
    row = connection.execute(CLAIM_ONE, {"job_id": job_id, "node": node}).one_or_none()
    return None if row is None else Claim._make(row)


def hand_back(connection: Connection, node: NodeId, claims: Sequence[Claim]) -> set[JobId]:
    """Hand back unbegun jobs of a node, uncounted; return those that are pending again."""
    held = json.dumps([{"id": claim.id, "lease": claim.lease} for claim in claims])
    rows = connection.execute(HAND_BACK, {"claims": held, "holder": node})
    return {JobId(id_) for id_ in rows.scalars()}


def postpone(
    connection: Connection, node: NodeId, claims: Sequence[Claim], seconds: float
) -> set[JobId]:
    """Hand back jobs that have not begun; they become due again after some seconds."""
    returned = hand_back(connection, node, claims)
    connection.execute(POSTPONE, {"ids": list(returned), "seconds": seconds})
    return returned


def find_orphaned(connection: Connection, node: NodeId, known: Sequence[JobId]) -> list[Claim]:
    """Return the node's claims that it does not know of, because the reply to a claim was lost."""
    rows = connection.execute(ORPHANED, {"node": node, "known": known})
    return [Claim._make(row) for row in rows]
