"""Why a job waits, compared in random states with what claims then really do.

A state has nodes, queues, limits, jobs that run and jobs that wait. Of each waiting job the reason is
asked, and held against claims that are rolled back: one that is next is claimed with the free slots,
one that has a place is claimed with exactly so many slots, and any other is not claimed with any
number of slots. Then what one of them waits for is removed, reason by reason, until it is claimed.
"""

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final

import pytest
from sqlalchemy import Connection, delete, insert, update

from horae.domain.jobs.job import Job, JobId, JobState, NodeId
from horae.domain.jobs.why import WaitingFor, WaitReason
from horae.domain.limits.numbers import LimitNumbers
from horae.storage.engine.database import Database
from horae.storage.engine.dialect import database_now, seconds_from_now
from horae.storage.jobs import claims, creation, reading, waiting_reason
from horae.storage.jobs.claims import ClaimScope
from horae.storage.jobs.creation import JobRow
from horae.storage.jobs.group_tables import dependencies
from horae.storage.jobs.limit_tables import buckets
from horae.storage.jobs.limits import filing, lane_claims, limited_claims
from horae.storage.jobs.serving_nodes import WHY_NOT, live_nodes, serving
from horae.storage.jobs.tables import EVERY_QUEUE, jobs, nodes, queues
from horae.storage.nodes import nodes as node_operations
from horae.storage.nodes.nodes import NodeRecord
from horae.storage.operations import limits as limit_operations
from horae.storage.queues import queues as queue_operations

STATES: Final = {"sqlite": 50, "postgresql": 3}
"""How many states are tried; `TEST_FUZZ` tries so many of them."""
JOBS: Final = 20
ALL: Final = 1000
DAY: Final = 86_400.0
"""Seconds: longer than a test takes."""
TYPES: Final = ("fetch", "mail", "scan")
QUEUES: Final = ("default", "night", "post")
EVERYTHING: Final = ClaimScope(node=NodeId("any"), types=TYPES, queues=None)
NUMBERS: Final = (
    LimitNumbers(concurrency=1),
    LimitNumbers(concurrency=3),
    LimitNumbers(amount=2, period=3600 * 10**6, burst=2, window="bucket"),
    LimitNumbers(amount=3, period=3600 * 10**6, window="sliding"),
)
"""The numbers of the limits `limit0` to `limit3`."""
IN_ITS_ROW: Final[Mapping[WaitReason, Mapping[str, Any]]] = {
    WaitReason.PLANNED: {"run_at": database_now(), "lane_id": None},
    WaitReason.RETRY: {"run_at": database_now(), "lane_id": None},
    WaitReason.EXPIRED: {"expires_at": None},
    WaitReason.SENT: {"sent_at": None},
}
"""What removes a reason that is in the row of the job."""


