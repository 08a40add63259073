"""Claims of jobs that have limits by key, or that wait in a fair queue.

Limits hold for the jobs of all nodes together. Two nodes that decide at the same time would both
find room. So a node locks the lanes that come first, and the buckets of their limits. Further
statements, whose snapshots show all that earlier holders of these locks have committed, read what
runs and what was started. The node waits for no lock: lanes and buckets that another node has
locked are left to a later claim.

A lane that a limit holds back is marked with the bucket that does so, and is not read again before
that bucket allows another start: at a known moment, for a rate, or when fewer jobs run than
allowed, which is counted from the rows of the jobs. So nothing has to be written when a job ends,
and no crash can leave a limit closed.

A limit that is declared with `on_reached="discard"` holds no lane back: the due jobs of the lane
that no node has claimed before are returned, to be cancelled in a transaction of its own. If that
is never made, the next claim finds them again. A job that was claimed before, and is to be
repeated, waits.

Starts of a rate are counted when a job is claimed. A job that is handed back before it begins has
used up its start: a start that was returned could be made a second time within the same window.
"""

import json
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, select

from horae.domain.jobs import Claim, JobId
from horae.domain.limits import Bucket, Choice, Chooser, Lane, LimitNumbers, may_gather, state_now
from horae.domain.times import EPOCH, MICROSECOND
from horae.storage.engine import LATEST, microseconds_now, readable
from horae.storage.jobs.claims import ClaimScope, scope_parameters
from horae.storage.jobs.limit_tables import buckets, lanes
from horae.storage.jobs.limits import lane_statements as sql
from horae.storage.jobs.tables import queues

FEWEST_LANES: Final = 200
"""Minimum number of lanes that a claim reads; so many can be found held back at once."""
MOST_FORESEEN: Final = FEWEST_LANES
"""Number of free slots up to which it is foreseen what a claim would choose."""
LATEST_MOMENT: Final = (LATEST - EPOCH) // MICROSECOND
"""The latest moment of a rate: a heavier start under a slower rate would not fit its column."""
_SECOND: Final = 1_000_000
_NOW: Final = select(microseconds_now())


class LanesAhead(NamedTuple):
    """Whether jobs wait to be put into lanes, and the seconds until a lane may be claimed.

    The seconds are infinite if no lane waits. `next_in`: the seconds until further lanes become due
    or a rate allows starts again, whatever is due already.
    """

    unfiled: bool
    due_in: float
    next_in: float = math.inf


class LaneClaims(NamedTuple):
    """The claimed jobs, and for how many plain jobs there is room before the next job of a lane.

    `skipped`: lanes were due and nothing was claimed from them, because another node had locked
    them, a job is heavier than what is free, or the queue may run no more jobs: the next claim
    would find the same. `rest`: for how many seconds starts may gather until the next claim; 0 if
    there may be more to claim now. `rated`: the lanes of these jobs that are only under rates, so
    that the end of a job makes no room in them. `discarded`: jobs to cancel, by the name of the
    limit that does not let them start.
    """

    claims: list[Claim]
    plain_room: int
    skipped: bool = False
    rest: float = 0.0
    rated: frozenset[int] = frozenset()
    discarded: Mapping[str, Sequence[JobId]] = MappingProxyType({})


@dataclass(slots=True)
class _Locked:
    """What a claim has locked and read."""

    lanes: list[Lane] = field(default_factory=list[Lane])
    rows: dict[int, Any] = field(default_factory=dict[int, Any])
    buckets: dict[int, Bucket] = field(default_factory=dict[int, Bucket])
    waiting: set[int] = field(default_factory=set[int])
    unclaimed: set[int] = field(default_factory=set[int])
    now: int = 0
    each: int = 0
    truncated: bool = False


