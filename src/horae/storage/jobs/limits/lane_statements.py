"""The SQL of claims through lanes; see `lane_claims`."""

from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    ColumnElement,
    Executable,
    Integer,
    Select,
    Table,
    Text,
    Update,
    and_,
    bindparam,
    case,
    cast,
    func,
    literal_column,
    null,
    or_,
    select,
    true,
    update,
)

from horae.domain.jobs import JobState, WaitsFor
from horae.storage.engine import (
    MOST_ATTEMPTS,
    MOST_LEASES,
    SQLITE,
    IdList,
    Instant,
    Json,
    PerDialect,
    database_now,
    json_rows,
    member_of,
    microseconds_now,
    microseconds_of,
    one_of,
)
from horae.storage.jobs.claims import CLAIMED, IS_CLOSED, due_jobs, is_readable, start
from horae.storage.jobs.limit_tables import (
    HOLDS_LANES,
    IS_FREE,
    IS_UNFILED,
    WAITS_IN_LANE,
    buckets,
    lane_buckets,
    lane_order,
    lanes,
    limits,
)
from horae.storage.jobs.tables import has_not_expired, jobs, queues

MOST_OPEN: Final = 100
"""Maximum number of buckets in one claim whose lanes are read because they allow starts again."""

# The condition fits no index: otherwise PostgreSQL would read all jobs that wait to find the few
# whose ids are known.
_STILL_WAITS: Final = and_(
    func.coalesce(jobs.c.state, "") == JobState.PENDING.value,
    func.coalesce(jobs.c.waits_for, "") == WaitsFor.LIMIT.value,
)
_CLOSED: Final = select(queues.c.name).where(IS_CLOSED)
_closed = and_(HOLDS_LANES, buckets.c.opens_at.is_not(None))
_full = and_(HOLDS_LANES, buckets.c.opens_at.is_(None))
_held = and_(jobs.c.node_id.is_not(None), jobs.c.lane_id.is_not(None))


def running_weights(*where: ColumnElement[bool]) -> Select[*tuple[Any, ...]]:
    """Select the total weight of the jobs that nodes hold, by bucket.

    It is counted from the rows, so it cannot drift.
    """
    source = jobs.join(lanes, lanes.c.id == jobs.c.lane_id).join(
        lane_buckets, lane_buckets.c.lane_id == jobs.c.lane_id
    )
    weight = func.sum(lanes.c.weight).label("weight")
    return (
        select(lane_buckets.c.bucket_id, weight)
        .select_from(source)
        .where(_held, *where)
        .group_by(lane_buckets.c.bucket_id)
    )


def _with_room() -> Select[*tuple[Any, ...]]:
    """Select concurrency buckets that still hold lanes back although a job has ended."""
    running = running_weights().subquery("running")
    source = buckets.join(limits, limits.c.name == buckets.c.limit_name)
    has_room = func.coalesce(running.c.weight, 0) < func.coalesce(limits.c.concurrency, 1)
    joined = source.outerjoin(running, running.c.bucket_id == buckets.c.id)
    return select(buckets.c.id).select_from(joined).where(_full, has_room)


AHEAD: Final = select(
    select(jobs.c.id).where(IS_UNFILED).exists(),
    _with_room().exists(),
    select(func.min(lanes.c.place)).where(IS_FREE).scalar_subquery(),
    select(func.min(buckets.c.opens_at)).where(_closed).scalar_subquery(),
    microseconds_now(),
)
"""Whether jobs wait for lanes, whether a full limit has room, and when a lane may be claimed."""


def _is_served(dialect: str, lane: Any) -> ColumnElement[bool]:
    served = or_(
        bindparam("every_queue", type_=Boolean()), member_of(dialect, lane.c.queue, "queues")
    )
    return and_(member_of(dialect, lane.c.type, "types"), served, lane.c.queue.not_in(_CLOSED))


def _free_lanes(dialect: str) -> Select[*tuple[Any, ...]]:
    due = lanes.c.place <= microseconds_now()
    chosen = (
        select(lanes.c.id)
        .where(IS_FREE, due, _is_served(dialect, lanes))
        .order_by(*lane_order(lanes))
    )
    return chosen.limit(select(bindparam("lanes", type_=Integer())).scalar_subquery())


