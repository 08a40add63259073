"""Claims jobs as slots become free, starts their bodies, and passes their results to the settler.

A claim asks for as many jobs as there are free slots, and for more when jobs are short: as many as
can end in a tenth of a second. Jobs claimed beyond the slots wait here for at most a second; then
they are handed back. Jobs whose type takes several at a time gather first (`gathering.py`), and
then take one slot. A claim that finds nothing is followed by a query for the next due time, so that
a delayed job starts on time although an idle node polls seldom.

When it looks for jobs next is one value, `_look`: the earliest of what its sources say (the last
claim, the next due time, hints, polling). Slots decide only whether it can.
"""

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import Any

from horae.domain.cluster import Isolation
from horae.domain.jobs import AttemptOutcome, Claim, JobId, JobState
from horae.errors import LeaseLost
from horae.guarded_log import guarded_log
from horae.runtime.bodies import (
    Executor,
    FinishedRun,
    Interrupted,
    OutOfContact,
    Reporter,
    RunEnvironment,
    stop_attempts,
    stopped_by,
    with_report,
)
from horae.runtime.claims.claimer import Claimer
from horae.runtime.claims.gathering import Gathering, Kind
from horae.runtime.claims.lost_replies import HeldJobs, LostReplies
from horae.runtime.claims.next_look import (
    AT_ONCE,
    HINTED,
    NEVER,
    NextLook,
    first_of,
    next_to_wait_for,
)
from horae.runtime.claims.peers import Peers
from horae.runtime.claims.slots import Slots
from horae.runtime.claims.suspects import Suspects
from horae.runtime.claims.throughput import Throughput
from horae.runtime.settling import Settler
from horae.runtime.signals import Signals
from horae.runtime.throttled_warning import ThrottledWarning
from horae.runtime.timing import Timing
from horae.storage.jobs import ClaimScope
from horae.types import Attempt, Batch, JobType, Registry
from horae.wakeup import WakeupChannel, work

log = guarded_log("horae.runtime")
Choose = Callable[[JobType[Any]], Executor]


