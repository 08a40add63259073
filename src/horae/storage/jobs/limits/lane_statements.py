"""The SQL of claims through lanes; see `lane_claims`."""

from typing import Any, Final, NamedTuple

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Executable,
    FromClause,
    Integer,
    Select,
    Text,
    and_,
    bindparam,
    case,
    cast,
    func,
    null,
    select,
    true,
    update,
)

from horae.domain.jobs import JobState, WaitsFor
from horae.storage.engine import (
    IdList,
    Instant,
    Json,
    PerDialect,
    and_readable,
    has_id_of,
    json_rows,
    member_of,
    microseconds_now,
    microseconds_of,
    one_of,
)
from horae.storage.jobs.claims import CLAIMED, IS_CLOSED, due_jobs, is_served, start
from horae.storage.jobs.limit_tables import (
    HOLDS_LANES,
    IS_FREE,
    IS_UNFILED,
    WAITS_IN_LANE,
    buckets,
    buckets_and_limits,
    lane_buckets,
    lane_order,
    lanes,
    limits,
)
from horae.storage.jobs.limits.limited_claims import running_in_queues
from horae.storage.jobs.tables import (
    IS_HELD,
    IS_LIMITED,
    is_startable,
    jobs,
    queues,
    queues_to_leave_out,
)

MOST_OPEN: Final = 100
"""Maximum number of buckets in one claim whose lanes are read because they allow starts again."""

# The condition fits no index: otherwise PostgreSQL would read all jobs that wait to find the few
# whose ids are known.
_STILL_WAITS: Final = and_(
    func.coalesce(jobs.c.state, "") == JobState.PENDING.value,
    func.coalesce(jobs.c.waits_for, "") == WaitsFor.LIMIT.value,
)
_CLOSED: Final = queues_to_leave_out(IS_CLOSED)
_closed = and_(HOLDS_LANES, buckets.c.opens_at.is_not(None))
_full = and_(HOLDS_LANES, buckets.c.opens_at.is_(None))
_held = and_(IS_HELD, jobs.c.lane_id.is_not(None))


def running_weights(*where: ColumnElement[bool]) -> Select[*tuple[Any, ...]]:
    """Select the total weight of the jobs that nodes hold, by bucket.

    It is counted from the rows, so it cannot drift.
    """
    # The expression fits no index of jobs: otherwise SQLite would begin with all lanes there are,
    # and not with the few jobs that are held.
    lane_id = func.coalesce(jobs.c.lane_id, 0)
    source = jobs.join(lanes, lanes.c.id == lane_id).join(
        lane_buckets, lane_buckets.c.lane_id == lane_id
    )
    weight = func.sum(lanes.c.weight).label("weight")
    return (
        select(lane_buckets.c.bucket_id, weight)
        .select_from(source)
        .where(_held, *where)
        .group_by(lane_buckets.c.bucket_id)
    )


_running = running_weights().subquery("running")
_with_room = (
    select(buckets.c.id)
    .select_from(buckets_and_limits.outerjoin(_running, _running.c.bucket_id == buckets.c.id))
    .where(_full, func.coalesce(_running.c.weight, 0) < func.coalesce(limits.c.concurrency, 1))
)  # concurrency buckets that still hold lanes back although a job has ended
AHEAD: Final = select(
    select(jobs.c.id).where(IS_UNFILED).exists(),
    _with_room.exists(),
    select(func.min(lanes.c.place)).where(IS_FREE).scalar_subquery(),
    select(func.min(buckets.c.opens_at)).where(_closed).scalar_subquery(),
    microseconds_now(),
)
"""Whether jobs wait for lanes, whether a full limit has room, and when a lane may be claimed."""


def _is_open(lane: FromClause) -> ColumnElement[bool]:
    return and_(is_served(lane), lane.c.queue.not_in(_CLOSED))


