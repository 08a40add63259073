"""The application of the fault tests: its jobs log what they do, and insert one row each time that they finish."""

import asyncio
import ctypes
import os
import signal
import time
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any, Final

from pydantic import BaseModel
from sqlalchemy import text
from typing_extensions import override

from horae import Backoff, Horae, JobContext, JobType, Limit, Snooze, Unique
from tests.harness.body_log import log_body, logged

SCHEMA: Final = "CREATE TABLE IF NOT EXISTS effects (job BIGINT NOT NULL, attempt INTEGER NOT NULL)"
EFFECT: Final = text("INSERT INTO effects VALUES (:job, :attempt)")
GRACE_VARIABLE: Final = "HORAE_TEST_GRACE"
"""Names the seconds for which a node that stops lets bodies finish; 5 if it is not set."""
SHORT_BACKOFF: Final = Backoff(base=timedelta(milliseconds=20), cap=timedelta(milliseconds=200))
FAIR: Final = "shared"
"""The queue in which owners take turns."""
MEMBERS: Final = 5
"""Members of each group."""
MANY_ATTEMPTS: Final = 1_000
"""More than any test needs, so that only success ends these jobs."""


def fault_application(url: str) -> Horae:
    """Return an application on a migrated database that has the table of effects."""
    horae = Horae(url, grace=timedelta(seconds=float(os.environ.get(GRACE_VARIABLE, "5"))))
    _declare_lasting(horae)
    _declare_lengthy(horae)
    _declare_fragile(horae)
    _declare_stalling(horae)
    _declare_obedient(horae)
    _declare_short(horae)
    _declare_holding(horae)
    _declare_limited(horae)
    _declare_with_options(horae)
    _declare_gathering(horae)
    horae.registry.add(Contained())
    return horae


class Seed(BaseModel):
    """The parameter of a job that draws how long it takes."""

    seed: int


class Contained(JobType[Seed]):
    """A job in a child process, which is tried once and may run again after an orderly stop."""

    type = "contained"
    params = Seed
    isolation = "process"
    on_shutdown = "requeue"

    @override
    def run(self, job: JobContext[Seed]) -> None:
        with logged(job):
            time.sleep(Random(job.params.seed + job.claim.lease).uniform(0.0, 0.3))


class Numbered(BaseModel):
    """The parameters of a job in a batch."""

    number: int
    deadly: bool = False


def _declare_gathering(horae: Horae) -> None:
    """Declare jobs that are run several at a time; in its first attempt a deadly one kills the process."""

    @horae.job(batch=20, within="200ms", max_attempts=MANY_ATTEMPTS, backoff=SHORT_BACKOFF)
    def gathered(jobs: list[JobContext[Numbered]]) -> list[int]:
        for job in jobs:
            log_body("begin", job)
        if any(job.params.deadly and job.attempt == 1 for job in jobs):
            os.kill(os.getpid(), signal.SIGKILL)
        for job in jobs:
            log_body("end", job)
        return [job.params.number for job in jobs]


def _declare_with_options(horae: Horae) -> None:
    """Declare jobs under limits by key, in a fair queue, with a unique key, that snooze, and that follow a group."""
    third = Limit(concurrency=2, key=third_of), Limit(rate="100/s", burst=10, key=third_of)
    lasting: Any = {"max_attempts": MANY_ATTEMPTS, "backoff": SHORT_BACKOFF}

    @horae.job(limits=third, **lasting)
    async def metered(job: JobContext, seed: int) -> None:
        with logged(job):
            await asyncio.sleep(Random(seed).uniform(0.0, 0.02))

    @horae.job(queue=FAIR, **lasting)
    async def shared(job: JobContext, seed: int) -> None:
        with logged(job):
            await asyncio.sleep(Random(seed).uniform(0.0, 0.02))

    @horae.job(unique=Unique(on_duplicate="return"), **lasting)
    async def single(job: JobContext, seed: int) -> None:
        with logged(job):
            await asyncio.sleep(Random(seed).uniform(0.0, 0.02))

    @horae.job(on_shutdown="requeue", **lasting)
    async def polled(job: JobContext, seed: int) -> None:
        with logged(job):
            if job.claim.lease == 1:
                raise Snooze(timedelta(milliseconds=seed % 50))

    @horae.job(expires="10m", **lasting)
    async def combined(job: JobContext) -> None:
        with logged(job):
            assert len(list(await asyncio.to_thread(lambda: list(job.group.members())))) == MEMBERS


def third_of(parameters: Any) -> str:
    """Return the key of a job under a limit: one of three."""
    return str(parameters.seed % 3)


def _declare_limited(horae: Horae) -> None:
    """Declare jobs of which two run at a time, and twenty start in a second, for each account."""
    limits = [Limit(concurrency=2, key="{account}"), Limit(rate="20/s", burst=3, key="{account}")]

    @horae.job(limits=limits, max_attempts=MANY_ATTEMPTS, backoff=SHORT_BACKOFF)
    async def limited(job: JobContext, account: str) -> None:
        with logged(job):
            await asyncio.sleep(0.02)