class Worker:
    """Fills the slots of one node with jobs."""

    def __init__(  # noqa: PLR0913 - the one place where these meet
        self,
        *,
        environment: RunEnvironment,
        scope: ClaimScope,
        registry: Registry,
        signals: Signals,
        settler: Settler,
        reporter: Reporter,
        choose: Choose,
        slots: Slots,
        wakeup: WakeupChannel,
        peers: Peers,
        held: HeldJobs,
        timing: Timing,
    ) -> None:
        self.running: dict[JobId, Attempt] = {}
        self._signals, self._wakeup, self._timing = signals, wakeup, timing.worker
        self._environment, self._registry, self._rng = environment, registry, environment.rng
        self._claimer = Claimer(environment.database, scope, timing.claimer, self._rng)

        def claimer_of(kind: Kind) -> Claimer:
            only = replace(scope, types=kind[:1], queues=kind[1:])
            return Claimer(environment.database, only, timing.claimer, environment.rng)

        self._gathering = Gathering(registry, scope.types, claimer_of)
        self._suspects = Suspects(
            environment.database, environment.node, self._timing.suspect_pause, self._rng
        )
        self._settler, self._reporter = settler, reporter
        self._choose, self._slots, self._peers = choose, slots, peers
        self._prefetched: deque[Attempt] = deque()
        """Jobs that wait for a slot, the next one first; each has `began` when it was claimed."""
        self._throughput = Throughput(slots.limit, timing.throughput)
        self._unavailable = ThrottledWarning()
        self._held, self._lost_replies = held, LostReplies(environment, held, timing.worker)
        self._wake = asyncio.Event()
        self._look = AT_ONCE
        self._ahead: NextLook | None = None
        """The due time of the next job, if it was read since the last claim."""
        self._stopping = self._isolated = False
        self._poll = self._timing.poll_without_hints.shortest
        held.add(self.running, self._prefetched, self._gathering)
        signals.work.connect(self.wake)
        signals.room.connect(self._wake.set)
        signals.freed.connect(self._claim_freed)
        signals.isolated.connect(self._isolate)
        signals.contact_regained.connect(self._rejoin)
        slots.join(self._slot_is_free)

    def _slot_is_free(self) -> None:
        self._start_prefetched()
        self._wake.set()

    def wake(self) -> None:
        """Claim now: there may be work. Called on the node's loop."""
        self._claimer.wake()
        self._look = HINTED
        self._wake.set()

    def serve(self, types: tuple[str, ...]) -> None:
        """Claim jobs of these types from now on."""
        self._claimer.serve(types)
        self._gathering.serve(types)
        self.wake()

    def _claim_freed(self, queues: Collection[str], lanes: Collection[int]) -> None:
        """Claim what the ends of jobs under limits have made possible; other nodes may as well."""
        if self._claimer.makes_room(queues, lanes):
            self.wake()
            self._wakeup.send(work())

    def stop(self) -> None:
        """Claim no more; `run` hands back the jobs that have not begun, and ends."""
        self._stopping = True
        self._wake.set()

    async def run(self) -> None:
        """Claim jobs and start bodies until stopped; may be called again after an error."""
        # The limits are read first: read after the first claim, they would delay the second one.
        await self._look_ahead()
        self._look = AT_ONCE
        while not self._stopping:
            if self._lost_replies.is_search_due:
                await self._hand_back_unknown()
            if (room := self._room()) > 0 and self._look.at <= time.monotonic():
                async with self._held.claiming:
                    await self._claim(room)
            else:
                await self._wait()
            if self._prefetched and time.monotonic() >= self._stale_at:
                self._throughput.reset()
                self._hand_back(attempt.claim for attempt in self._prefetched)
                self._prefetched.clear()
            if self._gathering.waiting:
                self._start_batches()
                stale = self._gathering.take_stale(time.monotonic(), self._timing.prefetched_for)
                self._hand_back(attempt.claim for attempt in stale)
        self._slots.leave(self._slot_is_free)
        self._hand_back_all()
        stop_attempts(
            [attempt for attempt in self.running.values() if attempt.waiting], Interrupted
        )
        if self._lost_replies.are_possible:
            await self._hand_back_unknown()

    @property
    def _stale_at(self) -> float:
        """When the jobs that were claimed ahead are handed back."""
        return self._prefetched[0].began + self._timing.prefetched_for

    @property
    def has_room(self) -> bool:
        """Return whether it would claim jobs now."""
        return self._room() > 0

    def _room(self) -> int:
        if self._settler.is_full or self._isolated:
            return 0
        free, waiting = self._slots.free, len(self._prefetched)
        ahead = self._throughput.expected
        # A claim of ten jobs costs nearly as much as one of hundreds, so wait until half of those
        # ahead are used up.
        return 0 if waiting >= free and waiting * 2 > ahead else free + ahead - waiting

    async def _claim(self, room: int) -> None:
        """Claim up to `room` jobs, and begin those for which there is a slot."""
        began = time.monotonic()
        self._look, self._ahead = NEVER, None  # a hint that comes during the claim changes `_look`
        # Jobs of lanes are to begin at once, or soon where bodies end quickly.
        slots = min(room, max(self._slots.free - len(self._prefetched), self._throughput.expected))
        look, taken, answered = AT_ONCE, list[Claim](), False
        with self._unavailable.guard("no jobs can be claimed: %s"), self._lost_replies.expect():
            claimed, look = await self._claimer.claim(room, slots)
            if self._gathering.types and len(claimed) >= room:  # there may be more
                claimed = [*claimed, *await self._gathering.fill(claimed, self._claimer.known)]
            if again := self._held.void(claimed):
                claimed = await self._suspects.postpone(again, claimed)
            taken = list(await self._suspects.sift(claimed, self._held.ids))
            answered = True
        if not answered:
            self._look = AT_ONCE
            await asyncio.sleep(self._rng.uniform(0.2, 1.0))
            return
        self._unavailable.settle()
        self._look = first_of((self._look, look))
        if taken:
            self._poll = self._timing.poll_without_hints.shortest
        if len(taken) >= room:
            self._peers.pass_on(len(taken))
        registry, follow = self._registry, self._reporter.follow
        attempts = [
            Attempt(claim, registry.get(claim.type), follow(claim), slots=self._slots)
            for claim in taken
        ]
        if self._gathering.types:
            attempts = self._gathering.take_in(attempts)
        if self._claimer.known.lanes:  # their jobs have the next slots
            first = [attempt for attempt in attempts if attempt.claim.lane_id is not None]
            self._prefetched.extendleft(reversed(first))
            attempts = attempts[len(first) :]
        self._prefetched.extend(attempts)
        if time.monotonic() - began > self._timing.latest_reply:
            self._hand_back_all()
        self._start_prefetched()

    async def _look_ahead(self) -> NextLook:
        """Read when the next job is due, if that can be told, and which queues have limits now."""
        limited, had_lanes = self._claimer.limited, self._claimer.known.lanes
        ahead = None
        with self._unavailable.guard("cannot read when the next job is due: %s"):
            ahead = await self._claimer.look_ahead()
        if self._claimer.limited - limited or self._claimer.known.lanes > had_lanes:
            self.wake()
        now = time.monotonic()
        if ahead is None or ahead.due_in is None:
            poll = self._timing.poll_with_hints * self._rng.uniform(0.75, 1.25)
            # Nothing is read while claims are slow; look again as soon as that is over.
            pause = min(poll, self._claimer.rest(now) or poll)
            return NextLook(now + pause, "it is unknown when the next job is due")
        later = self._peers.delay(ahead.due_at)
        return NextLook(now + ahead.due_in + later, "the next job is due")

    async def _wait(self) -> None:
        """Wait until jobs are to be looked for, or handed back, or until something changes."""
        now = time.monotonic()
        idles = self._wakeup.connected and self._look.at - now > self._timing.look_ahead_from
        if self._ahead is None and (idles or now > self._claimer.stale_at):
            self._ahead = await self._look_ahead()
            self._look = first_of((self._look, self._ahead))
            now = time.monotonic()
        if not self._wakeup.connected:
            self._poll = pause = self._timing.poll_without_hints.after(self._poll)
        elif self._ahead is None:
            pause = self._timing.poll_with_hints
        else:
            pause = self._timing.poll_idle * self._peers.poll_pace
        polls_at = now + pause * self._rng.uniform(0.75, 1.25)
        looks = [self._look, NextLook(polls_at, "hints may have been lost")]
        if self._gathering.waiting:
            changes_at = self._gathering.next_change_at(now, self._timing.prefetched_for)
            looks.append(NextLook(changes_at, "a batch is complete, or is handed back"))
        if self._prefetched:
            looks.append(NextLook(self._stale_at, "jobs that were claimed ahead are handed back"))
        look = next_to_wait_for(looks, now, has_room=self._room() > 0)
        try:
            async with asyncio.timeout(look.at - now):
                await self._wake.wait()
        except TimeoutError:
            self._look = look._replace(at=-math.inf)
        self._wake.clear()

    def _start_batches(self) -> None:
        while (
            self._slots.free > 0
            and not self._stopping
            and not self._isolated
            and (members := self._gathering.take_complete(time.monotonic()))
        ):
            batch = Batch(members)
            run = batch.run
            run.executor = executor = self._choose(run.job_type)
            for member in members:
                member.began = run.began
                self.running[member.claim.id] = member
            self._slots.take()
            executor.start(run, self._batch_done)

    def _batch_done(self, run: Attempt, finished: FinishedRun) -> None:
        members = () if run.batch is None else run.batch.members
        # A batch whose body could not begin has one end, which is that of each of its jobs.
        ends = finished.batch or [finished._replace(claim=member.claim) for member in members]
        for member, end in zip(members, ends, strict=True):
            self._done(member, end)

    def _start_prefetched(self) -> None:
        if self._gathering.waiting:
            self._start_batches()
        while (
            self._prefetched and not self._stopping and not self._isolated and self._slots.free > 0
        ):
            attempt = self._prefetched.popleft()
            attempt.began = time.monotonic()
            attempt.executor = executor = self._choose(attempt.job_type)
            self.running[attempt.claim.id] = attempt
            self._slots.take()
            executor.start(attempt, self._done)

    def _done(self, attempt: Attempt, finished: FinishedRun) -> None:
        """Pass on how a body has ended, and begin the next one in its slot."""
        claim = attempt.claim
        if self.running.get(claim.id) is not attempt:
            return  # the body was abandoned earlier
        del self.running[claim.id]
        self._settler.add(with_report(finished, self._reporter.latest(claim.id)))
        ended = finished.settlement
        if ended is not None and ended.outcome is AttemptOutcome.INTERRUPTED and ended.delay:
            self._peers.give_way(ended.delay)
        if attempt.batch is not None:
            if not attempt.batch.end_one():
                return
            attempt = attempt.batch.run  # it has the slot of all of them
        if attempt.loan is not None:  # it was abandoned while it waited for another job
            self._slots.take_back(attempt.loan, at_once=True)
        self._slots.release()
        if finished.unbegun:
            # Its bodies cannot begin here for now, for lack of a connection or another resource.
            self._claimer.avoid(claim.type)
            self._drop_where(lambda waiting: waiting.type == claim.type)
        elif self._claimer.avoided:
            self._claimer.trust(claim.type)
        now = time.monotonic()
        self._throughput.count(attempt.began, now)
        self._start_prefetched()
        if self._look.at <= now and not self._wake.is_set() and self._room() > 0:
            self._wake.set()
        if not self.running:
            self._signals.emptied.set()

    def drop(self, job_ids: Collection[JobId]) -> None:
        """Hand back prefetched jobs that are being cancelled; their bodies never begin."""
        self._drop_where(lambda claim: claim.id in job_ids)

    def _drop_where(self, is_dropped: Callable[[Claim], bool]) -> None:
        """Hand back those jobs that were claimed, have not begun, and meet a condition."""
        dropped = [attempt for attempt in self._prefetched if is_dropped(attempt.claim)]
        for attempt in dropped:
            self._prefetched.remove(attempt)
        dropped += self._gathering.take_where(lambda _, attempt: is_dropped(attempt.claim))
        self._hand_back(attempt.claim for attempt in dropped)

    def _hand_back_all(self) -> None:
        """Hand back every job that was claimed and has not begun."""
        self._drop_where(lambda _claim: True)

    def _hand_back(self, waiting: Iterable[Claim]) -> None:
        for claim in waiting:
            self._settler.add(FinishedRun(claim, None, unbegun=True))

    @property
    def may_hold_unknown_jobs(self) -> bool:
        """Whether a claim without an answer may still take effect."""
        return self._lost_replies.are_possible

    async def _hand_back_unknown(self) -> None:
        with self._unavailable.guard("cannot read which jobs this node has claimed: %s"):
            if unknown := await self._lost_replies.search():
                self._hand_back(unknown)
                log.warning(
                    "%d jobs were claimed although the answer was lost; they are handed back",
                    len(unknown),
                )
            return
        await asyncio.sleep(self._rng.uniform(0.2, 1.0))

    def _isolate(self, level: Isolation) -> None:
        """Stop the bodies of jobs that others may soon run, because contact with the database is
        lost.
        """
        self._isolated = True
        self._hand_back_all()
        stop_attempts(list(self.running.values()), OutOfContact, level)

    def _rejoin(self) -> None:
        """Claim jobs as before, because the database is reached again."""
        self._isolated = False
        self.wake()

    def give_up(self) -> None:
        """Settle bodies that ignore every order as interrupted; without the lease they change
        nothing.
        """
        for attempt in list(self.running.values()):
            log.error(
                "job %d (%s) ignores the order to stop; its body is abandoned",
                attempt.claim.id,
                attempt.claim.type,
            )
            ended = stopped_by(Interrupted(), attempt, self._environment)
            if ended.settlement is not None and ended.settlement.state is JobState.PENDING:
                # Its body may run on until this process has ended.
                later = ended.settlement._replace(
                    delay=max(ended.settlement.delay, self._timing.abandoned_pause)
                )
                ended = ended._replace(settlement=later)
            self._done(attempt, ended)

    def abandon(self) -> None:
        """Stop everything without settling it: the node was declared dead and lost its jobs."""
        self.stop()
        self._environment.journal.keep_all()
        self._prefetched.clear()
        self._gathering.waiting.clear()
        stop_attempts(list(self.running.values()), LeaseLost)
