"""A job's life under any order of events, compared after each one with a model that knows only the table of states.

Nodes claim, hand back, settle, crash, come back as zombies and repeat themselves; callers start, cancel and delete;
sweepers rescue and expire; time passes. What holds whatever happens (DESIGN, section 10): a terminal job never changes,
a cancel that was answered with success ends cancelled, nothing is written without a matching lease, a lease never goes
back, progress stays within 0 and 100, each attempt that ends leaves one row, and the count limit counts what is there.

The model's clock moves in steps of a thousand seconds; every limit lies between two steps, so that the milliseconds
that pass on a real database decide nothing. `TEST_JOB_LIFE_EXAMPLES=2000` makes a long run of it.
"""

import os
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from random import Random
from typing import Final, NamedTuple, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import select, text
from typing_extensions import override

from horae.client.jobs.creating import creation as handler
from horae.client.jobs.creating.new_job import new_job
from horae.domain.backoff import Backoff
from horae.domain.jobs.job import (
    ACTIVE,
    ENDED,
    MAX_CRASHES,
    NEXT_STATE,
    UNCOUNTED,
    AttemptOutcome,
    Cancelled,
    Claim,
    Failed,
    Job,
    JobEvent,
    JobId,
    JobState,
    NodeId,
    Outcome,
    Settlement,
    Snoozed,
    StoppedEarly,
    Succeeded,
    decide,
)
from horae.domain.jobs.retention import KeptFor
from horae.errors import DuplicateJob, MaxJobCountExceeded
from horae.runtime.bodies.finished_run import backoff_of
from horae.runtime.liveness.rescue import Rescuer
from horae.storage.engine.database import Database
from horae.storage.engine.dialect import SQLITE
from horae.storage.engine.sqlite import opening
from horae.storage.jobs import claims, creation, owed_hooks, reading
from horae.storage.jobs.claims import ClaimScope
from horae.storage.jobs.limits import limited_claims
from horae.storage.jobs.reading import JobFilter
from horae.storage.jobs.tables import job_attempts
from horae.storage.nodes import nodes
from horae.storage.nodes.nodes import NodeRecord
from horae.storage.outcomes import cancelling, deletion, settling
from horae.storage.queues import queues
from horae.types.context import JobContext
from horae.types.job_type import JobType
from horae.types.options.start_options import StartOptions
from horae.types.registry import Registry
from tests.storage import arrange

T = TypeVar("T")

EXAMPLES: Final = int(os.environ.get("TEST_JOB_LIFE_EXAMPLES", "20"))
STEP: Final = 1000
RETRIES: Final = {
    seconds: Backoff(
        base=timedelta(seconds=seconds), cap=timedelta(seconds=STEP), factor="constant", jitter=0.0
    )
    for seconds in (0, STEP)
}
HARD_LIMIT: Final = 2.5 * STEP
PENDING_LIMIT: Final = 3.5 * STEP
KEEP: Final = 1.5 * STEP
MAX_COUNT: Final = 2
OWNERS: Final = ("alice", "bob")
QUEUES: Final = ("a", "b")
TABLES: Final = ("horae_jobs", "horae_job_attempts", "horae_nodes", "horae_queues")


class Work(JobType[None]):
    type = "work"
    max_count = MAX_COUNT

    @override
    def run(self, job: JobContext[None]) -> None:
        del job


class Wish(NamedTuple):
    """What a caller wants; `delay` and `retry` in seconds."""

    owner: str | None
    key: str | None
    queue: str
    priority: int
    max_attempts: int
    delay: int
    retry: int


