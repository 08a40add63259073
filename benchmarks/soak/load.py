"""The load of the soak: jobs of all kinds at a steady rate, and changes that users make meanwhile."""

from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from typing import Any, Final

from sqlalchemy import Engine

from benchmarks.soak import application
from benchmarks.soak.application import FAIR, HELD, NARROW, note
from benchmarks.soak.calls import Calls, Worker, Workers
from horae import Horae, Job
from horae.client.operations.queues import Queues

STEP: Final = 0.25
"""Seconds between two batches of jobs."""
LIMIT: Final = 2
"""Jobs of the limited queue that may run at a time."""
RECENT: Final = 60
"""Started jobs of which one may be cancelled or retried."""
REDEPLOY_EVERY: Final = 20.0
"""Seconds between two deployments of changed schedules."""
MODULE: Final = application.horae.module

KINDS: Final[Mapping[str, tuple[int, Callable[[Random], dict[str, Any]]]]] = {
    "threaded": (8, lambda draw: {"milliseconds": draw.randrange(5, 60)}),
    "isolated": (2, lambda draw: {"milliseconds": draw.randrange(5, 60)}),
    "limited": (4, lambda draw: {"milliseconds": draw.randrange(20, 120)}),
    "holdable": (4, lambda _: {}),
    "transactional": (8, lambda draw: {"seed": draw.randrange(1_000_000)}),
    "transactional_async": (8, lambda draw: {"seed": draw.randrange(1_000_000)}),
    "retrying": (3, lambda draw: {"failures": draw.randrange(1, 4)}),
    "failing": (2, lambda _: {}),
    "slow": (1, lambda draw: {"seconds": draw.uniform(1.0, 6.0)}),
    "stubborn": (1, lambda draw: {"seconds": draw.uniform(0.5, 4.0)}),
    "progressing": (2, lambda draw: {"steps": draw.randrange(100, 3000)}),
    "hooked": (3, lambda _: {}),
    "metered": (4, lambda draw: {"milliseconds": draw.randrange(5, 60)}),
    "shared": (4, lambda draw: {"milliseconds": draw.randrange(5, 60)}),
    "polled": (2, lambda draw: {"snoozes": draw.randrange(1, 3)}),
    "single": (2, lambda draw: {"milliseconds": draw.randrange(5, 10)}),
}
"""The kinds of jobs with their share and their parameters."""


