"""The application that runs in the simulation: bodies of all kinds, which record what they do in a log of their own."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Any, Final

from sqlalchemy import text

from horae import Horae, JobContext, JobType, Retry
from horae.domain.backoff import Backoff
from horae.domain.jobs import Job
from tests.simulation import world
from tests.simulation.faults import Gate
from tests.simulation.world import Process

app: Final = Horae("sqlite:///never-opened.db", module="simulated")
SOON: Final = Backoff(base=timedelta(seconds=0.3), cap=timedelta(seconds=2))


@dataclass(frozen=True, slots=True)
class Entry:
    """What a body or hook did: `begin`, `end` or a hook's name; `order` counts the entries of a world."""

    order: int
    at: float
    what: str
    job: int
    lease: int
    process: str
    attempt: int = 0


def record(what: str, job_id: int, lease: int, attempt: int = 0) -> None:
    """Add an entry to the log of the bodies."""
    here = world.current()
    here.running.process.check()  # the code of a killed process may go on for a moment while it is unwound
    log = here.surroundings.bodies
    log.append(Entry(len(log), here.now, what, job_id, lease, here.running.process.name, attempt))
    here.note(f"{what} {job_id}/{lease}")


def note_death(process: Process) -> None:
    """Add to the log that a process and all of its bodies have ended."""
    here = process.world
    log = here.surroundings.bodies
    log.append(Entry(len(log), here.now, "died", 0, 0, process.name))


def dice(job: JobContext[Any]) -> Random:
    """Return random numbers that depend on the job, the attempt and the seed only."""
    return Random(f"{world.current().seed} body {job.id} {job.attempt}")


def sleep(job: JobContext[Any], seconds: float) -> None:
    """Let the thread of a body sleep."""
    here = world.current()
    for _ in range(5):
        here.wait(here.running.process.clock.duration(seconds / 5))
        job.check()


class Recorded:
    """Records the begin and the end of a body, whatever ends it."""

    def __init__(self, job: JobContext[Any]) -> None:
        self._job = job

    def __enter__(self) -> None:
        """Record the begin."""
        record("begin", self._job.id, self._job.claim.lease, self._job.attempt)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Record the end, unless the process was killed."""
        here = world.current()
        if (
            kind is not GeneratorExit
            and not here.ended
            and here.lane is not None
            and not here.running.process.dead
        ):
            record(
                "end" if kind is None else "stopped",
                self._job.id,
                self._job.claim.lease,
                self._job.attempt,
            )
            Gate.of(here.running.process).body_ended()


class Unlucky(Exception):
    """A body fails."""


@app.job(max_count=None)
async def brief(job: JobContext) -> None:
    """Do nothing."""
    with Recorded(job):
        pass


@app.job(max_count=None)
async def once(job: JobContext) -> int:
    """Take a while; may run only once."""
    with Recorded(job):
        await pause(dice(job).uniform(0.1, 2.5))
    return job.id


@app.job(max_count=None, max_attempts=3, backoff=SOON)
async def steady(job: JobContext) -> None:
    """Take long and report progress; runs again after a crash."""
    with Recorded(job):
        length = dice(job).choice((0.1, 0.3, 0.6, 2.0))
        for _ in job.progress.track(range(5)):
            await pause(length)


@app.job(max_count=None, max_attempts=4, backoff=SOON)
async def flaky(job: JobContext) -> None:
    """Fail half of the time."""
    with Recorded(job):
        await pause(dice(job).uniform(0.0, 0.5))
        if dice(job).random() < 0.5:
            raise Unlucky


@app.job(max_count=None, max_attempts=2, backoff=SOON)
def threaded(job: JobContext) -> None:
    """Run on a thread."""
    with Recorded(job):
        sleep(job, dice(job).uniform(0.1, 2.0))


@app.job(max_count=None, max_attempts=3, backoff=SOON, transaction="read committed")
def transfer(job: JobContext) -> None:
    """Write rows in the job's own transaction; fails sometimes after that."""
    with Recorded(job):
        sleep(job, dice(job).uniform(0.0, 0.4))
        effect(job, 1)
        sleep(job, dice(job).uniform(0.0, 0.4))
        effect(job, 2)
        if dice(job).random() < 0.2:
            raise Unlucky