WISHES: Final = st.builds(
    Wish,
    owner=st.sampled_from([None, None, *OWNERS]),
    key=st.sampled_from([None, None, "k", "l"]),
    queue=st.sampled_from(QUEUES),
    priority=st.integers(-1, 1),
    max_attempts=st.sampled_from([1, 3, 5]),
    delay=st.sampled_from([0, 0, 0, STEP, 2 * STEP]),
    retry=st.sampled_from([0, 0, STEP]),
)
OUTCOMES: Final[st.SearchStrategy[Outcome]] = st.sampled_from(
    [
        Succeeded("[1]"),
        Failed("no", "No."),
        Failed("never", final=True),
        Failed("late", timed_out=True),
        Cancelled("carol"),
        Snoozed(float(STEP), "later"),
        StoppedEarly("stopped", again=True),
        StoppedEarly("stopped", again=False),
    ]
)
UNCOUNTED_EVENTS: Final = {
    AttemptOutcome.SNOOZED: JobEvent.SNOOZE,
    AttemptOutcome.INTERRUPTED: JobEvent.INTERRUPT,
}
WHICH: Final = st.integers(0, 100)


@dataclass
class Expected:
    """A job as the model has it; `held_by` is the node on its row, times are seconds of the model's clock."""

    id: JobId
    wish: Wish
    run_at: int
    state: JobState = JobState.PENDING
    attempt: int = 0
    lease: int = 0
    held_by: NodeId | None = None
    started_at: int = 0
    finished_at: int = 0
    cancelled_by: str | None = None
    progress: int = 0
    attempts: dict[int, AttemptOutcome] = field(default_factory=dict[int, AttemptOutcome])
    last_words: Job | None = None

    @property
    def occupied(self) -> bool:
        return self.state in ACTIVE or self.held_by is not None

    def can(self, event: JobEvent) -> bool:
        return (self.state, event) in NEXT_STATE

    def move(self, event: JobEvent, now: int) -> None:
        self.state = NEXT_STATE[self.state, event]
        if self.state in ENDED:
            self.finished_at = now

    def leave(self, outcome: AttemptOutcome) -> None:
        """An attempt is over."""
        assert self.lease not in self.attempts
        self.attempts[self.lease] = outcome
        self.held_by = None


class Clock:
    """SQLite's time."""

    def __init__(self) -> None:
        self.microseconds = 1_774_746_000_000_000

    def __call__(self) -> int:
        return self.microseconds