_free = (
    select(lanes.c.id)
    .where(IS_FREE, lanes.c.place <= microseconds_now(), _is_open(lanes))
    .order_by(*lane_order(lanes))
    .limit(select(bindparam("lanes", type_=Integer())).scalar_subquery())
)
_opened = select(buckets.c.id).where(_closed, buckets.c.opens_at <= microseconds_now())
MAY_START: Final = (
    select(lanes.c.id)
    .where(IS_FREE)
    .union_all(
        *(select(lanes.c.id).where(lanes.c.held_by.in_(bucket)) for bucket in (_opened, _with_room))
    )
)
"""The lanes that no limit is known to hold back now."""
_open_bucket = (
    select(_opened.order_by(buckets.c.opens_at).limit(MOST_OPEN).subquery("opened").c.id)
    .union_all(select(_with_room.limit(MOST_OPEN).subquery("with_room").c.id))
    .subquery("bucket")
)
_behind = lanes.alias("behind")
_first_behind = (
    select(_behind.c.id)
    .where(_behind.c.held_by == _open_bucket.c.id, _is_open(_behind))
    .order_by(*lane_order(_behind))
    .limit(select(bindparam("behind", type_=Integer())).scalar_subquery())
    .correlate(_open_bucket)
)
_other = lanes.alias("other")
_turn = (
    select(func.max(_other.c.turn))
    .where(
        _other.c.queue == lanes.c.queue,
        _other.c.priority == lanes.c.priority,
        _other.c.owner == lanes.c.owner,
        lanes.c.owner.is_not(None),
    )
    .scalar_subquery()
)


def _first_lanes(opened: Select[tuple[int]]) -> "Select[*tuple[Any, ...]]":
    chosen = (
        select(_free.subquery("free").c.id)
        .union_all(select(opened.subquery("opened_lanes").c.id))
        .subquery("chosen")
    )
    return select(
        lanes.c.id,
        lanes.c.queue,
        lanes.c.priority,
        lanes.c.owner,
        lanes.c.weight,
        lanes.c.place,
        lanes.c.held_by,
        func.coalesce(_turn, 0).label("turn"),
    ).where(one_of(lanes.c.id, select(chosen.c.id)))


_of_bucket = _first_behind.lateral("of_bucket")
_found = lanes.alias("found")
_lanes = _first_lanes(select(_of_bucket.c.id).select_from(_open_bucket.join(_of_bucket, true())))
# SQLite has no LATERAL; for each bucket it looks up the ids of this subquery.
_lanes_of_file = _first_lanes(
    select(_found.c.id).select_from(_open_bucket.join(_found, _found.c.id.in_(_first_behind)))
)
BUCKETS_OF: Final = select(lane_buckets.c.lane_id, lane_buckets.c.bucket_id).where(
    member_of(lane_buckets.c.lane_id, "ids")
)
_buckets = (
    select(
        buckets.c.id,
        buckets.c.state,
        buckets.c.waiting,
        limits.c.name,
        limits.c.declared,
        limits.c.changed,
    )
    .select_from(buckets_and_limits)
    .where(member_of(buckets.c.id, "buckets"))
    .order_by(buckets.c.id)
)
_queues = (
    select(queues.c.name, queues.c.concurrency_limit)
    .where(member_of(queues.c.name, "names"), IS_LIMITED)
    .order_by(queues.c.name)
)
RUNNING: Final = running_weights(member_of(lane_buckets.c.bucket_id, "buckets"))
RUNNING_IN_QUEUES: Final = running_in_queues(member_of(jobs.c.queue, "names"))


_job = jobs.alias("job")
_ids: Final[Any] = bindparam("ids", type_=IdList())


def _first_of(lane: Any) -> Select[tuple[int]]:
    return (
        select(_job.c.id)
        .where(
            _job.c.lane_id == lane.c.value,
            _job.c.state == JobState.PENDING,
            # All jobs of a lane have one type, which the node that claims them has to know.
            member_of(_job.c.type, "types"),
            is_startable(_job),
        )
        .order_by(_job.c.run_at, _job.c.id)
        .limit(select(bindparam("each", type_=Integer())).scalar_subquery())
        .correlate(lane)
    )


