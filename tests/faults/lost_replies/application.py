"""An application that uses everything of Horae a little, so that each statement of its nodes and callers is run."""

import asyncio
import threading
import time
from collections import Counter
from datetime import timedelta
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Integer, String
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from horae import Backoff, Horae, Job, JobContext, JobType, Limit
from horae import jobs_table as jobs
from horae.domain.cluster import LivenessLimits
from horae.runtime.timing import (
    ControllerTiming,
    HookTiming,
    Pauses,
    RunMonitorTiming,
    SweeperTiming,
    Timing,
    WorkerTiming,
)
from tests.harness.fault_application import EFFECT

AT_ONCE = Backoff(base=timedelta(0), jitter=0)
LIMITS = LivenessLimits(
    beat=0.2, lock=0.6, silence=1.5, last_attempts=1.6, margin=0.5, lock_margin=0.2, gap=0.7
)
FREQUENT = Timing(
    worker=WorkerTiming(lost_reply_window=0.3, orphaned_every=0.3, suspect_pause=Pauses(0.05, 0.1)),
    hooks=HookTiming(look_every=0.2, clean_every=0.2),
    controller=ControllerTiming(reload=0.3, ring_every=0.2, plan_every=0.1, burst=2),
    run_monitor=RunMonitorTiming(round=0.05, reread_every=3),
    # Hard limits are the run monitor's, however slow the machine is: the sweeper would come first now and then.
    sweeper=SweeperTiming(round=0.1, look_every=1, limits_every=1, latitude=600.0, clean_every=0.2),
    schema_every=0.2,
)
"""Everything that nodes do from time to time, often enough for a short test."""
FAILED_WITHIN = 60.0
"""Seconds after which a body that ignores its limits ends if its job was never failed."""


class Base(DeclarativeBase):
    """The application's own tables."""


class Letter(Base):
    """What a letter says, beside its job."""

    __tablename__ = "letters"
    job_id: Mapped[int] = mapped_column(
        BigInteger().with_variant(Integer(), "sqlite"),
        ForeignKey(jobs.c.id, ondelete="CASCADE"),
        primary_key=True,
    )
    text: Mapped[str] = mapped_column(String(50))


class Writing(JobType[Letter]):
    """A job whose parameters are in a table of the application, and that must be deleted with care."""

    type = "writing"
    params = Letter
    max_count = None

    def run(self, job: JobContext[Letter]) -> str:
        """Fail for one text, so that there is a job to retry."""
        if job.params.text == "unsendable":
            raise ValueError(job.params.text)
        return job.params.text

    def before_delete(self, job: Job) -> None:
        """Refuse to delete one letter."""
        if job.params.text == "precious":
            raise PermissionError(job.params.text)

    def on_error(self, job: Job, error: BaseException) -> None:
        """Do nothing about an error."""
        del job, error


class Ran:
    """Which bodies began how often."""

    def __init__(self) -> None:
        self.begun = Counter[tuple[str, int]]()
        self.attempts = Counter[int]()
        self.gate = threading.Event()
        self.was_failed = threading.Event()
        """Set once the node has failed the job that ignores its limits."""

    def note(self, job: JobContext[Any]) -> None:
        self.begun[job.type, job.id] += 1


def declare(horae: Horae, ran: Ran) -> None:
    """Declare the job types."""
    horae.register(Writing)
    _declare_bodies(horae, ran)
    _declare_slow_bodies(horae, ran)
    _declare_members(horae, ran)


def _declare_members(horae: Horae, ran: Ran) -> None:
    @horae.job(max_count=None, limits=[Limit(name="lines", concurrency=5)])
    def logging(job: JobContext) -> None:
        ran.note(job)
        job.log.info("a line")

    @horae.job(max_count=None, max_attempts=10, backoff=AT_ONCE)
    def summary(job: JobContext) -> int:
        """Count the members of the group that it belongs to; again if an answer was lost."""
        return len([*job.group.members()])


def _declare_bodies(horae: Horae, ran: Ran) -> None:
    @horae.job(max_count=None)
    async def looped(job: JobContext) -> int:
        ran.note(job)
        job.progress.set(50, "half")
        return job.id

    @horae.job(max_count=None)
    def threaded(job: JobContext) -> int:
        ran.note(job)
        return job.id

    @horae.job(keep=None)
    def unkept(job: JobContext) -> int:
        ran.note(job)
        return job.id

    @horae.job(max_count=None, queue="limited")
    def limited(job: JobContext) -> None:
        ran.note(job)
        time.sleep(0.01)

    @horae.job(max_count=None, transaction="read committed")
    def bound(job: JobContext) -> None:
        ran.note(job)
        job.connection.execute(EFFECT, {"job": job.id, "attempt": job.attempt})

    @horae.job(max_count=None, max_attempts=10, backoff=AT_ONCE)
    def repeated(job: JobContext) -> int:
        ran.attempts[job.id] += 1
        if ran.attempts[job.id] == 1:
            raise ConnectionError("not yet")
        return job.attempt


def _declare_slow_bodies(horae: Horae, ran: Ran) -> None:
    @horae.job(max_count=None)
    def endless(job: JobContext) -> None:
        """Run until it is told to stop."""
        ran.note(job)
        job.progress.set(10, "for ever")
        while True:
            job.check()
            time.sleep(0.005)

    @horae.job(max_count=None, soft_time_limit="0.2s", grace="0.1s")
    def deaf(job: JobContext) -> None:
        """Ignore the order to stop, until the node has failed the job all the same."""
        ran.note(job)
        ran.was_failed.wait(FAILED_WITHIN)

    @horae.job(max_count=None)
    async def late(job: JobContext) -> None:
        """A run of a schedule, which the next one replaces."""
        ran.note(job)
        while not ran.gate.is_set():
            job.check()
            await asyncio.sleep(0.01)

    @horae.job(max_count=None, max_attempts=10, backoff=AT_ONCE)
    def suspect(job: JobContext) -> None:
        """A job that ran whenever a node crashed."""
        ran.attempts[job.id] += 1
        time.sleep(0.1)

    @horae.job(max_count=None, pending_timeout="0.1s", queue="unserved")
    def never(job: JobContext) -> None:
        """A job that no node claims in time."""
        ran.note(job)