@app.job(max_count=None, max_attempts=3, backoff=SOON, transaction="read committed")
async def transfer_in_loop(job: JobContext) -> None:
    """Write rows in the job's own transaction from a coroutine; fails sometimes after that."""
    with Recorded(job):
        for part in (1, 2):
            await pause(dice(job).uniform(0.0, 0.4))
            await job.async_connection.execute(EFFECT, effect_of(job, part))
            record("effect", job.id, job.claim.lease, job.attempt)
        if dice(job).random() < 0.2:
            raise Unlucky


def effect(job: JobContext[Any], part: int) -> None:
    """Insert a row in the transaction of a job."""
    job.connection.execute(EFFECT, effect_of(job, part))
    record("effect", job.id, job.claim.lease, job.attempt)


def effect_of(job: JobContext[Any], part: int) -> dict[str, int]:
    """Return the row that one part of a job inserts."""
    return {"job": job.id, "attempt": job.attempt, "lease": job.claim.lease, "part": part}


EFFECT: Final = text(
    "INSERT INTO sim_effects (job, attempt, lease, part) VALUES (:job, :attempt, :lease, :part)"
)


@app.job(max_count=None, queue="narrow", max_attempts=2, backoff=SOON)
async def limited(job: JobContext) -> None:
    """Run in a queue with a concurrency limit."""
    with Recorded(job):
        await pause(dice(job).uniform(0.1, 1.0))


@app.register
class Hooked(JobType[Any]):
    """Fails, so that its hook is owed."""

    type = "hooked"
    max_count = None

    def run(self, job: JobContext[Any]) -> None:
        """Fail after a while."""
        with Recorded(job):
            sleep(job, dice(job).uniform(0.0, 1.0))
            raise Unlucky

    def on_error(self, job: Job, error: BaseException) -> None:
        """Record the call."""
        del error
        record("on_error", job.id, job.lease)

    def on_cancelled(self, job: Job) -> None:
        """Record the call."""
        record("on_cancelled", job.id, job.lease)


@app.cron("*/4 * * * * *", overlap="skip")
async def every_four(job: JobContext) -> None:
    """Run at fixed times, sometimes for longer than until the next one."""
    with Recorded(job):
        await pause(dice(job).choice((0.1, 0.5, 4.5)))


@app.every("3s", retry_period="1s", max_attempts=2)
async def repeating(job: JobContext) -> None:
    """Run again some time after the finish; fails sometimes, and is tried again within the run first."""
    with Recorded(job):
        await pause(dice(job).uniform(0.1, 1.0))
        if dice(job).random() < 0.3:
            raise Retry(after="500ms")


@app.every("5s", fixed=True, overlap="buffer_one")
def buffered(job: JobContext) -> None:
    """Run on a grid; what comes due during a run follows it."""
    with Recorded(job):
        sleep(job, dice(job).choice((0.2, 5.5)))


@app.cron("*/5 * * * * *", overlap="cancel_other")
async def replaced(job: JobContext) -> None:
    """Stop the run before it."""
    with Recorded(job):
        await pause(dice(job).choice((0.2, 5.5)))


async def pause(seconds: float) -> None:
    """Sleep in a coroutine."""
    await asyncio.sleep(seconds)


KINDS: Final[Mapping[str, int]] = {
    "brief": 4,
    "once": 3,
    "steady": 3,
    "flaky": 3,
    "threaded": 2,
    "transfer": 4,
    "limited": 3,
    "hooked": 2,
}
"""The job types that callers start, and how often in proportion."""
