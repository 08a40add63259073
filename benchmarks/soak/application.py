"""The application of the soak: job types and schedules of all kinds, whose bodies log what they do.

The log has one JSON object a line, in the format of `tests/checker`, which compares it with the tables afterwards.
"""

import asyncio
import json
import os
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any, Final

from sqlalchemy import Connection, text

from horae import Backoff, Horae, Job, JobContext, JobType, Limit, Snooze, Unique
from horae.domain.cron.expression import CronExpression
from horae.domain.schedules.trigger import CronTrigger
from horae.types.schedule import Schedule

EFFECTS: Final = "CREATE TABLE effects (job BIGINT NOT NULL, attempt INTEGER NOT NULL)"
CREATIONS: Final = "CREATE TABLE creations (job BIGINT NOT NULL)"
EFFECT: Final = text("INSERT INTO effects VALUES (:job, :attempt)")
LOG_VARIABLE: Final = "SOAK_LOG"
SHORT_BACKOFF: Final = Backoff(base=timedelta(milliseconds=100), cap=timedelta(seconds=1))
MANY_ATTEMPTS: Final = 1000
"""More than any run needs, so that only success or a cancel ends these jobs."""
NARROW, HELD, FAIR = "narrow", "held", "fair"
"""A queue with a limit, one that is paused from time to time, and one in which owners take turns."""

horae = Horae()
each_body: list[Callable[[], None]] = []
"""Called at the begin of each body in the node's own process; tests add a leak here."""


def note(what: str, job: int, **more: Any) -> None:
    """Append one line in one write, so that a kill cannot mix it with another."""
    file = os.environ.get(LOG_VARIABLE, os.devnull)
    line = json.dumps({"what": what, "job": job, **more, "at": time.monotonic()})
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, f"{line}\n".encode())
    finally:
        os.close(descriptor)


def _note_body(what: str, job: JobContext[Any]) -> None:
    note(what, job.id, attempt=job.attempt, lease=job.claim.lease, node=str(os.getpid()))


@contextmanager
def noted(job: JobContext[Any]) -> Generator[None]:
    """Log the begin and the end of a body."""
    _note_body("begin", job)
    for call in each_body:
        call()
    try:
        yield
    finally:
        _note_body("end", job)


@horae.job(max_count=None)
async def quick(job: JobContext) -> None:
    """A coroutine that does nothing; its pick-up is measured."""
    with noted(job):
        pass


@horae.job(max_count=None)
def threaded(job: JobContext, milliseconds: int) -> None:
    """A function on a thread."""
    with noted(job):
        time.sleep(milliseconds / 1000)


@horae.job(max_count=None, isolation="process")
def isolated(job: JobContext, milliseconds: int) -> int:
    """A function in a child process."""
    with noted(job):
        time.sleep(milliseconds / 1000)
        return os.getpid()


@horae.job(max_count=None, queue=NARROW)
def limited(job: JobContext, milliseconds: int) -> None:
    """A function of which only a few may run at a time."""
    with noted(job):
        time.sleep(milliseconds / 1000)


def third_of(parameters: Any) -> str:
    """Return the key of a job under limits by key: one of three."""
    return str(parameters.milliseconds % 3)


@horae.job(
    max_count=None,
    limits=[Limit(concurrency=2, key=third_of), Limit(rate="20/s", burst=5, key=third_of)],
)
async def metered(job: JobContext, milliseconds: int) -> None:
    """A coroutine of which few may start and run for each key."""
    with noted(job):
        await asyncio.sleep(milliseconds / 1000)


@horae.job(max_count=None, queue=FAIR)
async def shared(job: JobContext, milliseconds: int) -> None:
    """A coroutine in the queue in which owners take turns."""
    with noted(job):
        await asyncio.sleep(milliseconds / 1000)


@horae.job(max_count=None, max_attempts=5, backoff=SHORT_BACKOFF)
async def polled(job: JobContext, snoozes: int) -> None:
    """A coroutine that snoozes a few times."""
    with noted(job):
        if job.claim.lease <= snoozes:
            raise Snooze("100ms")