class JobLife(RuleBasedStateMachine):
    """The storage functions on one side, `Expected` on the other."""

    def __init__(self, database: Database, clock: Clock) -> None:
        super().__init__()
        self.database, self.clock = database, clock
        self.now = 0
        self.jobs: dict[JobId, Expected] = {}
        self.alive: list[NodeId] = []
        self.crashed: set[NodeId] = set()
        self.paused: set[str] = set()
        self.limits: dict[str, int] = {}
        self.held: list[
            tuple[NodeId, Claim]
        ] = []  # and never let go of: what is over is a zombie's
        self.written: list[tuple[NodeId, Settlement]] = []
        self.nodes_so_far = 0
        self.removed: set[JobId] = set()
        with database.engine.begin() as connection:
            for table in TABLES:
                connection.execute(text(f"DELETE FROM {table}"))

    # Nodes and time

    @initialize(wishes=st.lists(WISHES, min_size=4, max_size=6))
    def a_busy_day(self, wishes: list[Wish]) -> None:
        self.join()
        self.join()
        for wish in wishes:
            self.start(wish)
        self.claim(0, 3, None, knows=False)

    @rule()
    def join(self) -> None:
        self.nodes_so_far += 1
        node = NodeId(f"n{self.nodes_so_far}")
        record = NodeRecord(
            id=node,
            name="n",
            host="h",
            pid=1,
            version="1",
            roles="[]",
            queues=None,
            types="[]",
            concurrency=1,
            lock_key=None,
        )
        self.database.transact(nodes.register, record)
        self.alive.append(node)

    @precondition(lambda self: len(self.alive) > 1)
    @rule(which=WHICH, noticed=st.booleans())
    def crash(self, which: int, *, noticed: bool) -> None:
        self.crashed.add(self.alive.pop(which % len(self.alive)))
        if noticed:
            self.sweep()

    @rule()
    def sweep(self) -> None:
        """Rescue what the crashed hold, then strike them off."""
        dead = self.crashed
        self.database.transact(Rescuer(Registry(), Random(0)).rescue, dead)
        for job in self.jobs.values():
            if job.held_by in dead:
                self._rescue(job)
        assert self.database.transact(nodes.remove, dead) == dead
        self.crashed = set()

    @rule()
    def time_passes(self) -> None:
        self.now += STEP
        if self.database.dialect == SQLITE:
            self.clock.microseconds += STEP * 1_000_000
            return
        moved = ", ".join(
            f"{column} = {column} - make_interval(secs => {STEP})"
            for column in ("run_at", "started_at", "finished_at")
        )
        with self.database.engine.begin() as connection:
            connection.execute(text(f"UPDATE horae_jobs SET {moved}"))
        for job in self.jobs.values():  # the last words move with the row
            job.last_words = job.last_words and self.database.transact(reading.get, job.id)

    @rule(queue=st.sampled_from(QUEUES))
    def pause(self, queue: str) -> None:
        self.database.transact(queues.pause, queue, None)
        self.paused.add(queue)

    @rule(queue=st.sampled_from(QUEUES))
    def resume(self, queue: str) -> None:
        assert self.database.transact(queues.resume, queue) == (queue in self.paused)
        self.paused.discard(queue)

    @rule(queue=st.sampled_from(QUEUES), most=st.sampled_from([None, 1, 1, 2]))
    def limit(self, queue: str, most: int | None) -> None:
        self.database.transact(queues.limit, queue, most)
        self.limits = {
            name: number
            for name, number in {**self.limits, queue: most}.items()
            if number is not None
        }

    # Callers

    @rule(wish=WISHES)
    def start(self, wish: Wish) -> None:
        options = StartOptions(
            owner=wish.owner,
            unique_key=wish.key,
            queue=wish.queue,
            priority=wish.priority,
            max_attempts=wish.max_attempts,
            delay=timedelta(seconds=wish.delay),
            backoff=RETRIES[wish.retry],
        )
        wanted = new_job(Work(), options, {})
        taken = [
            job.id
            for job in self.jobs.values()
            if wish.key and job.wish.key == wish.key and job.state in ACTIVE
        ]
        full = wish.owner is not None and self._occupying(wish.owner) >= MAX_COUNT
        if taken or full:
            with pytest.raises(DuplicateJob if taken else MaxJobCountExceeded):
                self.database.transact(handler.create, wanted)
            return
        created, new = self.database.transact(handler.create, wanted)
        assert new
        assert created.id > max([*self.jobs, *self.removed], default=0)
        self.jobs[created.id] = Expected(created.id, wish, run_at=self.now + wish.delay)

    @precondition(lambda self: self.jobs)
    @rule(which=WHICH, by=st.sampled_from([None, *OWNERS]))
    def cancel(self, which: int, by: str | None) -> None:
        job = self._pick(which)
        answer = self.database.transact(cancelling.cancel, job.id, by)
        assert (answer is not None) == job.can(JobEvent.CANCEL)
        if answer is not None:
            job.move(JobEvent.CANCEL, self.now)
            job.cancelled_by = by

    @precondition(lambda self: self.jobs)
    @rule(which=WHICH)
    def remove(self, which: int) -> None:
        job = self._pick(which)
        gone = self.database.transact(deletion.delete_jobs, [job.id])
        assert gone == (set() if job.occupied else {job.id})
        if gone:
            self._forget(job)

    @rule()
    def clean_up(self) -> None:
        old = [
            job.id
            for job in self.jobs.values()
            if job.state in ENDED and job.held_by is None and self.now - job.finished_at > KEEP
        ]
        self.database.transact(owed_hooks.forget, ["work"])
        found = self.database.transact(
            owed_hooks.past_keeping,
            KeptFor(KEEP, tuple(ENDED), ("work",)),
            limit=100,
        )
        assert sorted(job.id for job in found) == old
        assert self.database.transact(deletion.delete_jobs, old) == set(old)
        for job_id in old:
            self._forget(self.jobs[job_id])

    # Bodies

    @rule(
        which=WHICH,
        limit=st.integers(1, 3),
        scope=st.sampled_from([None, None, ["a"], ["b"], ["a", "b"]]),
        knows=st.sampled_from([True, True, False]),
    )
    def claim(self, which: int, limit: int, scope: list[str] | None, *, knows: bool) -> None:
        """`knows`: whether the node has heard of limits; if not, it takes nothing of a queue that has one."""
        node = self.alive[which % len(self.alive)]
        room = {name: self._room(name) if knows else 0 for name in self.limits}
        due = [
            job
            for job in self.jobs.values()
            if self._is_due(job, scope) and room.get(job.wish.queue, 1) > 0
        ]
        rows = {
            row.id: row for row in self.database.transact(reading.get_many, [job.id for job in due])
        }
        due.sort(key=lambda job: (-job.wish.priority, rows[job.id].run_at, job.id))
        expected = list[JobId]()
        for job in due[:limit]:
            queue = job.wish.queue
            expected.extend([job.id] if room.get(queue, 1) > 0 else [])
            room[queue] = room.get(queue, limit + 1) - 1
        taken = self._claim(ClaimScope(node=node, types=["work"], queues=scope), limit, knows=knows)
        assert [claim.id for claim in taken] == expected
        for claim in taken:
            job = self.jobs[claim.id]
            job.move(JobEvent.CLAIM, self.now)
            job.attempt, job.lease, job.held_by, job.started_at = (
                job.attempt + 1,
                job.lease + 1,
                node,
                self.now,
            )
            assert (claim.lease, claim.attempt) == (job.lease, job.attempt)
        self.held.extend((node, claim) for claim in taken)

    @precondition(lambda self: self.held)
    @rule(which=WHICH)
    def hand_back(self, which: int) -> None:
        node, claim = self._recent(self.held, which)
        self.database.transact(claims.hand_back, node, [claim])
        job = self._running(claim)
        if job is not None:
            job.move(JobEvent.HAND_BACK, self.now)
            job.attempt, job.held_by = job.attempt - 1, None

    @precondition(lambda self: self.held)
    @rule(which=WHICH, percentage=st.integers(0, 100))
    def settle_twice(self, which: int, percentage: int) -> None:
        """The answer to the commit was lost."""
        node, claim = self._recent(self.held, which)
        settlement = decide(claim, Succeeded("1"), backoff_of(claim, None), Random(0))._replace(
            progress=percentage
        )
        for _ in range(2):
            self._settle(node, [settlement])

    @precondition(lambda self: self.held)
    @rule(
        which=st.lists(WHICH, min_size=1, max_size=3),
        outcome=OUTCOMES,
        percentage=st.none() | st.integers(0, 100),
    )
    def settle(self, which: list[int], outcome: Outcome, percentage: int | None) -> None:
        pairs = [self._recent(self.held, number) for number in which]
        node = pairs[0][0]
        mine = {(claim.id, claim.lease): claim for holder, claim in pairs if holder == node}
        batch = [
            decide(claim, outcome, backoff_of(claim, None), Random(0))._replace(progress=percentage)
            for claim in mine.values()
        ]
        self._settle(node, batch)
        self.written.extend((node, settlement) for settlement in batch)

    @precondition(lambda self: self.written)
    @rule(which=WHICH)
    def repeat(self, which: int) -> None:
        """A zombie does not know that it is over."""
        node, settlement = self._recent(self.written, which)
        self._settle(node, [settlement])

    @precondition(lambda self: self._overtaken())
    @rule(which=WHICH, outcome=st.none() | OUTCOMES)
    def meddle(self, which: int, outcome: Outcome | None) -> None:
        """A zombie settles, or hands back, what runs elsewhere by now."""
        node, claim = self._recent(self._overtaken(), which)
        if outcome is None:
            self.database.transact(claims.hand_back, node, [claim])
        else:
            self._settle(node, [decide(claim, outcome, backoff_of(claim, None), Random(0))])

    @precondition(lambda self: self.held)
    @rule(which=WHICH)
    def stop(self, which: int) -> None:
        """The body only says that it has stopped."""
        node, claim = self._recent(self.held, which)
        result = self.database.transact(settling.release, node, [(claim.id, claim.lease)])
        assert result.released == self._release(node, claim.id, claim.lease)

    # Sweepers

    @rule()
    def expire_started(self) -> None:
        late = {
            job.id
            for job in self.jobs.values()
            if job.state is JobState.STARTED and self.now - job.started_at > HARD_LIMIT
        }
        failed = arrange.expired(self.database, {"work": HARD_LIMIT, "other": 1.0})
        self._expire(late, failed)

    @rule()
    def expire_pending(self) -> None:
        late = {
            job.id
            for job in self.jobs.values()
            if job.state is JobState.PENDING
            and job.attempt == 0
            and job.wish.owner is not None
            and self.now - job.run_at > PENDING_LIMIT
        }
        failed = arrange.expired_pending(self.database, {"work": PENDING_LIMIT})
        self._expire(late, failed)

    # What always holds

    @invariant()
    def the_database_is_as_the_model_says(self) -> None:
        rows = {row.id: row for row in self.database.transact(reading.page, JobFilter(limit=None))}
        assert rows.keys() == self.jobs.keys()
        for job_id, job in self.jobs.items():
            row = rows[job_id]
            assert (
                row.state,
                row.attempt,
                row.lease,
                row.node_id,
                row.cancelled_by,
                row.progress_percentage,
            ) == (
                job.state,
                job.attempt,
                job.lease,
                job.held_by,
                job.cancelled_by,
                job.progress,
            )
            assert 0 <= row.progress_percentage <= 100
            assert row.occupied == job.occupied
            assert row.state in ENDED or (row.error, row.human_readable_error, row.result) == (
                None,
                None,
                None,
            )
            if job.last_words is not None:
                assert {**asdict(row), "node_id": None} == {
                    **asdict(job.last_words),
                    "node_id": None,
                }
            elif job.state in ENDED:
                job.last_words = row

    @invariant()
    def every_attempt_that_ended_has_one_row(self) -> None:
        with self.database.engine.begin() as connection:
            rows = connection.execute(select(job_attempts)).all()
        kept = {(row.job_id, row.lease): AttemptOutcome(row.outcome) for row in rows}
        assert len(kept) == len(rows)
        assert kept == {
            (job.id, lease): how
            for job in self.jobs.values()
            for lease, how in job.attempts.items()
        }
        assert all(row.started_at <= row.finished_at for row in rows)

    @invariant()
    def the_limit_counts_what_is_there(self) -> None:
        for owner in OWNERS:
            counted = self.database.transact(creation.count_open, owner, "work")
            assert counted == self._occupying(owner) <= MAX_COUNT

    # The model

    def _pick(self, which: int) -> Expected:
        return self.jobs[sorted(self.jobs)[which % len(self.jobs)]]

    def _recent(self, things: list[T], which: int) -> T:
        """Mostly what is new, and anything old."""
        return things[-1 - which % len(things)]

    def _overtaken(self) -> list[tuple[NodeId, Claim]]:
        running = {job.id: job.lease for job in self.jobs.values() if job.state is JobState.STARTED}
        return [pair for pair in self.held if pair[1].lease < running.get(pair[1].id, 0)]

    def _occupying(self, owner: str) -> int:
        return sum(job.wish.owner == owner and job.occupied for job in self.jobs.values())

    def _claim(self, scope: ClaimScope, limit: int, *, knows: bool) -> list[Claim]:
        names = (
            self.database.autocommit(limited_claims.limited_queues_with_room, scope, limit)
            if knows
            else []
        )
        if not names:
            return self.database.autocommit(claims.claim, scope, limit)
        return self.database.transact(limited_claims.claim, scope, limit, names).claims

    def _room(self, queue: str) -> int:
        held = sum(
            job.held_by is not None and job.wish.queue == queue for job in self.jobs.values()
        )
        return self.limits[queue] - held

    def _is_due(self, job: Expected, scope: list[str] | None) -> bool:
        served_now = (
            scope is None or job.wish.queue in scope
        ) and job.wish.queue not in self.paused
        return job.can(JobEvent.CLAIM) and job.run_at <= self.now and served_now

    def _running(self, claim: Claim) -> Expected | None:
        """The job, if this claim's lease is the one that runs it."""
        job = self.jobs.get(claim.id)
        return (
            job
            if job is not None and job.lease == claim.lease and job.state is JobState.STARTED
            else None
        )

    def _settle(self, node: NodeId, batch: list[Settlement]) -> None:
        recorded, released = set[JobId](), dict[JobId, JobState]()
        for item in batch:
            job = self.jobs.get(item.id)
            if job is None:
                continue
            if job.attempts.get(item.lease) == item.outcome:
                recorded.add(job.id)
            elif job.lease == item.lease and job.state is JobState.STARTED:
                self._end(job, item)
                recorded.add(job.id)
            else:
                released |= self._release(node, item.id, item.lease)
        result = self.database.transact(settling.settle, node, batch)
        assert result.settled == recorded
        assert result.released == released

    def _end(self, job: Expected, item: Settlement) -> None:
        job.leave(item.outcome)
        match item.state:
            case JobState.PENDING:
                uncounted = item.outcome in UNCOUNTED
                job.move(UNCOUNTED_EVENTS.get(item.outcome, JobEvent.RETRY), self.now)
                job.attempt -= uncounted
                job.run_at, job.progress = (
                    self.now + (round(item.delay) if uncounted else job.wish.retry),
                    0,
                )
            case JobState.FINISHED:
                job.move(JobEvent.SUCCEED, self.now)
                job.progress = 100
            case JobState.CANCELLED:
                job.move(JobEvent.CANCEL, self.now)
                job.cancelled_by = item.cancelled_by
                job.progress = job.progress if item.progress is None else item.progress
            case _:
                job.move(JobEvent.FAIL, self.now)
                job.progress = job.progress if item.progress is None else item.progress

    def _release(self, node: NodeId, job_id: JobId, lease: int) -> dict[JobId, JobState]:
        """The body of a job that was ended under it has stopped."""
        job = self.jobs.get(job_id)
        if job is None or job.lease != lease or job.held_by != node or job.state not in ENDED:
            return {}
        cancelled = job.state is JobState.CANCELLED
        job.leave(AttemptOutcome.CANCELLED if cancelled else AttemptOutcome.TIMED_OUT)
        return {job.id: job.state}

    def _rescue(self, job: Expected) -> None:
        assert job.held_by is not None
        if job.state in ENDED:
            assert self._release(job.held_by, job.id, job.lease)
            return
        job.leave(AttemptOutcome.CRASHED)
        crashes = list(job.attempts.values()).count(AttemptOutcome.CRASHED)
        if job.attempt < job.wish.max_attempts and crashes < MAX_CRASHES:
            job.move(JobEvent.RESCUE, self.now)
            job.run_at, job.progress = self.now + job.wish.retry, 0
        else:
            job.move(JobEvent.FAIL, self.now)

    def _expire(self, late: set[JobId], failed: list[Job]) -> None:
        assert {job.id for job in failed} == late
        for job_id in late:
            self.jobs[job_id].move(JobEvent.EXPIRE, self.now)

    def _forget(self, job: Expected) -> None:
        del self.jobs[job.id]
        self.removed.add(job.id)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(opening, "now", clock)
    return clock


@pytest.mark.slow
def test_jobs_follow_the_state_machine(database: Database, clock: Clock) -> None:
    class Here(JobLife):
        def __init__(self) -> None:
            super().__init__(database, clock)

    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    run_state_machine_as_test(
        Here,
        settings=settings(
            max_examples=EXAMPLES, stateful_step_count=60, deadline=None, suppress_health_check=slow
        ),
    )
