"""Which of the waiting jobs start next: the order among lanes, what the limits allow, and whose
turn it is.

Jobs of one lane are alike: same queue, type, priority, weight, owner (in a fair queue) and limits.
So if the first job of a lane may not start, none of them may. Lanes are ordered by priority and
then by `place`, a moment: when the first job of the lane was due, or, in a fair queue, when the
owner had a turn or began to wait, whichever was later. An owner whose job starts gets the place of
that start. So a job is passed by at most one job of each owner that waits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from horae.domain.limits.numbers import LimitNumbers
from horae.domain.limits.rate import RateState

Place = tuple[int, int]
"""The order among jobs: the negative priority, and microseconds since 1970."""


@dataclass(slots=True)
class Bucket:
    """The state of one limit for one key: of a rate, or the weight that runs under a concurrency.

    `counts_weight`: otherwise each job counts once, as for the limit of a whole queue.
    `discards_as`: the name of a limit that lets no job wait.
    """

    id: int
    numbers: LimitNumbers
    rate: RateState | None = None
    running: int = 0
    counts_weight: bool = True
    discards_as: str | None = None

    def wait(self, weight: int) -> int | None:
        """Return the microseconds until a job of this weight may start; None: until another one has
        ended.
        """
        if self.rate is not None:
            return self.rate.wait(self.numbers, weight)
        # A job that is heavier than the limit, which was lowered after it was created, runs alone.
        allowed = self.numbers.concurrency or 1
        needed = min(weight, allowed) if self.counts_weight else 1
        return 0 if self.running + needed <= allowed else None

    def take(self, weight: int) -> None:
        """Count a start."""
        if self.rate is not None:
            self.rate = self.rate.taken(self.numbers, weight)
        else:
            self.running += weight if self.counts_weight else 1


@dataclass(slots=True)
class Lane:
    """A lane with due jobs, the next one first: ids, and since when each is due.

    `owner`: whose turn it takes in a fair queue, or None in other queues; `turn`: when that owner
    had its last turn.
    """

    id: int
    priority: int
    place: int
    weight: int
    buckets: Sequence[int]
    jobs: Sequence[tuple[int, int]]
    owner: tuple[str, int, str] | None = None
    turn: int = 0


@dataclass(slots=True)
class Choice:
    """What starts: `jobs` of lanes in order, and the number of `plain` jobs; `taken`: the number of
    jobs by lane.

    `held`: lanes of which the first job may not start, with the bucket that holds it back;
    `closed`: those buckets, with the microseconds until they allow another start (None: until a job
    ends). `turns`: the last turns of owners.
    """

    jobs: list[int] = field(default_factory=list[int])
    plain: int = 0
    taken: dict[int, int] = field(default_factory=dict[int, int])
    held: dict[int, int] = field(default_factory=dict[int, int])
    closed: dict[int, int | None] = field(default_factory=dict[int, int | None])
    turns: dict[tuple[str, int, str], int] = field(default_factory=dict[tuple[str, int, str], int])


class Chooser:
    """Chooses among lanes and plain jobs, in one order. The buckets count what was chosen."""

    def __init__(self, lanes: Sequence[Lane], buckets: Mapping[int, Bucket], now: int) -> None:
        self._lanes = {lane.id: lane for lane in lanes}
        self._buckets, self._now = buckets, now
        self.choice = Choice()
        for lane in lanes:
            if lane.owner is not None:
                last = self.choice.turns.get(lane.owner, 0)
                self.choice.turns[lane.owner] = max(lane.turn, last)

    def choose(
        self, room: int, plain: Sequence[Place] = (), *, most: int | None = None, once: bool = False
    ) -> Choice:
        """Choose up to `room` jobs, and up to `most` of them from lanes; `plain`: the places of
        plain jobs, in order.

        The order is that of the places, except that a limit holds back what it does not allow: a
        lane, and all later ones under the same bucket, so that a heavy job is not passed by light
        ones for ever. `once`: an owner gets one turn at most, because others may wait in lanes that
        were not read.
        """
        choice, left = self.choice, room if most is None else min(room, most)
        waiting = [(*self._place(lane), lane.id) for lane in self._lanes.values() if lane.jobs]
        heapify(waiting)
        while waiting and left > 0 and len(choice.jobs) + choice.plain < room:
            priority, place, lane_id = waiting[0]
            lane = self._lanes[lane_id]
            if self._place(lane) > (priority, place):  # the owner had a turn through another lane
                heappop(waiting)
                heappush(waiting, (*self._place(lane), lane_id))
            elif once and lane.owner is not None and choice.turns[lane.owner] > self._now:
                heappop(waiting)
            elif choice.plain < len(plain) and plain[choice.plain] < (priority, place):
                choice.plain += 1
            else:
                heappop(waiting)
                if self._starts(lane):
                    left -= 1
                    if choice.taken[lane_id] < len(lane.jobs) and not (
                        once and lane.owner is not None
                    ):
                        heappush(waiting, (*self._place(lane), lane_id))
        choice.plain = min(len(plain), room - len(choice.jobs))
        return choice

    def _starts(self, lane: Lane) -> bool:
        """Start the next job of a lane if its limits allow it."""
        choice = self.choice
        for bucket_id in lane.buckets:
            bucket = self._buckets[bucket_id]
            # Where no job waits, a heavy one that is discarded need not be protected from light
            # ones.
            if bucket_id not in choice.closed or bucket.discards_as is not None:
                wait = bucket.wait(lane.weight)
                if wait == 0:
                    continue
                choice.closed[bucket_id] = wait
            choice.held[lane.id] = bucket_id
            return False
        for bucket_id in lane.buckets:
            self._buckets[bucket_id].take(lane.weight)
        taken = choice.taken.get(lane.id, 0)
        choice.jobs.append(lane.jobs[taken][0])
        choice.taken[lane.id] = taken + 1
        if lane.owner is not None:
            # One microsecond apart, so that the owners of one choice keep their order in the next
            # one.
            choice.turns[lane.owner] = lane.turn = self._now + len(choice.jobs)
        return True

    def _place(self, lane: Lane) -> Place:
        if lane.owner is not None:
            return -lane.priority, max(lane.place, self.choice.turns[lane.owner])
        taken = self.choice.taken.get(lane.id, 0)
        return -lane.priority, max(lane.place, lane.jobs[taken][1]) if taken else lane.place