class State:
    """A random state of one database."""

    def __init__(self, connection: Connection, rng: Random) -> None:
        self.connection, self.rng = connection, rng
        self.fair = set[str]()

    def arrange(self) -> None:
        """Make nodes, queues and jobs, some of which run."""
        for number in range(self.rng.choice((0, 1, 1, 2, 2, 3))):
            self._add_node(number)
        for name in QUEUES:
            self._set_queue(name)
        if self.rng.random() < 0.03:
            queue_operations.pause(self.connection, EVERY_QUEUE, "a note")
        self._add_jobs(JOBS)
        if self.rng.random() < 0.8:
            self.file()
            for _ in range(self.rng.randrange(3)):
                self._claim_some()
            self._add_jobs(self.rng.randrange(4))
            if self.rng.random() < 0.5:
                self.file()

    def _add_node(self, number: int) -> None:
        types = self.rng.sample(TYPES, self.rng.choice((1, 2, 3, 3)))
        names = self.rng.sample(QUEUES, self.rng.choice((1, 2)))
        self.add_node(
            f"node{number}",
            types,
            None if self.rng.random() < 0.6 else names,
            self.rng.choice((1, 2, 5)),
        )

    def add_node(
        self, name: str, types: Sequence[str], names: Sequence[str] | None, slots: int
    ) -> None:
        """Add a node that lives."""
        record = NodeRecord(
            id=NodeId(name),
            name=name,
            host="host",
            pid=1,
            version="1",
            roles='["worker"]',
            queues=None if names is None else json.dumps(names),
            types=json.dumps(types),
            concurrency=slots,
            lock_key=None,
        )
        node_operations.register(self.connection, record)
        # All claims of a state can take longer than a node may be silent.
        alive = update(nodes).where(nodes.c.id == name).values(heartbeat_at=seconds_from_now(DAY))
        self.connection.execute(alive)

    def _set_queue(self, name: str) -> None:
        chance = self.rng.random()
        if chance < 0.08:
            queue_operations.pause(self.connection, name, None)
        elif chance < 0.35:
            queue_operations.limit(self.connection, name, self.rng.choice((1, 2, 4)))
        elif chance < 0.5:
            queue_operations.fair(self.connection, name, "owner")
            self.fair.add(name)
        elif chance < 0.54:
            values = {"name": name, "backend": "celery"}
            self.connection.execute(insert(queues).values(values))

    def _add_jobs(self, count: int) -> None:
        for _ in range(count):
            entries = [
                [f"limit{number}", self.rng.choice("ab"), NUMBERS[number].to_json()]
                for number in self.rng.sample(range(len(NUMBERS)), self.rng.choice((0, 0, 0, 1, 2)))
            ]
            weight = self.rng.choice((1, 1, 1, 2))
            given = {"weight": weight, "limits": entries}
            row = JobRow(
                type=self.rng.choice(TYPES),
                queue=self.rng.choice(QUEUES),
                priority=self.rng.choice((-1, 0, 0, 0, 5)),
                params=None,
                owner=self.rng.choice(("ann", "bob", None)),
                limits=json.dumps(given) if entries else None,
            )
            job = creation.add(self.connection, row)
            changes: dict[str, Any] = {"run_at": seconds_from_now(-self.rng.uniform(0, 100))}
            chance = self.rng.random()
            if chance < 0.05:
                changes["run_at"] = seconds_from_now(3600.0)
            elif chance < 0.08:
                changes |= {"run_at": seconds_from_now(600.0), "retry_reason": "ValueError"}
            elif chance < 0.12:
                changes["expires_at"] = seconds_from_now(-1.0)
            elif chance < 0.15:
                changes["expires_at"] = seconds_from_now(DAY)
            elif chance < 0.18:
                changes["waits_for"] = "jobs"
                values = {"after_id": job.id, "job_id": job.id, "on_failure": "run"}
                self.connection.execute(insert(dependencies).values(values))
            elif chance < 0.20 and not entries and row.queue not in self.fair:
                changes["sent_at"] = database_now()
            self.change(job.id, **changes)

    def _claim_some(self) -> None:
        live = live_nodes(self.connection)
        if live:
            node = self.rng.choice(sorted(live, key=lambda node: node.id))
            scope = ClaimScope(node=node.id, types=node.types, queues=node.queues)
            self.claim(scope, self.rng.choice((1, 1, 2, node.free or 1)))

    def change(self, job_id: JobId, **values: Any) -> None:
        """Change the row of a job."""
        self.connection.execute(update(jobs).where(jobs.c.id == job_id).values(values))

    def file(self) -> None:
        """Put all jobs into their lanes, as nodes do."""
        while filing.file(self.connection):
            pass

    def claim(self, scope: ClaimScope, room: int) -> set[JobId]:
        """Claim as a node with so many free slots does, which has put all jobs into lanes."""
        taken = list[JobId]()
        known = claims.next_work(self.connection)
        if known.lanes and lane_claims.ahead(self.connection).due_in <= 0:
            found = lane_claims.claim(self.connection, scope, room, room)
            taken, room = [claim.id for claim in found.claims], found.plain_room
        if room > 0:
            names = limited_claims.limited_queues_with_room(self.connection, scope, room)
            if names:
                plain = limited_claims.claim(self.connection, scope, room, names).claims
            else:
                plain = claims.claim(self.connection, scope, room)
            taken += [claim.id for claim in plain]
        return set(taken)

    def would_take(self, scope: ClaimScope, room: int) -> set[JobId]:
        """Return what such a claim takes, without taking it."""
        if room <= 0:
            return set()
        with self.connection.begin_nested() as savepoint:
            taken = self.claim(scope, room)
            savepoint.rollback()
        return taken

    def waiting(self) -> list[Job]:
        """Return the jobs that wait."""
        found = reading.get_many(
            self.connection,
            list(self.connection.scalars(jobs.select().with_only_columns(jobs.c.id))),
        )
        waiting = (job for job in found if job.state is JobState.PENDING)
        return sorted(waiting, key=lambda job: job.id)

    def reason(self, job: Job) -> WaitingFor:
        """Return why this job waits, as it is now."""
        now = reading.get(self.connection, job.id)
        assert now is not None
        return waiting_reason.read_waiting(self.connection, now)

    def remove(self, job: Job, waiting: WaitingFor) -> None:
        """Remove what the job waits for."""
        if waiting.reason in IN_ITS_ROW:
            self.change(job.id, **IN_ITS_ROW[waiting.reason])
            return
        match waiting.reason:
            case WaitReason.JOBS:
                self.connection.execute(delete(dependencies).where(dependencies.c.job_id == job.id))
                in_lane = queue_operations.settings(self.connection, job.queue).get("fair_by")
                limited = reading.limits(self.connection, job.id) is not None or in_lane
                self.change(job.id, waits_for="limit" if limited else None)
            case WaitReason.EVERYTHING_PAUSED:
                queue_operations.resume(self.connection, EVERY_QUEUE)
            case WaitReason.QUEUE_PAUSED:
                queue_operations.resume(self.connection, job.queue)
            case WaitReason.LIMITS_ELSEWHERE | WaitReason.UNSENT:
                changed = update(queues).where(queues.c.name == job.queue).values(backend=None)
                self.connection.execute(changed)
            case WaitReason.NO_NODE | WaitReason.UNKNOWN_TYPE | WaitReason.UNSERVED_QUEUE:
                self.add_node("new", TYPES, None, 1)
            case WaitReason.UNFILED:
                self.file()
            case WaitReason.LIMIT:
                name = self.connection.scalar(
                    buckets.select()
                    .with_only_columns(buckets.c.limit_name)
                    .where(buckets.c.id == waiting.bucket_id)
                )
                assert name is not None
                wide = LimitNumbers(concurrency=1_000_000)
                limit_operations.change(self.connection, name, wide, None)
            case WaitReason.QUEUE_LIMIT:
                queue_operations.limit(self.connection, job.queue, None)
            case WaitReason.SLOT:
                self.connection.execute(update(nodes).values(concurrency=ALL))
            case _:
                raise AssertionError(f"a waiting job is {waiting.reason}")