def ahead(connection: Connection) -> LanesAhead:
    """Return whether a claim may find something; one statement reads the ends of indexes."""
    unfiled, has_room, place, opens_at, now = connection.execute(sql.AHEAD).one()
    moments = [moment for moment in (place, opens_at) if moment is not None]
    seconds = 0.0 if has_room else (min(moments) - now) / _SECOND if moments else math.inf
    later = min((moment - now for moment in moments if moment > now), default=math.inf)
    return LanesAhead(bool(unfiled), max(0.0, seconds), later / _SECOND)


def claim(connection: Connection, scope: ClaimScope, room: int, most: int) -> LaneClaims:
    """Claim up to `most` jobs of lanes; `room`: how many jobs of both kinds the node can take."""
    found, truncated = _lock_lanes(connection, scope, most)
    locked = _read(connection, found, scope, most, sql.LOCK)
    locked.truncated = truncated
    if not locked.rows:
        return LaneClaims([], room, skipped=True)
    plain = _plain_places(connection, scope, room)
    choice = Chooser(locked.lanes, locked.buckets, locked.now).choose(
        room, plain, most=most, once=locked.truncated
    )
    claims: list[Claim] = []
    if choice.jobs:
        started_at = EPOCH + locked.now * MICROSECOND
        parameters = {"node": scope.node, "ids": choice.jobs, "now": started_at}
        order = {job_id: place for place, job_id in enumerate(choice.jobs)}
        started = map(Claim._make, connection.execute(sql.START, parameters))
        claims = sorted(started, key=lambda claim: order[claim.id])
    discarded = _take_discarded(locked, choice)
    _write_lanes(connection, locked, choice)
    _write_buckets(connection, locked, choice)
    # Jobs that might start now were not read if they are in a lane with many jobs, or in a lane
    # that comes later.
    took_all = (
        len(choice.jobs) < most
        and len(choice.jobs) + choice.plain < room
        and not locked.truncated
        and all(taken < locked.each for taken in choice.taken.values())
    )
    rated = (
        lane.id
        for lane in locked.lanes
        if lane.id in choice.taken
        and all(locked.buckets[bucket].rate is not None for bucket in lane.buckets)
    )
    return LaneClaims(
        claims,
        _plain_room(choice, plain, room),
        skipped=not claims and not _is_new(locked, choice),
        rest=_rest(locked, choice) if took_all else 0.0,
        rated=frozenset(rated),
        discarded=discarded,
    )


def _take_discarded(locked: _Locked, choice: Choice) -> dict[str, list[JobId]]:
    """Return the jobs that limits discard; their lanes are no longer held back."""
    found: dict[str, list[JobId]] = {}
    for lane in locked.lanes:
        held_by = choice.held.get(lane.id)
        limit = None if held_by is None else locked.buckets[held_by].discards_as
        if limit is None:
            continue
        waiting = (job_id for job_id, _ in lane.jobs[choice.taken.get(lane.id, 0) :])
        unclaimed = [JobId(job_id) for job_id in takewhile(locked.unclaimed.__contains__, waiting)]
        if unclaimed:
            found.setdefault(limit, []).extend(unclaimed)
            del choice.held[lane.id]
    return found


def _is_new(locked: _Locked, choice: Choice) -> bool:
    """Return whether this claim stored something new about a full limit, for the next claim to see.

    That is which limit holds a lane back, or until when. Nothing is stored about the limit of a
    queue, which has a negative id. A lane whose first job is too heavy for the room under a
    concurrency is read, and held, each time.
    """
    return any(
        bucket_id > 0
        and (locked.rows[lane_id].held_by != bucket_id or choice.closed[bucket_id] is not None)
        for lane_id, bucket_id in choice.held.items()
    )


def _rest(locked: _Locked, choice: Choice) -> float:
    """Return the seconds for which starts may gather; 0 if no limit is full or an end opens one."""
    gathering: list[int] = []
    for bucket_id, wait in choice.closed.items():
        bucket = locked.buckets[bucket_id]
        if wait is None or bucket.rate is None:
            return 0.0
        gathering.append(may_gather(bucket.rate, bucket.numbers, wait))
    return min(gathering, default=0) / _SECOND