_array = func.unnest(_ids).table_valued("value").render_derived("lane")
_of_lane = _first_of(_array).lateral("of_lane")
_chosen = select(_of_lane.c.id).select_from(_array.join(_of_lane, true()))
_list = func.json_each(_ids).table_valued("value").alias("lane")
_first_jobs = select(
    jobs.c.id, jobs.c.lane_id, jobs.c.lease, microseconds_of(jobs.c.run_at).label("due")
).order_by(jobs.c.lane_id, jobs.c.run_at, jobs.c.id)
_jobs = _first_jobs.where(one_of(jobs.c.id, _chosen), _STILL_WAITS)
_jobs_of_file = _first_jobs.select_from(_list.join(jobs, jobs.c.id.in_(_first_of(_list)))).where(
    and_readable(true())
)


class Reading(NamedTuple):
    """The statements that read what a claim chooses among.

    `lanes`: the first lanes, with their owners' last turns; `buckets`: their limits, with their
    states; `queues`: the limits of whole queues; `jobs`: the first due jobs of each lane.
    """

    lanes: PerDialect[Executable]
    buckets: Executable
    queues: Executable
    jobs: PerDialect[Executable]


LOCK: Final = Reading(
    lanes=PerDialect(
        _lanes.with_for_update(skip_locked=True, of=lanes),
        _lanes_of_file.with_for_update(skip_locked=True, of=lanes),
    ),
    buckets=_buckets.with_for_update(skip_locked=True, of=buckets),
    queues=_queues.with_for_update(skip_locked=True),
    jobs=PerDialect(_jobs.with_for_update(skip_locked=True), _jobs_of_file),
)
"""For a claim: what it reads is locked, and what another node has locked is skipped."""
LOOK: Final = Reading(
    PerDialect(_lanes, _lanes_of_file), _buckets, _queues, PerDialect(_jobs, _jobs_of_file)
)
"""For a look that changes nothing and locks nothing."""
_first_plain = due_jobs(_CLOSED, jobs.c.priority, jobs.c.run_at, jobs.c.id).subquery("first")
PLAIN_PLACES: Final = select(_first_plain.c.priority, microseconds_of(_first_plain.c.run_at))
"""The places of the first plain jobs, by which lanes and plain jobs are put in one order."""
START: Final = start(
    member_of(jobs.c.id, "ids"),
    _STILL_WAITS,
    # This is the moment at which the rates were counted: the clock advances from one statement to
    # the next.
    started_at=bindparam("now", type_=Instant()),
).returning(*CLAIMED)
_lane = json_rows(
    "rows", id=BigInteger(), held_by=BigInteger(), turn=BigInteger(), earliest=BigInteger()
)
_first_in_lane = (
    select(jobs.c.run_at)
    .where(jobs.c.lane_id == lanes.c.id, WAITS_IN_LANE)
    .order_by(jobs.c.run_at)
    .limit(1)
)
_due = microseconds_of(_first_in_lane.correlate(lanes).scalar_subquery())
WRITE_LANES: Final = (
    update(lanes)
    .where(has_id_of(lanes, _lane))
    .values(
        held_by=case((_due.is_(None), null()), else_=_lane.c.held_by),
        turn=case((_lane.c.turn > lanes.c.turn, _lane.c.turn), else_=lanes.c.turn),
        place=case((_due < _lane.c.earliest, _lane.c.earliest), else_=_due),
    )
)
"""Write what a claim found out about lanes; a lane's place follows from its new first job."""
_bucket = json_rows(
    "rows", id=BigInteger(), state=Text(), opens_at=BigInteger(), fresh_at=BigInteger()
)
WRITE_BUCKETS: Final = (
    update(buckets)
    .where(has_id_of(buckets, _bucket))
    .values(
        state=cast(_bucket.c.state, Json()),
        opens_at=_bucket.c.opens_at,
        fresh_at=_bucket.c.fresh_at,
        waiting=select(lanes.c.id).where(lanes.c.held_by == buckets.c.id).exists(),
    )
)
