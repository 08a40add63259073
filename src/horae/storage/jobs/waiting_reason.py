"""The one place that decides why a pending job has not started.

The reasons are asked in the order in which a claim would find them, and with its own conditions:
the place of a job is counted with `may_be_claimed`, and what limits hold back is what the claim's
own choice among lanes would hold back. A property test compares the reason with the claim.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from sqlalchemy import Boolean, Connection, bindparam, cast, false, select

from horae.domain.jobs import (
    OWN_BACKEND,
    GroupId,
    Job,
    JobId,
    JobState,
    NodeId,
    WaitingFor,
    WaitReason,
    WaitsFor,
    ahead_text,
)
from horae.domain.limits import LimitNumbers
from horae.domain.times import EPOCH, MICROSECOND
from horae.quoting import quoted
from horae.redaction import MASK
from horae.sentences import Sentence, SentenceCode, counted
from horae.storage.engine import database_now, microseconds_now, seconds_since
from horae.storage.jobs import queue_place
from horae.storage.jobs.claims import ClaimScope
from horae.storage.jobs.group_tables import dependencies, groups
from horae.storage.jobs.limit_tables import (
    buckets,
    buckets_and_limits,
    lane_buckets,
    lanes,
    limits,
)
from horae.storage.jobs.limits import running_weights
from horae.storage.jobs.limits.lane_claims import LATEST_MOMENT, MOST_FORESEEN, Foreseen, foresee
from horae.storage.jobs.limits.limited_claims import room_in_queues
from horae.storage.jobs.queue_place import Ahead, Before, jobs_ahead_in_lane, jobs_before
from horae.storage.jobs.serving_nodes import WHY_NOT, Serving, live_nodes, reason_of, serving
from horae.storage.jobs.tables import (
    EVERY_QUEUE,
    EVERYTHING_IS_PAUSED,
    IS_HELD,
    IS_WAITING,
    has_not_expired,
    jobs,
    queues,
)

MOST_NAMED: Final = 5
"""Maximum number of jobs that are named."""
_UNFILED: Final = Sentence("No node has looked at its limits yet.", SentenceCode.JOB_UNFILED)
_NEEDS: Final[Mapping[WaitReason, SentenceCode]] = {
    WaitReason.NO_NODE: SentenceCode.JOB_NEEDS_NODE,
    WaitReason.UNKNOWN_TYPE: SentenceCode.JOB_NEEDS_TYPE_KNOWN,
    WaitReason.UNSERVED_QUEUE: SentenceCode.JOB_NEEDS_QUEUE_SERVED,
}

_of_job = jobs.c.id == bindparam("job_id")
_everything = queues.alias("everything")
FACTS: Final = (
    select(
        cast(jobs.c.run_at <= database_now(), Boolean()).label("is_due"),
        cast(has_not_expired(), Boolean()).label("is_in_time"),
        jobs.c.lane_id,
        jobs.c.retry_reason,
        queues.c.paused_at,
        queues.c.opened_at,
        queues.c.note,
        EVERYTHING_IS_PAUSED.label("everything_is_paused"),
        _everything.c.paused_at.label("everything_paused_at"),
        _everything.c.opened_at.label("everything_opened_at"),
        _everything.c.note.label("note_of_everything"),
        seconds_since(jobs.c.sent_at).label("sent"),
        queues.c.backend,
        queues.c.concurrency_limit,
        queues.c.fair_by,
        queues.c.limits.label("queue_limits"),
        lanes.c.held_by,
        lanes.c.weight,
    )
    .select_from(
        jobs.outerjoin(queues, queues.c.name == jobs.c.queue)
        .outerjoin(_everything, _everything.c.name == EVERY_QUEUE)
        .outerjoin(lanes, lanes.c.id == jobs.c.lane_id)
    )
    .where(_of_job)
)
BUCKET: Final = (
    select(
        buckets.c.limit_name,
        buckets.c.key,
        buckets.c.opens_at,
        limits.c.declared,
        limits.c.changed,
        microseconds_now().label("now"),
    )
    .select_from(buckets_and_limits)
    .where(buckets.c.id == bindparam("bucket"))
)
AWAITED: Final = (
    select(dependencies.c.after_id)
    .where(dependencies.c.job_id == bindparam("job_id"), dependencies.c.ended == false())
    .order_by(dependencies.c.after_id)
    .limit(MOST_NAMED + 1)
)
RUNNING: Final = running_weights(lane_buckets.c.bucket_id == bindparam("bucket"))
GROUP: Final = select(groups.c.id, groups.c.inserting_at).where(
    groups.c.then_id == bindparam("job_id")
)
LANES_WAIT: Final = select(
    select(jobs.c.id).where(IS_WAITING, jobs.c.waits_for == WaitsFor.LIMIT).exists()
)
HOLDERS: Final = (
    select(jobs.c.id)
    .select_from(jobs.join(lane_buckets, lane_buckets.c.lane_id == jobs.c.lane_id))
    .where(IS_HELD, lane_buckets.c.bucket_id == bindparam("bucket"))
    .order_by(jobs.c.id)
    .limit(MOST_NAMED)
)
HOLDERS_OF_QUEUE: Final = (
    select(jobs.c.id)
    .where(IS_HELD, jobs.c.queue == bindparam("queue"))
    .order_by(jobs.c.id)
    .limit(MOST_NAMED)
)


def waiting_reason(connection: Connection, job: Job) -> str | None:
    """Return in one sentence why a pending job has not started; None for other jobs."""
    return read_waiting(connection, job).text if job.state is JobState.PENDING else None


def read_waiting(connection: Connection, job: Job) -> WaitingFor:
    """Return what a pending job waits for."""
    if job.waits_for is WaitsFor.JOBS:
        return _waits_for_jobs(connection, job.id)
    facts = connection.execute(FACTS, {"job_id": job.id}).one_or_none()
    if facts is None:
        return WaitingFor(
            reason=WaitReason.GONE, text=Sentence("It was deleted.", SentenceCode.JOB_DELETED)
        )
    waiting = _held_by_its_row(job, facts) or _held_by_its_queue(job, facts)
    if waiting is None:
        waiting = _among_others(connection, job, facts)
    if job.waits_for is not None or facts.paused_at or facts.everything_paused_at:
        return waiting  # the time limit of pending jobs does not run
    moments = (job.run_at, facts.opened_at, facts.everything_opened_at)
    since = max(moment for moment in moments if moment is not None)
    return replace(waiting, counts_from=since)


def _among_others(connection: Connection, job: Job, facts: Any) -> WaitingFor:
    """Return what a job waits for that may start as far as its row and its queue are concerned."""
    live = live_nodes(connection)
    kinds = serving(live, job.type, job.queue)
    waiting = None
    if facts.lane_id is not None:
        waiting = _in_its_lane(connection, job, facts, kinds)
        if waiting.reason is WaitReason.LIMIT:  # it holds whether a node runs or not
            return waiting
    missing = reason_of(live, job.type, job.queue)
    if missing is not None:
        return WaitingFor(
            reason=missing,
            text=Sentence(f"It cannot start: {WHY_NOT[missing]}.", _NEEDS[missing]),
        )
    if job.waits_for is WaitsFor.LIMIT:
        return waiting or WaitingFor(reason=WaitReason.UNFILED, text=_UNFILED)
    return _in_line(connection, job, facts, kinds)


def pace(connection: Connection, job: Job, waiting: WaitingFor) -> float | None:
    """Return how many jobs ended a second lately of those that a job waits for; None: too few."""
    kinds = serving(live_nodes(connection), job.type, job.queue)
    if not kinds or waiting.reason not in (WaitReason.SLOT, WaitReason.QUEUE_LIMIT):
        return None
    queue = job.queue if waiting.reason is WaitReason.QUEUE_LIMIT else None
    return queue_place.ends_per_second(connection, kinds[0].scope, queue)


def holders(connection: Connection, waiting: WaitingFor, queue: str) -> tuple[JobId, ...]:
    """Return the first few jobs that run under the limit that holds a job of this queue back."""
    if waiting.bucket_id is not None:
        found = connection.scalars(HOLDERS, {"bucket": waiting.bucket_id})
    elif waiting.reason is WaitReason.QUEUE_LIMIT:
        found = connection.scalars(HOLDERS_OF_QUEUE, {"queue": queue})
    else:
        return ()
    return tuple(JobId(id_) for id_ in found)


def _held_by_its_row(job: Job, facts: Any) -> WaitingFor | None:
    """Return the time that a job waits for, or that its time is over; None for another job."""
    if not facts.is_due:
        is_retry = facts.retry_reason is not None
        return WaitingFor(
            reason=WaitReason.RETRY if is_retry else WaitReason.PLANNED,
            text=Sentence(
                f"{'Its next attempt' if is_retry else 'It'} is due at"
                f" {job.run_at:%Y-%m-%d %H:%M:%S} UTC.",
                SentenceCode.JOB_NEXT_ATTEMPT if is_retry else SentenceCode.JOB_PLANNED,
                at=job.run_at,
            ),
            until=job.run_at,
        )
    if not facts.is_in_time:
        return WaitingFor(
            reason=WaitReason.EXPIRED,
            text=Sentence(
                "It has expired, and a node is about to fail it.", SentenceCode.JOB_EXPIRED
            ),
        )
    return None


def _held_by_its_queue(job: Job, facts: Any) -> WaitingFor | None:
    """Return what keeps jobs of a queue from starting, whatever their number; else None."""
    queue = f"queue {quoted(job.queue)}"
    runs_elsewhere = facts.backend not in {None, OWN_BACKEND}
    if facts.everything_is_paused:
        return WaitingFor(
            reason=WaitReason.EVERYTHING_PAUSED,
            text=Sentence("Everything is paused.", SentenceCode.EVERYTHING_PAUSED),
            since=facts.everything_paused_at,
            note=facts.note_of_everything,
        )
    if facts.paused_at is not None:
        return WaitingFor(
            reason=WaitReason.QUEUE_PAUSED,
            text=Sentence(
                f"Queue {quoted(job.queue)} is paused.",
                SentenceCode.JOB_QUEUE_PAUSED,
                queue=job.queue,
            ),
            since=facts.paused_at,
            note=facts.note,
        )
    if job.waits_for is WaitsFor.LIMIT and runs_elsewhere:
        return WaitingFor(
            reason=WaitReason.LIMITS_ELSEWHERE,
            text=Sentence(
                f"It cannot start: its limits hold only on Horae's nodes, and {queue} has the"
                f" backend {quoted(facts.backend)}.",
                SentenceCode.JOB_LIMITS_ELSEWHERE,
                queue=job.queue,
                backend=facts.backend,
            ),
        )
    if facts.sent is not None:
        return WaitingFor(
            reason=WaitReason.SENT,
            text=Sentence(
                f"A message about it was sent {facts.sent:.0f} s ago, and no worker that knows its"
                " type has claimed it yet.",
                SentenceCode.JOB_SENT,
                seconds=float(facts.sent),
            ),
        )
    if runs_elsewhere:
        return WaitingFor(
            reason=WaitReason.UNSENT,
            text=Sentence(
                f"No message about it was sent yet: {queue} has the backend"
                f" {quoted(facts.backend)}.",
                SentenceCode.JOB_UNSENT,
                queue=job.queue,
                backend=facts.backend,
            ),
        )
    return None


def _in_its_lane(connection: Connection, job: Job, facts: Any, kinds: list[Serving]) -> WaitingFor:
    """Return what a job in a lane waits for, by what a claim would choose now."""
    held_by = opens_in = None
    places: list[_Place] = []
    # Without a node, limits are looked at as by one that only knows the type of the job.
    nobody = Serving(scope=ClaimScope(node=NodeId(""), types=(job.type,)), free=0, slots=0)
    for kind in kinds or [nobody]:
        foreseen = foresee(connection, kind.scope)
        needed = foreseen.slots_for(job.id)
        if needed is not None:
            places.append(_Place(kind, Ahead(needed - 1)))
            continue
        choice = foreseen.choose(MOST_FORESEEN)
        holding = choice.held.get(facts.lane_id)
        if not kinds and facts.held_by is None:
            holding = None  # no claim has met the limit, and none that could is known
        if holding is None and not foreseen.has_read(facts.lane_id):
            holding = facts.held_by  # a claim would not look at the lane before the limit opens
        if holding is None:
            places.append(_Place(kind, Ahead(MOST_FORESEEN, is_least=True)))
        else:
            held_by, opens_in = holding, choice.closed.get(holding)
    if places or held_by is None:
        return _at_its_place(job, facts, places)
    if held_by < 0:
        return _full_queue(connection, job, facts, kinds)
    return _held_by_limit(connection, job, facts, held_by, opens_in)


def _in_line(connection: Connection, job: Job, facts: Any, kinds: list[Serving]) -> WaitingFor:
    """Return what a job that waits in no lane waits for: the limit of its queue, or a slot."""
    lanes_wait = connection.execute(LANES_WAIT).scalar_one()
    rooms = room_in_queues(connection)
    places: list[_Place] = []
    for kind in kinds:
        line = _Line(job.queue, jobs_before(connection, job.id, kind.scope), rooms)
        if not line.has_room({}):
            continue
        if not lanes_wait:
            places.append(_Place(kind, Ahead(line.ahead({}), line.before.is_least)))
            continue
        # Jobs of lanes that come first take slots of the node, and room in the queues.
        foreseen = foresee(connection, kind.scope)
        needed = line.slots_for(foreseen)
        # A claim takes from lanes first, also what comes later in the order.
        slots = max(needed or MOST_FORESEEN, min(kind.free, MOST_FORESEEN))
        if line.has_room(foreseen.started_in_queues(slots)):
            least = Ahead(max(line.ahead({}), MOST_FORESEEN), is_least=True)
            places.append(_Place(kind, least if needed is None else Ahead(needed - 1)))
    if not places:
        return _full_queue(connection, job, facts, kinds)
    return _at_its_place(job, facts, places)


class _Line(NamedTuple):
    """The place of a job that waits in no lane; `rooms`: how many jobs may start in each limited
    queue.
    """

    queue: str
    before: Before
    rooms: Mapping[str, int]

    def has_room(self, started: Mapping[str, int]) -> bool:
        """Return whether its queue lets it start, after so many jobs of lanes in each queue."""
        left = self.rooms.get(self.queue, math.inf) - started.get(self.queue, 0)
        return self.before.in_queue(self.queue) < left

    def ahead(self, started: Mapping[str, int]) -> int:
        """Return how many others are claimed before it, after so many jobs of lanes."""
        full = {name for name, room in self.rooms.items() if started.get(name, 0) >= room}
        return self.before.claimed(full)

    def slots_for(self, foreseen: Foreseen) -> int | None:
        """Return the fewest free slots with which a claim comes to it, as `Foreseen.slots_for`."""
        return foreseen.fewest_slots(
            lambda slots: foreseen.plain_room(slots) > self.ahead(foreseen.started_in_queues(slots))
        )


class _Place(NamedTuple):
    """The place of a job among those that nodes of one kind claim."""

    kind: Serving
    ahead: Ahead

    @property
    def is_next(self) -> bool:
        return not self.ahead.is_least and self.ahead.count < self.kind.free


def _at_its_place(job: Job, facts: Any, places: list[_Place]) -> WaitingFor:
    """Return that a job only waits for a slot; of several kinds of nodes, where it comes first."""
    best = min(places, key=lambda place: (not place.is_next, place.ahead.count))
    ahead, free = best.ahead, best.kind.free
    if best.is_next:
        return WaitingFor(
            reason=WaitReason.NEXT,
            text=Sentence("A node with a free slot takes it next.", SentenceCode.JOB_NEXT),
            ahead=ahead.count,
        )
    slots = sum(place.kind.slots for place in places)
    taken = (
        "the only slot of the nodes that run it is taken"
        if slots == 1
        else f"all {slots:,} slots of the nodes that run it are taken"
    )
    first = ahead_text(ahead.count, is_least=ahead.is_least)
    if ahead.count == 0:
        text = f"It is the next one, but {taken}."
    elif free == 0:
        text = f"{first}, and {taken}."
    else:
        text = f"{first}, and {free:,} {'slot is' if free == 1 else 'slots are'} free."
    if facts.fair_by is not None:
        text = f"Queue {quoted(job.queue)} takes turns by {facts.fair_by}. {text}"
    return WaitingFor(
        reason=WaitReason.SLOT,
        text=Sentence(
            text[0].upper() + text[1:],
            SentenceCode.JOB_WAITS_FOR_SLOT,
            ahead=ahead.count,
            ahead_is_least=ahead.is_least,
            slots=slots,
            free=free,
            queue=None if facts.fair_by is None else job.queue,
            fair_by=facts.fair_by,
        ),
        ahead=ahead.count,
        ahead_is_least=ahead.is_least,
    )


def _full_queue(connection: Connection, job: Job, facts: Any, kinds: list[Serving]) -> WaitingFor:
    """Return that the queue of a job runs as many jobs as it may, or will with those before it."""
    limit = facts.concurrency_limit
    text = f"Queue {quoted(job.queue)} runs {counted(limit, 'job')} at a time, as many as it may."
    if not kinds or job.waits_for is not None:
        sentence = Sentence(text, SentenceCode.JOB_IN_FULL_QUEUE, queue=job.queue, limit=limit)
        return WaitingFor(reason=WaitReason.QUEUE_LIMIT, text=sentence)
    before = jobs_before(connection, job.id, kinds[0].scope)
    count = before.in_queue(job.queue)
    if count:
        text = f"{text[:-1]}, and {ahead_text(count, is_least=before.is_least)}."
    return WaitingFor(
        reason=WaitReason.QUEUE_LIMIT,
        text=Sentence(
            text,
            SentenceCode.JOB_IN_FULL_QUEUE,
            queue=job.queue,
            limit=limit,
            ahead=count,
            ahead_is_least=before.is_least,
        ),
        ahead=count,
        ahead_is_least=before.is_least,
    )


def _held_by_limit(
    connection: Connection, job: Job, facts: Any, bucket_id: int, opens_in: int | None
) -> WaitingFor:
    """Return which limit holds a lane back; `opens_in`: microseconds until it allows a start."""
    bucket = connection.execute(BUCKET, {"bucket": bucket_id}).one_or_none()
    if bucket is None:  # it was removed since
        return WaitingFor(reason=WaitReason.UNFILED, text=_UNFILED)
    numbers = LimitNumbers.from_json(bucket.declared if bucket.changed is None else bucket.changed)
    shown: str = bucket.key
    of_queue = (facts.queue_limits or {}).get(bucket.limit_name)
    if shown and of_queue is not None:
        # The format is shown, because values may be secret; a limit in total has none.
        shown = of_queue["key"] or ""
    shown = MASK if shown.startswith(MASK) else shown
    key = f" for key {quoted(shown)}" if shown else ""
    allowed = numbers.concurrency or 0
    needed = min(facts.weight, allowed)  # a heavier job may run alone
    opens_at = bucket.opens_at if opens_in is None else bucket.now + opens_in
    until = None
    if numbers.is_rate and opens_at is not None:
        until = EPOCH + min(opens_at, LATEST_MOMENT) * MICROSECOND
        when = Sentence(
            f"{until:%Y-%m-%d %H:%M:%S} UTC at least", SentenceCode.UNTIL_MOMENT, at=until
        )
    elif needed <= 1:
        when = Sentence("a running job ends", SentenceCode.UNTIL_JOB_ENDS)
    else:
        running = connection.execute(RUNNING, {"bucket": bucket_id}).one_or_none()
        free = max(0, allowed - (0 if running is None else int(running.weight)))
        when = Sentence(
            f"running jobs end: it needs {needed} of {allowed}, and {free}"
            f" {'is' if free == 1 else 'are'} free",
            SentenceCode.UNTIL_JOBS_END,
            needed=needed,
            allowed=allowed,
            free=free,
        )
    ahead = jobs_ahead_in_lane(connection, job.id, facts.lane_id)
    every = (numbers.period or 0) / (numbers.amount or 1) * facts.weight * MICROSECOND
    return WaitingFor(
        reason=WaitReason.LIMIT,
        text=Sentence(
            f"Limit {quoted(bucket.limit_name)} ({numbers.text}) holds it back{key}, until {when}.",
            SentenceCode.JOB_HELD_BY_LIMIT,
            limit=bucket.limit_name,
            numbers=numbers.text,
            key=shown or None,
            until=when,
        ),
        until=until,
        ahead=ahead.count,
        ahead_is_least=ahead.is_least,
        bucket_id=bucket_id,
        every=every.total_seconds() if numbers.is_rate else None,
        of_values=(key,) if key else (),
    )


def _waits_for_jobs(connection: Connection, job_id: JobId) -> WaitingFor:
    """Return which jobs, or which group, a job waits for."""
    group = connection.execute(GROUP, {"job_id": job_id}).one_or_none()
    if group is not None:
        is_creating = group.inserting_at is not None
        creating = ", of which more are being created" if is_creating else ""
        return WaitingFor(
            reason=WaitReason.JOBS,
            text=Sentence(
                f"It waits for the members of group {group.id} to end{creating}.",
                SentenceCode.JOB_WAITS_FOR_GROUP,
                group=group.id,
                creating=is_creating,
            ),
            group_id=GroupId(group.id),
        )
    awaited = [JobId(id_) for id_ in connection.scalars(AWAITED, {"job_id": job_id})]
    named = tuple(awaited[:MOST_NAMED])
    if not awaited:
        text = "It waits for other jobs to end."
    else:
        others = " and others" if len(awaited) > MOST_NAMED else ""
        text = f"It waits for other jobs to end: {', '.join(map(str, named))}{others}."
    sentence = Sentence(
        text,
        SentenceCode.JOB_WAITS_FOR_JOBS,
        jobs=[str(id_) for id_ in named],
        others=len(awaited) > MOST_NAMED,
    )
    return WaitingFor(reason=WaitReason.JOBS, text=sentence, awaited=named)