@horae.job(max_count=None, unique=Unique(on_duplicate="return"), expires="10m")
async def single(job: JobContext, milliseconds: int) -> None:
    """A coroutine of which one for each parameter is active."""
    with noted(job):
        await asyncio.sleep(milliseconds / 1000)


@horae.job(max_count=None)
async def combined(job: JobContext) -> int:
    """A coroutine that runs after a group."""
    with noted(job):
        return len([member async for member in job.async_group.members()])


@horae.job(max_count=None, queue=HELD)
async def holdable(job: JobContext) -> None:
    """A coroutine in the queue that is paused from time to time."""
    with noted(job):
        await asyncio.sleep(0.01)


@horae.job(
    max_count=None, transaction="read committed", max_attempts=MANY_ATTEMPTS, backoff=SHORT_BACKOFF
)
def transactional(job: JobContext, seed: int) -> int:
    """A function whose effect is committed together with its end."""
    with noted(job):
        draw = Random(seed + job.attempt)
        time.sleep(draw.uniform(0.0, 0.1))
        job.progress.set(50, "about to write")
        job.connection.execute(EFFECT, {"job": job.id, "attempt": job.attempt})
        _note_body("effect", job)
        time.sleep(draw.choice([0.0, 0.0, 0.005, 0.02]))
        return job.attempt


@horae.job(
    max_count=None, transaction="read committed", max_attempts=MANY_ATTEMPTS, backoff=SHORT_BACKOFF
)
async def transactional_async(job: JobContext, seed: int) -> int:
    """A coroutine whose effect is committed together with its end."""
    with noted(job):
        draw = Random(seed + job.attempt)
        await asyncio.sleep(draw.uniform(0.0, 0.1))
        await job.async_connection.execute(EFFECT, {"job": job.id, "attempt": job.attempt})
        _note_body("effect", job)
        await asyncio.sleep(draw.choice([0.0, 0.0, 0.005, 0.02]))
        return job.attempt


@horae.job(max_count=None, max_attempts=5, backoff=SHORT_BACKOFF)
def retrying(job: JobContext, failures: int) -> None:
    """A function that fails in its first attempts."""
    with noted(job):
        if job.attempt <= failures:
            raise RuntimeError(f"attempt {job.attempt} fails")


@horae.job(max_count=None)
async def failing(job: JobContext) -> None:
    """A coroutine that always fails."""
    with noted(job):
        raise ValueError("always fails")


@horae.job(max_count=None)
def slow(job: JobContext, seconds: float) -> None:
    """A function that takes seconds and notices a cancel at its next progress call."""
    with noted(job):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(left, 0.1))
            job.progress.set(100 * (1 - max(left, 0) / seconds))


@horae.job(max_count=None, isolation="process")
def stubborn(job: JobContext, seconds: float) -> None:
    """A function that notices no cancel, so that its process is stopped by force."""
    with noted(job):
        time.sleep(seconds)


@horae.job(max_count=None)
def progressing(job: JobContext, steps: int) -> None:
    """A function that reports its progress very often."""
    with noted(job):
        progress = job.progress.child(100, steps)
        for _ in range(steps):
            progress.increment()


@horae.job(max_count=None)
async def paced(job: JobContext, seconds: list[float], failing_share: float = 0.0) -> None:
    """A coroutine of a schedule: takes one of these times and fails in a share of its runs."""
    with noted(job):
        draw = Random(job.id)
        await asyncio.sleep(draw.choice(seconds))
        if draw.random() < failing_share:
            raise RuntimeError("unlucky")