class Load(Workers):
    """Starts jobs and makes changes on threads of its own, all chosen by a seed.

    `engine` is the application's own, for jobs that are started in a transaction of the caller.
    """

    def __init__(
        self, horae: Horae, engine: Engine, rate: float, draw: Random, calls: Calls
    ) -> None:
        self._horae, self._engine, self._rate, self._calls = horae, engine, rate, calls
        self._starts, self._changes = Random(draw.random()), Random(draw.random())
        self._inline, self._grouping = Random(draw.random()), Random(draw.random())
        self._recent = deque[int](maxlen=RECENT)
        self._owed = 0.0
        self._versions = application.versions()
        self._deployed = 0
        self._queues = Queues(horae.components.database, horae.components.wakeup)
        self._workers = [
            Worker("starts", self._start_batch, lambda: STEP, calls),
            Worker("changes", self._change, lambda: self._changes.uniform(0.2, 1.0), calls),
            Worker("inline", self._run_inline, lambda: self._inline.uniform(1.0, 3.0), calls),
            Worker("groups", self._start_group, lambda: self._grouping.uniform(2.0, 4.0), calls),
            Worker("deployments", self._redeploy, lambda: REDEPLOY_EVERY, calls),
        ]

    def prepare(self) -> None:
        """Limit a queue and make one fair, deploy and add the schedules."""
        self._queues.limit(NARROW, LIMIT)
        self._queues.fair(FAIR, "owner")
        self._horae.deployments.deploy(MODULE, self._versions[0])
        application.add_schedules(self._horae)

    def let_all_run(self) -> bool:
        """Resume the queue and pause the schedules, so that all jobs can end and no more follow; True when done."""
        self._queues.pause(HELD)
        self._queues.resume(HELD)
        for schedule in self._horae.schedules.list():
            self._horae.schedules.pause(schedule.id, "the soak is over")
        return True

    def _start_batch(self) -> None:
        """Start what is due by the rate: half of it jobs that do nothing, in one statement."""
        self._owed += self._rate * STEP
        plain = int(self._owed / 2)
        others = int(self._owed) - plain
        self._owed -= plain + others
        if plain:
            self._created(self._calls.attempt("start many", partial(self._start_plain, plain)))
        for _ in range(others):
            self._start_one()

    def _start_plain(self, number: int) -> list[int]:
        return [int(job_id) for job_id in self._horae.jobs.start_many("quick", [{}] * number)]

    def _start_one(self) -> None:
        draw = self._starts
        [kind] = draw.choices(list(KINDS), [share for share, _ in KINDS.values()])
        values = KINDS[kind][1](draw)
        call: Callable[[], Job | None]
        match draw.randrange(12):
            case 0:
                call = partial(
                    self._horae.jobs.start, kind, priority=draw.randrange(-2, 3), **values
                )
            case 1:
                call = partial(
                    self._horae.jobs.start, kind, delay=f"{draw.randrange(100, 2000)}ms", **values
                )
            case 2:
                key = f"key-{draw.randrange(20)}"
                call = partial(
                    self._horae.jobs.start, kind, unique_key=key, on_duplicate="return", **values
                )
            case 3:
                call = partial(self._start_within, kind, values, commits=draw.random() < 0.7)
            case _:
                owner = f"user-{draw.randrange(5)}" if kind in ("hooked", "shared") else None
                call = partial(self._horae.jobs.start, kind, owner=owner, **values)
        job = self._calls.attempt("start", call)
        if job is not None:
            self._created([job.id])

    def _start_group(self) -> None:
        """Start a group of jobs that snooze, and a job after them."""
        members = [("polled", {"snoozes": snoozes}) for snoozes in range(3)]
        self._calls.attempt(
            "start group", partial(self._horae.jobs.start_group, members, then="combined")
        )

    def _start_within(self, kind: str, values: Mapping[str, Any], *, commits: bool) -> Job | None:
        """Start a job in a transaction of the caller, and commit that or roll it back."""
        with self._engine.connect() as connection:
            job = self._horae.jobs.start(kind, session=connection, **values)
            if commits:
                connection.commit()
                return job
            connection.rollback()
        return None

    def _created(self, ids: list[int] | None) -> None:
        for job_id in ids or []:
            note("created", job_id)
            self._recent.append(job_id)

    def _run_inline(self) -> None:
        """Run a job in this process."""
        kind = self._inline.choice(["quick", "transactional", "retrying", "failing"])
        values = {} if kind in {"quick", "failing"} else KINDS[kind][1](self._inline)
        job = self._calls.attempt(
            "start inline", partial(self._horae.jobs.start, kind, sync=True, **values)
        )
        if job is not None:
            self._created([job.id])

    def _redeploy(self) -> None:
        self._deployed = 1 - self._deployed
        version = self._versions[self._deployed]
        self._calls.attempt("deploy", partial(self._horae.deployments.deploy, MODULE, version))

    def _change(self) -> None:
        """Make one change that a user might make."""
        draw, jobs, schedules = self._changes, self._horae.jobs, self._horae.schedules
        name = draw.choice(list(application.SCHEDULES))
        recent = draw.choice(list(self._recent) or [1])
        running = self._running()
        chosen = draw.choice(running) if running and draw.random() < 0.7 else recent
        changes: dict[str, tuple[int, Callable[[], object]]] = {
            "cancel": (6, partial(self._cancel, chosen)),
            "retry": (2, partial(jobs.retry, recent)),
            "pause schedule": (2, partial(schedules.pause, name)),
            "resume schedule": (5, partial(schedules.resume, name)),
            "run schedule now": (2, partial(schedules.run_now, name)),
            "alter schedule": (1, partial(schedules.alter, name, priority=draw.randrange(-1, 2))),
            "pause queue": (1, partial(self._queues.pause, HELD)),
            "resume queue": (3, partial(self._queues.resume, HELD)),
        }
        [what] = draw.choices(list(changes), [share for share, _ in changes.values()])
        self._calls.attempt(what, changes[what][1])

    def _running(self) -> list[int]:
        found = self._calls.attempt(
            "list", partial(self._horae.jobs.list, states=["started"], limit=20)
        )
        return [] if found is None else [job.id for job in found.jobs]

    def _cancel(self, job_id: int) -> None:
        self._horae.jobs.cancel(job_id, by="soak")
        note("cancelled", job_id)
