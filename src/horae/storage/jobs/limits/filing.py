"""Puts jobs into lanes: new ones, and those that became pending again.

The statement that creates a job only writes down its limits, because it may be part of a caller's
transaction, which may stay open for any time and must not lock a row that other callers or nodes
need. The nodes put the job into its lane afterwards, in short transactions of their own, and create
the lane and the buckets of its limits if they are new.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    BigInteger,
    Connection,
    Integer,
    Select,
    Text,
    bindparam,
    case,
    cast,
    func,
    select,
    true,
)

from horae.domain.limits import OWNER, LimitNumbers, key_of
from horae.storage.engine import (
    INSERT,
    Json,
    PerDialect,
    TextList,
    json_rows,
    member_of,
    microseconds_now,
    microseconds_of,
)
from horae.storage.jobs.limit_tables import IS_UNFILED, buckets, lane_buckets, lanes, limits
from horae.storage.jobs.limits.lane_statements import by_rows
from horae.storage.jobs.limits.own_limits import object_in, own_limits
from horae.storage.jobs.tables import jobs, queues

MOST_FILED: Final = 1000
"""Maximum number of jobs that one transaction puts into lanes."""
NEWEST: Final = 200
"""Number of newest jobs among which those in fair queues are put into lanes early."""


class _Unfiled(NamedTuple):
    id: int
    type: str
    queue: str
    priority: int
    owner: str | None
    limits: str | None
    due: int
    fair_by: str | None
    queue_limits: str | None
    params: str | None
    now: int


Pair = tuple[str, str]
"""A bucket: the name of a limit, and a key."""


@dataclass(slots=True)
class _LaneOfJob:
    """The lane that a job belongs to, and the numbers of its limits as they were declared."""

    queue: str
    type: str
    priority: int
    owner: str | None
    weight: int
    pairs: list[Pair]
    place: int
    declared: dict[str, dict[str, Any]]

    @property
    def identity(self) -> str:
        """A hash of what the jobs of the lane have in common."""
        common = [self.queue, self.type, self.priority, self.owner, self.weight, self.pairs]
        return hashlib.sha256(json.dumps(common).encode()).hexdigest()


_needs_params = queues.c.limits.is_not(None) | (queues.c.fair_by != OWNER)
_unfiled = (
    select(
        jobs.c.id,
        jobs.c.type,
        jobs.c.queue,
        jobs.c.priority,
        jobs.c.owner,
        cast(jobs.c.limits, Text()),
        microseconds_of(jobs.c.run_at),
        queues.c.fair_by,
        cast(queues.c.limits, Text()),
        case((_needs_params, cast(jobs.c.params, Text()))),
        microseconds_now(),
    )
    .select_from(jobs.outerjoin(queues, queues.c.name == jobs.c.queue))
    .where(IS_UNFILED)
    .with_for_update(skip_locked=True, of=jobs)
)
UNFILED: Final = _unfiled.order_by(jobs.c.id).limit(bindparam("limit", type_=Integer()))
_newest = (
    select(jobs.c.id)
    .where(IS_UNFILED)
    .order_by(jobs.c.id.desc())
    .offset(NEWEST)
    .limit(1)
    .scalar_subquery()
)
NEWEST_UNFILED: Final = _unfiled.where(
    queues.c.fair_by.is_not(None),
    jobs.c.id > bindparam("after", type_=BigInteger()),
    jobs.c.id > func.coalesce(_newest, 0),
).order_by(jobs.c.id)


def _limits(dialect: str) -> Select[*tuple[Any, ...]]:
    return select(limits.c.name, cast(limits.c.declared, Text())).where(
        member_of(dialect, limits.c.name, "names", of=TextList)
    )


def _put_limits(dialect: str) -> Any:
    row = json_rows(dialect, "rows", name=Text(), declared=Text(), concurrency=Integer())
    values = (
        select(row.c.name, cast(row.c.declared, Json()), row.c.concurrency)
        .where(true())
        .order_by(row.c.name)
    )
    new = INSERT[dialect](limits).from_select(
        ["name", "declared", "concurrency"], values, include_defaults=False
    )
    in_force = case(
        (limits.c.changed.is_(None), new.excluded.concurrency), else_=limits.c.concurrency
    )
    changed = {"declared": new.excluded.declared, "concurrency": in_force}
    return new.on_conflict_do_update(index_elements=[limits.c.name], set_=changed)


def _pairs(dialect: str) -> Any:
    return json_rows(dialect, "pairs", name=Text(), key=Text())


def _find_buckets(dialect: str) -> Select[*tuple[Any, ...]]:
    pair = _pairs(dialect)
    same = (buckets.c.limit_name == pair.c.name) & (buckets.c.key == pair.c.key)
    found = select(buckets.c.id, buckets.c.limit_name, buckets.c.key).join(pair, same)
    # A clean-up must not delete a bucket that a lane is about to refer to.
    return found.with_for_update(read=True, key_share=True, of=buckets)


def _add_buckets(dialect: str) -> Any:
    pair = _pairs(dialect)
    values = select(pair.c.name, pair.c.key).where(true()).order_by(pair.c.name, pair.c.key)
    new = INSERT[dialect](buckets).from_select(
        ["limit_name", "key"], values, include_defaults=False
    )
    return new.on_conflict_do_nothing(index_elements=[buckets.c.limit_name, buckets.c.key])


_LANE: Final = ("identity", "queue", "type", "priority", "owner", "weight", "place")


def _put_lanes(dialect: str) -> Any:
    """Create lanes, or let existing ones be read when their new jobs are due; deadlock-free."""
    kinds = {
        name: lanes.c[name].type if name in ("priority", "weight", "place") else Text()
        for name in _LANE
    }
    row = json_rows(dialect, "rows", **kinds)
    values = select(*(row.c[name] for name in _LANE)).where(true()).order_by(row.c.identity)
    new = INSERT[dialect](lanes).from_select(list(_LANE), values, include_defaults=False)
    sooner = case((lanes.c.place <= new.excluded.place, lanes.c.place), else_=new.excluded.place)
    put = new.on_conflict_do_update(index_elements=[lanes.c.identity], set_={"place": sooner})
    return put.returning(lanes.c.identity, lanes.c.id)


def _put_lane_buckets(dialect: str) -> Any:
    row = json_rows(dialect, "rows", lane=BigInteger(), bucket=BigInteger())
    values = select(row.c.lane, row.c.bucket).where(true())
    new = INSERT[dialect](lane_buckets).from_select(
        ["lane_id", "bucket_id"], values, include_defaults=False
    )
    return new.on_conflict_do_nothing()


def _file(dialect: str) -> Any:
    row = json_rows(dialect, "rows", id=BigInteger(), lane=BigInteger())
    return by_rows(dialect, jobs, row).values(lane_id=row.c.lane)


LIMITS: Final = PerDialect(_limits)
PUT_LIMITS: Final = PerDialect(_put_limits)
FIND_BUCKETS: Final = PerDialect(_find_buckets)
ADD_BUCKETS: Final = PerDialect(_add_buckets)
PUT_LANES: Final = PerDialect(_put_lanes)
PUT_LANE_BUCKETS: Final = PerDialect(_put_lane_buckets)
FILE: Final = PerDialect(_file)


def file(connection: Connection, most: int = MOST_FILED) -> int:
    """Put up to `most` of the oldest unfiled jobs, and a few more, into lanes; return their number.

    If that leaves some, the newest ones in fair queues are put into lanes as well: an owner who
    starts a hundred thousand jobs must not delay the turn of the next owner until all of these are
    in their lane.
    """
    found = [_Unfiled(*row) for row in connection.execute(UNFILED, {"limit": most})]
    if not found:
        return 0
    if len(found) == most:
        found += [
            _Unfiled(*row) for row in connection.execute(NEWEST_UNFILED, {"after": found[-1].id})
        ]
    lane_of = {job.id: _lane_of(job) for job in found}
    _put_declared(
        connection,
        {name: each for lane in lane_of.values() for name, each in lane.declared.items()},
    )
    newest_first = sorted(lane_of.items(), key=lambda item: (item[1].place, item[0]), reverse=True)
    for number, (_, lane) in enumerate(newest_first):
        if (
            lane.owner is not None
        ):  # the owners begin to wait now, one after the other, whenever their jobs were due
            lane.place = max(lane.place, found[0].now - number)
    by_identity: dict[str, _LaneOfJob] = {}
    identity_of: dict[int, str] = {}
    for job_id, lane in lane_of.items():
        identity = identity_of[job_id] = lane.identity
        known = by_identity.setdefault(identity, lane)
        known.place = min(known.place, lane.place)
    bucket_ids = _buckets_of(
        connection, sorted({pair for lane in by_identity.values() for pair in lane.pairs})
    )
    rows = [{name: getattr(lane, name) for name in _LANE} for lane in by_identity.values()]
    ids = {
        row.identity: row.id
        for row in connection.execute(PUT_LANES.on(connection), {"rows": json.dumps(rows)})
    }
    under = [
        {"lane": ids[identity], "bucket": bucket_ids[pair]}
        for identity, lane in by_identity.items()
        for pair in lane.pairs
    ]
    if under:
        connection.execute(PUT_LANE_BUCKETS.on(connection), {"rows": json.dumps(under)})
    filed = [{"id": job_id, "lane": ids[identity]} for job_id, identity in identity_of.items()]
    connection.execute(FILE.on(connection), {"rows": json.dumps(filed)})
    return len(found)


def _put_declared(connection: Connection, declared: Mapping[str, Mapping[str, Any]]) -> None:
    """Store the declared numbers of limits that are new, or that newer code has changed."""
    if not declared:
        return
    rows = connection.execute(LIMITS.on(connection), {"names": sorted(declared)})
    stored = {name: json.loads(numbers or "null") for name, numbers in rows}
    new = [
        {"name": name, "declared": json.dumps(numbers), "concurrency": numbers.get("concurrency")}
        for name, numbers in sorted(declared.items())
        if stored.get(name) != numbers
    ]
    if new:
        connection.execute(PUT_LIMITS.on(connection), {"rows": json.dumps(new)})


def _buckets_of(connection: Connection, pairs: Sequence[Pair]) -> dict[Pair, int]:
    """Return the ids of these buckets; new ones are created."""
    if not pairs:
        return {}
    given = {"pairs": json.dumps([{"name": name, "key": key} for name, key in pairs])}
    for _ in range(2):
        rows = connection.execute(FIND_BUCKETS.on(connection), given)
        found: dict[Pair, int] = {(row.limit_name, row.key): row.id for row in rows}
        if len(found) == len(pairs):
            break
        connection.execute(ADD_BUCKETS.on(connection), given)
    rows = connection.execute(FIND_BUCKETS.on(connection), given)
    return {(row.limit_name, row.key): row.id for row in rows}


def _lane_of(job: _Unfiled) -> _LaneOfJob:
    """Return the lane of a job.

    A limit that cannot be read limits nothing: no bad row may stop the others.
    """
    weight, entries = own_limits(job.limits)
    params = object_in(job.params)
    for name, limit in object_in(job.queue_limits).items():
        if isinstance(limit, dict):
            key = key_of(limit.get("key"), None, params, job.owner)
            entries.append((name, key or "", limit.get("numbers")))
    readable = [
        (name, key, read)
        for name, key, numbers in entries
        if (read := _readable(numbers)) is not None
    ]
    owner = None if job.fair_by is None else _turn_taker(job, params)
    return _LaneOfJob(
        job.queue,
        job.type,
        job.priority,
        owner,
        weight,
        sorted({(name, key) for name, key, _ in readable}),
        job.due,
        {name: numbers for name, _, numbers in readable},
    )


def _turn_taker(job: _Unfiled, params: Mapping[str, Any]) -> str:
    """Return the owner or key for which the job waits in a fair queue."""
    if job.fair_by == OWNER:
        return job.owner or ""
    return key_of(f"{{{job.fair_by}}}", None, params, job.owner) or ""


def _readable(numbers: Any) -> dict[str, Any] | None:
    """Return only the numbers of a limit, or None if they cannot be read."""
    try:
        return LimitNumbers.from_json(numbers).to_json()
    except (AttributeError, TypeError, ValueError):
        return None