@horae.register
class Hooked(JobType[Any]):
    """A job type with all hooks, one of which fails at times."""

    type = "hooked"
    max_count = 3
    max_attempts = 2
    backoff = SHORT_BACKOFF

    def after_creation(self, job: Job, values: Mapping[str, Any], connection: Connection) -> None:  # noqa: ARG002
        """Write a row in the transaction that creates the job."""
        connection.execute(text("INSERT INTO creations VALUES (:job)"), {"job": job.id})

    def run(self, job: JobContext[Any]) -> None:
        """Fail in a share of the jobs."""
        with noted(job):
            time.sleep(0.05)
            if job.id % 3 == 0:
                raise RuntimeError("one in three fails")

    def on_error(self, job: Job, error: BaseException) -> None:  # noqa: ARG002
        """Fail for some jobs, which may affect no other."""
        if job.id % 2 == 0:
            raise RuntimeError("a hook that fails")

    def on_cancelled(self, job: Job) -> None:
        """Do nothing, but as a hook that is owed."""

    def before_delete(self, job: Job) -> None:  # noqa: ARG002
        """Take a moment, as the removal of files does."""
        time.sleep(0.001)


@horae.cron("* * * * * *")
async def each_second(job: JobContext) -> None:
    """A schedule whose runs are sometimes longer than a second, so that times are skipped."""
    with noted(job):
        await asyncio.sleep(Random(job.id).choice([0.0, 0.1, 1.5]))


@horae.every("2s", retry_period="1s")
def interval(job: JobContext) -> None:
    """A schedule that counts from the finish and fails at times."""
    with noted(job):
        if job.id % 4 == 0:
            raise RuntimeError("unlucky")


@horae.cron("*/2 * * * * *", overlap="buffer_one")
async def comes_and_goes(job: JobContext) -> None:
    """A schedule that one of the two versions lacks."""
    with noted(job):
        await asyncio.sleep(0.05)


def versions() -> list[list[Schedule]]:
    """Return the declared schedules, and a later version of them: one changed and one removed."""
    changed = CronTrigger(CronExpression.parse("*/3 * * * * *"))
    later = [
        replace(schedule, rules=replace(schedule.rules, trigger=changed))
        if schedule.name == "each_second"
        else schedule
        for schedule in horae.declared
        if schedule.name != "comes_and_goes"
    ]
    return [list(horae.declared), later]


SCHEDULES: Final[dict[str, dict[str, Any]]] = {
    "skips": {"cron": "* * * * * *", "overlap": "skip", "config": {"seconds": [0.0, 0.3, 2.2]}},
    "buffers one": {
        "cron": "* * * * * *",
        "overlap": "buffer_one",
        "config": {"seconds": [0.1, 1.4]},
    },
    "buffers all": {
        "cron": "*/2 * * * * *",
        "overlap": "buffer_all",
        "config": {"seconds": [0.1, 2.5]},
    },
    "cancels": {
        "cron": "*/3 * * * * *",
        "overlap": "cancel_other",
        "config": {"seconds": [0.1, 4.5]},
    },
    "terminates": {
        "cron": "*/5 * * * * *",
        "overlap": "terminate_other",
        "config": {"seconds": [0.1, 7.0]},
    },
    "allows all": {
        "cron": "*/2 * * * * *",
        "overlap": "allow_all",
        "config": {"seconds": [0.1, 3.0]},
    },
    "catches up": {
        "cron": "*/2 * * * * *",
        "catch_up": "all",
        "catch_up_limit": 10,
        "config": {"seconds": [0.1]},
    },
    "unlucky": {
        "every": "1s",
        "retry_period": "500ms",
        "config": {"seconds": [0.05], "failing_share": 0.4},
    },
    "overruns": {"cron": "*/4 * * * * *", "max_runtime": "1s", "config": {"seconds": [0.1, 2.0]}},
    "spread": {"every": "3s", "fixed": True, "jitter": "500ms", "config": {"seconds": [0.1]}},
}
"""The schedules of `paced` that the load adds while the nodes run."""


def add_schedules(application: Horae) -> None:
    """Add the schedules of `paced`."""
    for name, options in SCHEDULES.items():
        application.schedules.add(paced, name=name, **options)