def check_reasons(state: State) -> Counter[WaitReason]:
    """Compare the reason of each waiting job with claims of all sizes that it speaks of."""
    taken: dict[tuple[tuple[str, ...], tuple[str, ...] | None, int], set[JobId]] = {}

    def would_take(scope: ClaimScope, room: int) -> set[JobId]:
        key = (tuple(scope.types), None if scope.queues is None else tuple(scope.queues), room)
        if key not in taken:
            taken[key] = state.would_take(scope, room)
        return taken[key]

    seen = Counter[WaitReason]()
    for job in state.waiting():
        waiting = state.reason(job)
        kinds = serving(live_nodes(state.connection), job.type, job.queue)
        seen[waiting.reason] += 1
        told = f"job {job.id} ({job.type}, {job.queue}): {waiting}"
        if waiting.reason is WaitReason.NEXT:
            assert any(job.id in would_take(kind.scope, kind.free) for kind in kinds), told
        elif waiting.reason is WaitReason.SLOT:
            assert all(job.id not in would_take(kind.scope, kind.free) for kind in kinds), told
            if not waiting.ahead_is_least:
                assert waiting.ahead is not None
                place = waiting.ahead + 1
                assert any(job.id in would_take(kind.scope, place) for kind in kinds), told
                # A node with more free slots may fill the queue of the job from lanes.
                small = [kind for kind in kinds if kind.free <= waiting.ahead]
                assert all(job.id not in would_take(kind.scope, waiting.ahead) for kind in small), (
                    told
                )
        else:
            assert all(job.id not in would_take(kind.scope, ALL) for kind in kinds), told
            # How full a limit is when a claim comes to a job depends on what else the node takes.
            by_nodes = waiting.reason in (WaitReason.LIMIT, WaitReason.QUEUE_LIMIT)
            if waiting.reason not in WHY_NOT and not by_nodes:
                assert job.id not in would_take(EVERYTHING, ALL), told
    return seen


def remove_all_reasons(state: State, job: Job) -> None:
    """Remove one reason after the other, until the job is next, and is claimed."""
    told = list[WaitingFor]()
    for _ in range(15):
        waiting = state.reason(job)
        told.append(waiting)
        if waiting.reason is WaitReason.NEXT:
            break
        state.remove(job, waiting)
        after = state.reason(job)
        assert (after.reason, after.bucket_id) != (waiting.reason, waiting.bucket_id), told
    kinds = serving(live_nodes(state.connection), job.type, job.queue)
    assert any(job.id in state.would_take(kind.scope, kind.free) for kind in kinds), told


@pytest.mark.slow
def test_the_reason_is_what_the_claim_does(
    database: Database, request: pytest.FixtureRequest
) -> None:
    states = STATES["sqlite" if database.is_file else "postgresql"]
    states = int(os.environ.get("TEST_FUZZ", states))
    seen = Counter[WaitReason]()
    for seed in range(states):

        def run(connection: Connection, seed: int = seed) -> None:
            rng = Random(seed)
            state = State(connection, rng)
            with connection.begin_nested() as savepoint:
                state.arrange()
                seen.update(check_reasons(state))
                waiting = state.waiting()
                for job in rng.sample(waiting, min(2, len(waiting))):
                    with connection.begin_nested() as of_job:
                        remove_all_reasons(state, job)
                        of_job.rollback()
                savepoint.rollback()

        try:
            database.transact(run)
        except AssertionError as error:
            raise AssertionError(f"in state {seed}: {error}") from error
    waited = set(WaitReason) - {
        WaitReason.GONE,
        WaitReason.RUNNING,
        WaitReason.STOPPING,
        WaitReason.ENDED,
    }
    assert states < STATES["sqlite"] or set(seen) == waited, waited - set(seen)
