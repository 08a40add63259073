"""The application of the fault tests: its jobs insert one row each time that their body finishes."""

import asyncio
import ctypes
import os
import signal
import time
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Final

from sqlalchemy import text

from horae import Backoff, Horae, JobContext

SCHEMA: Final = "CREATE TABLE effects (job BIGINT NOT NULL, attempt INTEGER NOT NULL)"
EFFECT: Final = text("INSERT INTO effects VALUES (:job, :attempt)")
SHORT_BACKOFF: Final = Backoff(base=timedelta(milliseconds=20), cap=timedelta(milliseconds=200))
MANY_ATTEMPTS: Final = 1_000
"""More than any test needs, so that only success ends these jobs."""


def fault_application(url: str) -> Horae:
    """Return an application on a migrated database that has the table of effects."""
    horae = Horae(url, grace=timedelta(seconds=5))
    _declare_lasting(horae)
    _declare_fragile(horae)
    _declare_stalling(horae)
    _declare_noted(horae)
    _declare_holding(horae)
    return horae


def _declare_lasting(horae: Horae) -> None:
    """Declare jobs that are retried until they finish; their effect is committed together with their end."""

    @horae.job(transaction="read committed", max_attempts=MANY_ATTEMPTS, backoff=SHORT_BACKOFF, max_count=None)
    def threaded(job: JobContext, seed: int) -> int:
        draw = Random(seed + job.attempt)
        time.sleep(draw.uniform(0.0, 0.1))
        job.progress.set(50, "about to write")
        job.connection.execute(EFFECT, {"job": job.id, "attempt": job.attempt})
        time.sleep(draw.choice([0.0, 0.0, 0.005, 0.02]))
        return job.attempt

    @horae.job(transaction="read committed", max_attempts=MANY_ATTEMPTS, backoff=SHORT_BACKOFF, max_count=None)
    async def looped(job: JobContext, seed: int) -> int:
        draw = Random(seed + job.attempt)
        await asyncio.sleep(draw.uniform(0.0, 0.1))
        job.progress.set(50, "about to write")
        await job.async_connection.execute(EFFECT, {"job": job.id, "attempt": job.attempt})
        await asyncio.sleep(draw.choice([0.0, 0.0, 0.005, 0.02]))
        return job.attempt


def _declare_fragile(horae: Horae) -> None:
    """Declare jobs that are tried once and have no effect."""

    @horae.job(max_count=None)
    def fragile(job: JobContext, seed: int) -> None:
        for _ in job.progress.track(range(10)):
            time.sleep(Random(seed).uniform(0.0, 0.02))


def _declare_noted(horae: Horae) -> None:
    """Declare jobs that are tried once and record their begin in a file; one kills its process meanwhile."""

    @horae.job(max_count=None)
    async def quick(job: JobContext, notes: str, *, deadly: bool = False) -> None:
        note(job, notes, deadly=deadly)

    @horae.job(max_count=None)
    def brief(job: JobContext, notes: str, *, deadly: bool = False) -> None:
        note(job, notes, deadly=deadly)
        time.sleep(0.02)


def note(job: JobContext, notes: str, *, deadly: bool) -> None:
    """Record that the body has begun, in a file that outlives the process."""
    descriptor = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(descriptor, f"{job.id}\n".encode())
    os.close(descriptor)
    if deadly:
        os.kill(os.getpid(), signal.SIGKILL)


def _declare_stalling(horae: Horae) -> None:
    """Declare a job whose first attempt waits for the file `gate`; later attempts do not."""

    @horae.job(transaction="read committed", max_attempts=MANY_ATTEMPTS, backoff=SHORT_BACKOFF)
    def stalling(job: JobContext, gate: str, *, early: bool) -> int:
        """`early`: write before the wait, and so hold locks meanwhile."""
        if early:
            job.connection.execute(EFFECT, {"job": job.id, "attempt": job.attempt})
        job.progress.set(10, "waiting at the gate")
        while job.attempt == 1 and not Path(gate).exists():
            time.sleep(0.01)
        if not early:
            job.connection.execute(EFFECT, {"job": job.id, "attempt": job.attempt})
        return job.attempt


def _declare_holding(horae: Horae) -> None:
    """Declare a job that keeps the interpreter's lock, as a call of a C extension may."""

    @horae.job(max_attempts=MANY_ATTEMPTS, backoff=SHORT_BACKOFF, max_count=None)
    def holding(job: JobContext, seconds: float) -> int:
        ctypes.PyDLL(None).usleep(int(seconds * 1_000_000))  # unlike CDLL this keeps the interpreter's lock
        return job.attempt