def _opened_lanes(dialect: str) -> Select[*tuple[Any, ...]]:
    """Select the first lanes behind each bucket that allows starts again."""
    opened = (
        select(buckets.c.id)
        .where(_closed, buckets.c.opens_at <= microseconds_now())
        .order_by(buckets.c.opens_at)
    )
    either = select(opened.limit(MOST_OPEN).subquery("opened").c.id).union_all(
        select(_with_room().limit(MOST_OPEN).subquery("with_room").c.id)
    )
    bucket = either.subquery("bucket")
    lane = lanes.alias("behind")
    behind = select(lane.c.id).where(lane.c.held_by == bucket.c.id, _is_served(dialect, lane))
    first = (
        behind.order_by(*lane_order(lane))
        .limit(select(bindparam("behind", type_=Integer())).scalar_subquery())
        .correlate(bucket)
    )
    if dialect != SQLITE:
        of_bucket = first.lateral("of_bucket")
        return select(of_bucket.c.id).select_from(bucket.join(of_bucket, true()))
    found = lanes.alias(
        "found"
        # SQLite has no LATERAL; for each bucket it looks up the ids of this subquery.
    )
    return select(found.c.id).select_from(bucket.join(found, found.c.id.in_(first)))


def _lock_lanes(dialect: str) -> Executable:
    chosen = (
        select(_free_lanes(dialect).subquery("free").c.id)
        .union_all(select(_opened_lanes(dialect).subquery("opened_lanes").c.id))
        .subquery("chosen")
    )
    other = lanes.alias("other")
    same_owner = and_(
        other.c.queue == lanes.c.queue,
        other.c.priority == lanes.c.priority,
        other.c.owner == lanes.c.owner,
    )
    turn = (
        select(func.max(other.c.turn))
        .where(same_owner, lanes.c.owner.is_not(None))
        .scalar_subquery()
    )
    columns = (
        lanes.c.id,
        lanes.c.queue,
        lanes.c.priority,
        lanes.c.owner,
        lanes.c.weight,
        lanes.c.place,
    )
    return (
        select(*columns, lanes.c.held_by, func.coalesce(turn, 0).label("turn"))
        .where(one_of(dialect, lanes.c.id, select(chosen.c.id)))
        .with_for_update(skip_locked=True, of=lanes)
    )


LOCK_LANES: Final = PerDialect(_lock_lanes)
"""Lock the first lanes, with their owners' last turns; skip those that another node has locked."""


def _lanes_of(dialect: str) -> ColumnElement[bool]:
    return member_of(dialect, lane_buckets.c.lane_id, "ids", of=IdList)


BUCKETS_OF: Final = PerDialect(
    lambda dialect: select(lane_buckets.c.lane_id, lane_buckets.c.bucket_id).where(
        _lanes_of(dialect)
    )
)


def locked_buckets(dialect: str) -> Select[*tuple[Any, ...]]:
    """Lock buckets and read their states; buckets that another node has locked are skipped."""
    return (
        select(
            buckets.c.id, buckets.c.state, buckets.c.waiting, limits.c.declared, limits.c.changed
        )
        .select_from(buckets.join(limits, limits.c.name == buckets.c.limit_name))
        .where(member_of(dialect, buckets.c.id, "buckets", of=IdList))
        .order_by(buckets.c.id)
        .with_for_update(skip_locked=True, of=buckets)
    )


LOCK_BUCKETS: Final = PerDialect(locked_buckets)
LOCK_QUEUES: Final = PerDialect(
    lambda dialect: (
        select(queues.c.name, queues.c.concurrency_limit)
        .where(member_of(dialect, queues.c.name, "names"), queues.c.concurrency_limit.is_not(None))
        .order_by(queues.c.name)
        .with_for_update(skip_locked=True)
    )
)
LIMITED_QUEUES: Final = PerDialect(
    lambda dialect: select(queues.c.name).where(
        member_of(dialect, queues.c.name, "names"), queues.c.concurrency_limit.is_not(None)
    )
)
RUNNING: Final = PerDialect(
    lambda dialect: running_weights(
        member_of(dialect, lane_buckets.c.bucket_id, "buckets", of=IdList)
    )
)
RUNNING_IN_QUEUES: Final = PerDialect(
    lambda dialect: (
        select(jobs.c.queue, func.count().label("running"))
        .where(jobs.c.node_id.is_not(None), member_of(dialect, jobs.c.queue, "names"))
        .group_by(jobs.c.queue)
    )
)


