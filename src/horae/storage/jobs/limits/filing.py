"""Puts jobs into lanes: new ones, and those that became pending again.

The statement that creates a job only writes down its limits, because it may be part of a caller's
transaction, which may stay open for any time and must not lock a row that other callers or nodes
need. The nodes put the job into its lane afterwards, in short transactions of their own, and create
the lane and the buckets of its limits if they are new.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    BigInteger,
    Connection,
    Integer,
    Text,
    bindparam,
    case,
    cast,
    func,
    select,
    true,
    update,
)

from horae.domain.limits import OWNER, LimitNumbers, key_of
from horae.storage.engine import (
    Json,
    has_id_of,
    insert,
    json_rows,
    member_of,
    microseconds_now,
    microseconds_of,
)
from horae.storage.jobs.limit_tables import IS_UNFILED, buckets, lane_buckets, lanes, limits
from horae.storage.jobs.limits.own_limits import object_in, own_limits
from horae.storage.jobs.tables import jobs, queues


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
    .offset(200)
    .limit(1)
    .scalar_subquery()
)
NEWEST_UNFILED: Final = _unfiled.where(
    queues.c.fair_by.is_not(None),
    jobs.c.id > bindparam("after", type_=BigInteger()),
    jobs.c.id > func.coalesce(_newest, 0),
).order_by(jobs.c.id)


LIMITS: Final = select(limits.c.name, cast(limits.c.declared, Text())).where(
    member_of(limits.c.name, "names")
)
_limit = json_rows("rows", name=Text(), declared=Text(), concurrency=Integer())
_put_limit = insert(limits).from_select(
    ["name", "declared", "concurrency"],
    select(_limit.c.name, cast(_limit.c.declared, Json()), _limit.c.concurrency)
    .where(true())
    .order_by(_limit.c.name),
    include_defaults=False,
)
PUT_LIMITS: Final = _put_limit.on_conflict_do_update(
    index_elements=[limits.c.name],
    set_={
        "declared": _put_limit.excluded.declared,
        "concurrency": case(
            (limits.c.changed.is_(None), _put_limit.excluded.concurrency),
            else_=limits.c.concurrency,
        ),
    },
)
_pair = json_rows("pairs", name=Text(), key=Text())
FIND_BUCKETS: Final = (
    select(buckets.c.id, buckets.c.limit_name, buckets.c.key)
    .join(_pair, (buckets.c.limit_name == _pair.c.name) & (buckets.c.key == _pair.c.key))
    # A clean-up must not delete a bucket that a lane is about to refer to.
    .with_for_update(read=True, key_share=True, of=buckets)
)
ADD_BUCKETS: Final = (
    insert(buckets)
    .from_select(
        ["limit_name", "key"],
        select(_pair.c.name, _pair.c.key).where(true()).order_by(_pair.c.name, _pair.c.key),
        include_defaults=False,
    )
    .on_conflict_do_nothing(index_elements=[buckets.c.limit_name, buckets.c.key])
)
_LANE: Final = ("identity", "queue", "type", "priority", "owner", "weight", "place")
_lane = json_rows(
    "rows",
    **{
        name: lanes.c[name].type if name in ("priority", "weight", "place") else Text()
        for name in _LANE
    },
)
# The rows are in one order, so that two nodes cannot deadlock.
_put_lane = insert(lanes).from_select(
    list(_LANE),
    select(*(_lane.c[name] for name in _LANE)).where(true()).order_by(_lane.c.identity),
    include_defaults=False,
)
_place = _put_lane.excluded.place
PUT_LANES: Final = _put_lane.on_conflict_do_update(
    index_elements=[lanes.c.identity],
    set_={"place": case((lanes.c.place <= _place, lanes.c.place), else_=_place)},
).returning(lanes.c.identity, lanes.c.id)
"""Create lanes, or let existing ones be read when their new jobs are due."""
_under = json_rows("rows", lane=BigInteger(), bucket=BigInteger())
PUT_LANE_BUCKETS: Final = (
    insert(lane_buckets)
    .from_select(
        ["lane_id", "bucket_id"],
        select(_under.c.lane, _under.c.bucket).where(true()),
        include_defaults=False,
    )
    .on_conflict_do_nothing()
)
_filed = json_rows("rows", id=BigInteger(), lane=BigInteger())
FILE: Final = update(jobs).where(has_id_of(jobs, _filed)).values(lane_id=_filed.c.lane)


def file(connection: Connection, most: int = 1000) -> int:
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
    declared = {name: each for lane in lane_of.values() for name, each in lane.declared.items()}
    if declared:
        _put_declared(connection, declared)
    newest_first = sorted(lane_of.items(), key=lambda item: (item[1].place, item[0]), reverse=True)
    for number, (_, lane) in enumerate(newest_first):
        # The owners begin to wait now, one after the other, whenever their jobs were due.
        if lane.owner is not None:
            lane.place = max(lane.place, found[0].now - number)
    by_identity: dict[str, _LaneOfJob] = {}
    identity_of: dict[int, str] = {}
    for job_id, lane in lane_of.items():
        identity = identity_of[job_id] = lane.identity
        known = by_identity.setdefault(identity, lane)
        known.place = min(known.place, lane.place)
    rows = [{name: getattr(lane, name) for name in _LANE} for lane in by_identity.values()]
    pairs = sorted({pair for lane in by_identity.values() for pair in lane.pairs})
    bucket_ids = _bucket_ids(connection, pairs) if pairs else {}
    ids = {
        row.identity: row.id for row in connection.execute(PUT_LANES, {"rows": json.dumps(rows)})
    }
    under = [
        {"lane": ids[identity], "bucket": bucket_ids[pair]}
        for identity, lane in by_identity.items()
        for pair in lane.pairs
    ]
    if under:
        connection.execute(PUT_LANE_BUCKETS, {"rows": json.dumps(under)})
    filed = [{"id": job_id, "lane": ids[identity]} for job_id, identity in identity_of.items()]
    connection.execute(FILE, {"rows": json.dumps(filed)})
    return len(found)


def _put_declared(connection: Connection, declared: Mapping[str, Mapping[str, Any]]) -> None:
    """Store the declared numbers of limits that are new, or that newer code has changed."""
    rows = connection.execute(LIMITS, {"names": sorted(declared)})
    stored = {name: object_in(numbers) for name, numbers in rows}
    new = [
        {"name": name, "declared": json.dumps(numbers), "concurrency": numbers.get("concurrency")}
        for name, numbers in sorted(declared.items())
        if stored.get(name) != numbers
    ]
    if new:
        connection.execute(PUT_LIMITS, {"rows": json.dumps(new)})


def _bucket_ids(connection: Connection, pairs: Sequence[Pair]) -> dict[Pair, int]:
    """Return the ids of these buckets; new ones are created."""
    given = {"pairs": json.dumps([{"name": name, "key": key} for name, key in pairs])}
    found: dict[Pair, int] = {}
    for _ in range(3):
        rows = connection.execute(FIND_BUCKETS, given)
        found = {(row.limit_name, row.key): row.id for row in rows}
        if len(found) == len(pairs):
            break
        connection.execute(ADD_BUCKETS, given)
    return found


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
    readable: dict[tuple[str, str], dict[str, Any]] = {}
    for name, key, stored in entries:
        with suppress(AttributeError, TypeError, ValueError):
            readable[name, key] = LimitNumbers.from_json(stored).to_json()
    owner = None
    if job.fair_by == OWNER:
        owner = job.owner or ""
    elif job.fair_by is not None:
        owner = key_of(f"{{{job.fair_by}}}", None, params, job.owner) or ""
    return _LaneOfJob(
        queue=job.queue,
        type=job.type,
        priority=job.priority,
        owner=owner,
        weight=weight,
        pairs=sorted(readable),
        place=job.due,
        declared={name: numbers for (name, _), numbers in readable.items()},
    )