def foresee(connection: Connection, scope: ClaimScope) -> "Foreseen":
    """Return what a claim by a node of this scope would choose among.

    It locks nothing, so it can be wrong as soon as another node claims.
    """
    known, truncated = _first_lanes(connection, scope, MOST_FORESEEN, sql.LOOK)
    read = _read(connection, known, scope, MOST_FORESEEN, sql.LOOK)
    read.truncated = truncated
    return Foreseen(read, _plain_places(connection, scope, MOST_FORESEEN))


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What claims with up to `MOST_FORESEEN` free slots would choose, as things stand."""

    read: _Locked
    plain: Sequence[tuple[int, int]]

    def choose(self, room: int) -> Choice:
        """Return the choice of a node with so many free slots."""
        each = _jobs_of_each(room, len(self.read.lanes))
        lanes = [replace(lane, jobs=lane.jobs[:each]) for lane in self.read.lanes]
        buckets = {id_: replace(bucket) for id_, bucket in self.read.buckets.items()}
        return Chooser(lanes, buckets, self.read.now).choose(
            room, self.plain[:room], most=room, once=self.read.truncated
        )

    def plain_room(self, room: int) -> int:
        """Return for how many plain jobs such a node would have room."""
        return _plain_room(self.choose(room), self.plain, room)

    def started_in_queues(self, room: int) -> Mapping[str, int]:
        """Return how many jobs of lanes such a node would start in each queue."""
        started = Counter[str]()
        for lane_id, number in self.choose(room).taken.items():
            started[self.read.rows[lane_id].queue] += number
        return started

    def has_read(self, lane_id: int) -> bool:
        """Return whether a claim looks at this lane."""
        return lane_id in self.read.rows

    def slots_for(self, job_id: JobId) -> int | None:
        """Return the fewest free slots with which it starts a job of a lane; see `fewest_slots`."""
        return self.fewest_slots(lambda slots: job_id in self.choose(slots).jobs)

    def fewest_slots(self, suffice: Callable[[int], bool]) -> int | None:
        """Return the fewest free slots that suffice; None if `MOST_FORESEEN` do not."""
        if not suffice(MOST_FORESEEN):
            return None
        return 1 + bisect_left(range(1, MOST_FORESEEN), x=True, key=suffice)


def _plain_places(connection: Connection, scope: ClaimScope, room: int) -> list[tuple[int, int]]:
    """Return the places of the first plain jobs, at most `room`."""
    rows = connection.execute(sql.PLAIN_PLACES, {"limit": room, **scope_parameters(scope)})
    return [(-priority, due) for priority, due in rows]  # SQL cannot negate the least priority


def _plain_room(choice: Choice, plain: Sequence[tuple[int, int]], room: int) -> int:
    """Return for how many plain jobs a choice leaves room.

    If fewer plain jobs than there is room for were found, others may become due before the claim.
    """
    return room - len(choice.jobs) if len(plain) < room else choice.plain


def _read(
    connection: Connection,
    rows: Sequence[Any],
    scope: ClaimScope,
    most: int,
    statements: sql.Reading,
) -> _Locked:
    """Read the limits of these lanes and their first jobs, without what is locked elsewhere."""
    locked = _Locked(rows={row.id: row for row in rows})
    if not locked.rows:
        return locked
    under = _lock_buckets(connection, locked, statements)
    closed_queues = _lock_queues(connection, locked, under, statements)
    locked.rows = {
        lane_id: row
        for lane_id, row in locked.rows.items()
        if row.queue not in closed_queues
        and all(bucket in locked.buckets for bucket in under.get(lane_id, ()))
    }
    if not locked.rows:
        return locked
    ids = list(locked.rows)
    locked.each = _jobs_of_each(most, len(ids))
    heads: dict[int, list[tuple[int, int]]] = {}
    first = statements.jobs.on(connection)
    parameters = {"ids": ids, "each": locked.each, "types": scope.types}
    for row in connection.execute(first, parameters):
        heads.setdefault(row.lane_id, []).append((row.id, row.due))
        if row.lease == 0:
            locked.unclaimed.add(row.id)
    locked.lanes = [
        Lane(
            row.id,
            row.priority,
            row.place or 0,
            row.weight,
            tuple(under.get(lane_id, ())),
            tuple(heads.get(lane_id, ())),
            None if row.owner is None else (row.queue, row.priority, row.owner),
            row.turn,
        )
        for lane_id, row in locked.rows.items()
    ]
    return locked


def _jobs_of_each(most: int, lanes: int) -> int:
    """Return how many jobs of each lane a claim of up to `most` jobs reads."""
    return most if lanes <= 1 else min(most, max(1, math.ceil(4 * most / lanes)))


def _lock_lanes(connection: Connection, scope: ClaimScope, most: int) -> tuple[Sequence[Any], bool]:
    """Lock the lanes that come first; return them, and whether more may wait than were read.

    An owner whose place in this lane is out of date, because another of its lanes had a turn, is
    moved back.
    """
    known: Sequence[Any] = ()
    for _ in range(5):  # owners may be out of date again and again
        known, truncated = _first_lanes(connection, scope, most, sql.LOCK)
        late = [row for row in known if _had_turn(row)]
        if not (late and truncated):
            return known, truncated
        moved = [
            {"id": row.id, "held_by": row.held_by, "turn": 0, "earliest": row.turn} for row in late
        ]
        connection.execute(sql.WRITE_LANES, {"rows": json.dumps(moved)})
    return [row for row in known if not _had_turn(row)], True


def _first_lanes(
    connection: Connection, scope: ClaimScope, most: int, statements: sql.Reading
) -> tuple[Sequence[Any], bool]:
    """Return the lanes that come first, and whether more may wait than were read."""
    count = max(FEWEST_LANES, most)
    parameters = {"lanes": count, "behind": most, **scope_parameters(scope)}
    rows = connection.execute(statements.lanes.on(connection), parameters).all()
    return readable(lanes.name, rows, _checked_lane), len(rows) >= count


def _checked_lane(row: Any) -> Any:
    """Return the row of a lane; raises ValueError for one that SQLite let somebody spoil."""
    if not all(isinstance(each, int) for each in (row.priority, row.weight, row.turn)):
        raise ValueError("its priority, weight or turn is no number")
    return row


def _had_turn(lane: Any) -> bool:
    """Return whether the owner of a lane has had a turn through another lane since."""
    return lane.owner is not None and lane.place is not None and lane.turn > lane.place


def _lock_buckets(
    connection: Connection, locked: _Locked, statements: sql.Reading
) -> dict[int, list[int]]:
    """Lock the buckets of these lanes and read their states; return the buckets of each lane."""
    under: dict[int, list[int]] = {}
    for lane_id, bucket_id in connection.execute(sql.BUCKETS_OF, {"ids": locked.rows}):
        under.setdefault(lane_id, []).append(bucket_id)
    if not under:
        locked.now = connection.scalar(_NOW) or 0
        return {}
    ids = sorted({bucket_id for each in under.values() for bucket_id in each})
    rows = connection.execute(statements.buckets, {"buckets": ids}).all()
    # A further statement reads this, because the snapshot of the one that locks may be older than
    # the last change under the lock.
    held = connection.execute(sql.RUNNING, {"buckets": [row.id for row in rows]})
    running: dict[int, int] = {bucket_id: int(weight) for bucket_id, weight in held}
    # The locks are held: no other claim has counted starts at a later moment.
    locked.now = connection.scalar(_NOW) or 0
    read = readable(buckets.name, rows, partial(_bucket_of, running=running, now=locked.now))
    locked.buckets.update((bucket.id, bucket) for bucket in read)
    locked.waiting.update(row.id for row in rows if row.waiting and row.id in locked.buckets)
    # A limit that cannot be read limits nothing: no bad row may stop the others.
    unreadable = {row.id for row in rows} - locked.buckets.keys()
    for lane_id in under if unreadable else ():
        under[lane_id] = [id_ for id_ in under[lane_id] if id_ not in unreadable]
    for each in under.values():  # a limit that discards decides before one that lets jobs wait
        each.sort(
            key=lambda id_: id_ not in locked.buckets or locked.buckets[id_].discards_as is None
        )
    return under


def _bucket_of(row: Any, *, running: Mapping[int, int], now: int) -> Bucket:
    """Return a limit with its state; raises an error for a row that cannot be read."""
    numbers = LimitNumbers.from_json(row.declared if row.changed is None else row.changed)
    # Numbers that were changed at run time say nothing about what happens beyond them.
    discards = row.declared is not None and row.declared.get("on_reached") == "discard"
    return Bucket(
        row.id,
        numbers,
        state_now(numbers, row.state, now) if numbers.is_rate else None,
        running.get(row.id, 0),
        discards_as=row.name if discards else None,
    )


def _lock_queues(
    connection: Connection,
    locked: _Locked,
    under: dict[int, list[int]],
    statements: sql.Reading,
) -> set[str]:
    """Count the limits of whole queues as further buckets; return the queues locked elsewhere."""
    names = sorted({row.queue for row in locked.rows.values()})
    limited = set(connection.scalars(sql.LOOK.queues, {"names": names}))
    if not limited:
        return set()
    rows = connection.execute(statements.queues, {"names": sorted(limited)}).all()
    held = connection.execute(sql.RUNNING_IN_QUEUES, {"names": [row.name for row in rows]})
    running = {str(row.queue): int(row.running) for row in held}
    read = readable(
        queues.name,
        rows,
        lambda row: (row.name, LimitNumbers.from_json({"concurrency": row.concurrency_limit})),
    )
    for number, (queue, numbers) in enumerate(read, 1):
        locked.buckets[-number] = Bucket(
            -number, numbers, None, running.get(queue, 0), counts_weight=False
        )
        for lane_id, lane in locked.rows.items():
            if lane.queue == queue:
                under.setdefault(lane_id, []).append(-number)
    return limited - {row.name for row in rows}


def _write_lanes(connection: Connection, locked: _Locked, choice: Choice) -> None:
    """Write which limit holds a lane back, and the turn of its owner."""
    changed: list[dict[str, Any]] = []
    for lane in locked.lanes:
        held_by = choice.held.get(lane.id)
        bucket = None if held_by is None or held_by < 0 else held_by
        taken = choice.taken.get(lane.id, 0)
        if not taken and bucket is None and lane.jobs:
            continue  # its turn did not come, or only the limit of its queue holds it back
        turn, earliest = 0, None
        if lane.owner is not None:
            turn = lane.turn if taken else 0
            earliest = max(lane.place, choice.turns[lane.owner] if taken else 0)
        changed.append({"id": lane.id, "held_by": bucket, "turn": turn, "earliest": earliest})
    if changed:
        connection.execute(sql.WRITE_LANES, {"rows": json.dumps(changed)})


def _write_buckets(connection: Connection, locked: _Locked, choice: Choice) -> None:
    """Write the starts under rates, and until when a full limit holds its lanes back."""
    used = {bucket for lane in locked.lanes if choice.taken.get(lane.id) for bucket in lane.buckets}
    states: list[dict[str, Any]] = []
    for bucket_id in sorted(used | choice.closed.keys() | locked.waiting):
        if bucket_id < 0:
            continue  # the limit of a queue, about which nothing is stored
        numbers, rate = locked.buckets[bucket_id].numbers, locked.buckets[bucket_id].rate
        state: dict[str, Any] = {"id": bucket_id, "state": None, "opens_at": None, "fresh_at": 0}
        if rate is not None:
            opens_at = locked.now + (choice.closed.get(bucket_id) or 0)
            state["state"] = json.dumps(rate.to_json())
            state["opens_at"] = min(opens_at, LATEST_MOMENT)
            state["fresh_at"] = min(rate.fresh_at(numbers), LATEST_MOMENT)
        states.append(state)
    if states:
        connection.execute(sql.WRITE_BUCKETS, {"rows": json.dumps(states)})