def _first_jobs(dialect: str) -> Select[*tuple[Any, ...]]:
    """Lock the first due jobs of each of these lanes."""
    job = jobs.alias("job")
    ids: Any = bindparam("ids", type_=IdList())
    each: Any = func.json_each(ids) if dialect == SQLITE else func.unnest(ids)
    lane = (
        each.table_valued("value").alias("lane")
        if dialect == SQLITE
        else each.table_valued("value").render_derived("lane")
    )
    due = and_(
        job.c.lane_id == lane.c.value,
        job.c.state == literal_column("'pending'"),
        job.c.run_at <= database_now(),
        has_not_expired(job),
        job.c.lease < MOST_LEASES,
        job.c.attempt < MOST_ATTEMPTS,
    )
    most = select(bindparam("each", type_=Integer())).scalar_subquery()
    first = select(job.c.id).where(due).order_by(job.c.run_at, job.c.id).limit(most).correlate(lane)
    columns = (jobs.c.id, jobs.c.lane_id, microseconds_of(jobs.c.run_at).label("due"))
    order = (jobs.c.lane_id, jobs.c.run_at, jobs.c.id)
    if dialect == SQLITE:
        of_lanes = lane.join(jobs, jobs.c.id.in_(first))
        return select(*columns).select_from(of_lanes).where(is_readable(dialect)).order_by(*order)
    of_lane = first.lateral("of_lane")
    chosen = select(of_lane.c.id).select_from(lane.join(of_lane, true()))
    found = select(*columns).where(one_of(dialect, jobs.c.id, chosen), _STILL_WAITS)
    return found.order_by(*order).with_for_update(skip_locked=True)


FIRST_JOBS: Final = PerDialect(_first_jobs)


def _plain_places(dialect: str) -> Select[*tuple[Any, ...]]:
    first = due_jobs(dialect, _CLOSED, jobs.c.priority, jobs.c.run_at, jobs.c.id).subquery("first")
    return select(first.c.priority, microseconds_of(first.c.run_at))


PLAIN_PLACES: Final = PerDialect(_plain_places)
"""The places of the first plain jobs, by which lanes and plain jobs are put in one order."""

START: Final = PerDialect(
    lambda dialect: start(
        member_of(dialect, jobs.c.id, "ids", of=IdList),
        _STILL_WAITS,
        # This is the moment at which the rates were counted: the clock advances from one statement
        # to the next.
        started_at=bindparam("now", type_=Instant()),
    ).returning(*CLAIMED)
)


def _write_lanes(dialect: str) -> Update:
    """Write what a claim found out about lanes; a lane's place follows from its new first job."""
    row = json_rows(
        dialect,
        "rows",
        id=BigInteger(),
        held_by=BigInteger(),
        turn=BigInteger(),
        earliest=BigInteger(),
    )
    first = (
        select(jobs.c.run_at)
        .where(jobs.c.lane_id == lanes.c.id, WAITS_IN_LANE)
        .order_by(jobs.c.run_at)
        .limit(1)
    )
    due = microseconds_of(first.correlate(lanes).scalar_subquery())
    values: dict[str, Any] = {
        "held_by": case((due.is_(None), null()), else_=row.c.held_by),
        "turn": case((row.c.turn > lanes.c.turn, row.c.turn), else_=lanes.c.turn),
        "place": case((due < row.c.earliest, row.c.earliest), else_=due),
    }
    return by_rows(dialect, lanes, row).values(values)


def _write_buckets(dialect: str) -> Update:
    row = json_rows(
        dialect, "rows", id=BigInteger(), state=Text(), opens_at=BigInteger(), fresh_at=BigInteger()
    )
    waiting = select(lanes.c.id).where(lanes.c.held_by == buckets.c.id).exists()
    values: dict[str, Any] = {
        "state": cast(row.c.state, Json()),
        "opens_at": row.c.opens_at,
        "fresh_at": row.c.fresh_at,
        "waiting": waiting,
    }
    return by_rows(dialect, buckets, row).values(values)


def by_rows(dialect: str, table: Table, row: Any) -> Update:
    """Change the rows with these ids, which are always found by the primary key."""
    found = update(table).where(table.c.id == row.c.id)
    if dialect == SQLITE:
        return found  # SQLite would search a list of ids for each row instead
    return found.where(one_of(dialect, table.c.id, select(row.c.id).correlate(None)))


WRITE_LANES: Final = PerDialect(_write_lanes)
WRITE_BUCKETS: Final = PerDialect(_write_buckets)