def _declare_lasting(horae: Horae) -> None:
    """Declare jobs that are retried until they finish; their effect is committed together with their end."""

    @horae.job(
        transaction="read committed",
        max_attempts=MANY_ATTEMPTS,
        backoff=SHORT_BACKOFF,
        max_count=None,
    )
    def threaded(job: JobContext, seed: int) -> int:
        draw = Random(seed + job.attempt)
        with logged(job):
            time.sleep(draw.uniform(0.0, 0.1))
            job.progress.set(50, "about to write")
            insert_effect(job)
            time.sleep(draw.choice([0.0, 0.0, 0.005, 0.02]))
            return job.attempt

    @horae.job(
        transaction="read committed",
        max_attempts=MANY_ATTEMPTS,
        backoff=SHORT_BACKOFF,
        max_count=None,
    )
    async def looped(job: JobContext, seed: int) -> int:
        draw = Random(seed + job.attempt)
        with logged(job):
            await asyncio.sleep(draw.uniform(0.0, 0.1))
            job.progress.set(50, "about to write")
            log_body("effect", job)
            await job.async_connection.execute(EFFECT, {"job": job.id, "attempt": job.attempt})
            await asyncio.sleep(draw.choice([0.0, 0.0, 0.005, 0.02]))
            return job.attempt


def _declare_lengthy(horae: Horae) -> None:
    """Declare jobs that are tried once, and take longer than a short grace; nothing of an interrupted one is left."""

    @horae.job(transaction="read committed")
    async def lengthy(job: JobContext, seed: int) -> None:
        with logged(job):
            await asyncio.sleep(Random(seed + job.claim.lease).uniform(0.0, 0.6))
            log_body("effect", job)
            await job.async_connection.execute(EFFECT, {"job": job.id, "attempt": job.attempt})


def insert_effect(job: JobContext) -> None:
    """Insert the row in the job's transaction, and log that."""
    log_body("effect", job)
    job.connection.execute(EFFECT, {"job": job.id, "attempt": job.attempt})


def _declare_fragile(horae: Horae) -> None:
    """Declare jobs that are tried once and have no effect."""

    @horae.job(max_count=None)
    def fragile(job: JobContext, seed: int) -> None:
        with logged(job):
            for _ in job.progress.track(range(10)):
                time.sleep(Random(seed).uniform(0.0, 0.02))


def _declare_short(horae: Horae) -> None:
    """Declare short jobs that are tried once; one kills its process meanwhile."""

    @horae.job(max_count=None)
    async def quick(job: JobContext, *, deadly: bool = False) -> None:
        with logged(job):
            end_process_if(deadly)

    @horae.job(max_count=None)
    def brief(job: JobContext, *, deadly: bool = False) -> None:
        with logged(job):
            end_process_if(deadly)
            time.sleep(0.02)


def end_process_if(deadly: bool) -> None:
    """Kill this process, so that its bodies end without a chance to do anything."""
    if deadly:
        os.kill(os.getpid(), signal.SIGKILL)


def _declare_stalling(horae: Horae) -> None:
    """Declare a job whose first attempt waits for the file `gate`; later attempts do not."""

    @horae.job(transaction="read committed", max_attempts=MANY_ATTEMPTS, backoff=SHORT_BACKOFF)
    def stalling(job: JobContext, gate: str, *, early: bool) -> int:
        """`early`: write before the wait, and so hold locks meanwhile."""
        with logged(job):
            if early:
                insert_effect(job)
            job.progress.set(10, "waiting at the gate")
            while job.attempt == 1 and not Path(gate).exists():
                time.sleep(0.01)
            if not early:
                insert_effect(job)
            return job.attempt


def _declare_obedient(horae: Horae) -> None:
    """Declare a job whose first attempt goes on until it is told to stop."""

    @horae.job(
        transaction="read committed",
        max_attempts=MANY_ATTEMPTS,
        backoff=SHORT_BACKOFF,
        max_count=None,
    )
    def obedient(job: JobContext, *, early: bool = False) -> int:
        """`early`: write before that, and so hold a lock that the next attempt needs."""
        with logged(job):
            if early:
                insert_effect(job)
            while job.attempt == 1:
                job.check()
                time.sleep(0.005)
            if not early:
                insert_effect(job)
            return job.attempt


def _declare_holding(horae: Horae) -> None:
    """Declare a job that keeps the interpreter's lock, as a call of a C extension may."""

    @horae.job(max_attempts=MANY_ATTEMPTS, backoff=SHORT_BACKOFF, max_count=None)
    def holding(job: JobContext, seconds: float) -> int:
        with logged(job):
            ctypes.PyDLL(None).usleep(
                int(seconds * 1_000_000)
            )  # unlike CDLL this keeps the interpreter's lock
            return job.attempt
