"""The application of the fault tests: jobs that leave one row for each time that they think they have finished."""

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
SOON: Final = Backoff(base=timedelta(milliseconds=20), cap=timedelta(milliseconds=200))
PATIENT: Final = 1_000


def labours(url: str) -> Horae:
    """An application on a migrated database that has the table of effects."""
    horae = Horae(url, grace=timedelta(seconds=5))
    _declare_lasting(horae)
    _declare_fragile(horae)
    _declare_stalling(horae)
    _declare_noted(horae)
    _declare_holding(horae)
    return horae


def _declare_lasting(horae: Horae) -> None:
    """Jobs that are tried until they finish; what they do is bound to their end."""

    @horae.job(transaction="read committed", max_attempts=PATIENT, backoff=SOON, max_count=None)
    def threaded(job: JobContext, seed: int) -> int:
        draw = Random(seed + job.attempt)
        time.sleep(draw.uniform(0.0, 0.1))
        job.progress.set(50, "about to write")
        job.connection.execute(EFFECT, {"job": job.id, "attempt": job.attempt})
        time.sleep(draw.choice([0.0, 0.0, 0.005, 0.02]))
        return job.attempt

    @horae.job(transaction="read committed", max_attempts=PATIENT, backoff=SOON, max_count=None)
    async def looped(job: JobContext, seed: int) -> int:
        draw = Random(seed + job.attempt)
        await asyncio.sleep(draw.uniform(0.0, 0.1))
        job.progress.set(50, "about to write")
        await job.async_connection.execute(EFFECT, {"job": job.id, "attempt": job.attempt})
        await asyncio.sleep(draw.choice([0.0, 0.0, 0.005, 0.02]))
        return job.attempt


def _declare_fragile(horae: Horae) -> None:
    """Jobs that are tried once, and that leave nothing."""

    @horae.job(max_count=None)
    def fragile(job: JobContext, seed: int) -> None:
        for _ in job.progress.track(range(10)):
            time.sleep(Random(seed).uniform(0.0, 0.02))


def _declare_noted(horae: Horae) -> None:
    """Jobs that are tried once and note in a file that they have begun; one of them kills its process in the middle."""

    @horae.job(max_count=None)
    async def quick(job: JobContext, notes: str, *, deadly: bool = False) -> None:
        note(job, notes, deadly=deadly)

    @horae.job(max_count=None)
    def brief(job: JobContext, notes: str, *, deadly: bool = False) -> None:
        note(job, notes, deadly=deadly)
        time.sleep(0.02)


def note(job: JobContext, notes: str, *, deadly: bool) -> None:
    """Write down that the body has begun, in a way that survives the process."""
    descriptor = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(descriptor, f"{job.id}\n".encode())
    os.close(descriptor)
    if deadly:
        os.kill(os.getpid(), signal.SIGKILL)


def _declare_stalling(horae: Horae) -> None:
    """A job whose first attempt goes on when the file `gate` is there; later ones do not wait for it."""

    @horae.job(transaction="read committed", max_attempts=PATIENT, backoff=SOON)
    def stalling(job: JobContext, gate: str, *, early: bool) -> int:
        """`early`: it has written before it waits, and so holds locks meanwhile."""
        if early:
            job.connection.execute(EFFECT, {"job": job.id, "attempt": job.attempt})
        job.progress.set(10, "waiting at the gate")
        while job.attempt == 1 and not Path(gate).exists():
            time.sleep(0.01)
        if not early:
            job.connection.execute(EFFECT, {"job": job.id, "attempt": job.attempt})
        return job.attempt


def _declare_holding(horae: Horae) -> None:
    """A job that lets nothing else of its process run, as a call of a C extension may."""

    @horae.job(max_attempts=PATIENT, backoff=SOON, max_count=None)
    def holding(job: JobContext, seconds: float) -> int:
        ctypes.PyDLL(None).usleep(int(seconds * 1_000_000))  # unlike CDLL it keeps the interpreter's lock
        return job.attempt
