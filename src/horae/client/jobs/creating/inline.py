"""Runs a job with all its attempts in the thread that starts it (`sync=True`)."""

from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol, TypeVar

from sqlalchemy import Connection

from horae.client.jobs.body_waits import BodyWaits
from horae.client.jobs.waiting import of_job, until_ended
from horae.domain.jobs import Claim, Job, JobId, JobState
from horae.errors import JobDoesNotExist, WaitTimeout
from horae.wakeup import WakeupChannel

T = TypeVar("T")

LONGEST_WAIT: Final = 60.0
"""Maximum number of seconds to wait for the next attempt; one that is due later is left to nodes.
"""
ALMOST_DUE: Final = 0.02
"""Seconds between tries to begin a due attempt: the database's clock may be slightly behind."""


class RunsInline(Protocol):
    """Claims a job in the transaction that creates it, and runs it in this thread."""

    def join(self) -> None:
        """Register this process as a node. Call it outside of any transaction."""
        ...

    def claim(self, connection: Connection, job_id: JobId) -> Claim:
        """Claim the job."""
        ...

    def claim_by(self, transaction: Callable[[], T], claim_of: Callable[[T], Claim | None]) -> T:
        """Run a transaction that claims a job; if its answer is lost, the job is handed back."""
        ...

    def run(self, claim: Claim) -> None:
        """Run the body and settle the job."""
        ...


def run_retries(
    waits: BodyWaits, wakeup: WakeupChannel, inline: RunsInline, read: Callable[[], Job]
) -> Job:
    """Run each further attempt of a job here when it is due; if a node claims one, wait for its
    end.
    """
    waited = False

    def claim() -> Claim:
        return waits.database.transact(inline.claim, job.id)

    while not (job := read()).ended:
        wait = (
            (job.run_at - job.updated_at).total_seconds() if job.state is JobState.PENDING else None
        )
        if wait is not None and wait > LONGEST_WAIT:
            return job
        with suppress(WaitTimeout):
            pause = ALMOST_DUE if waited and wait is not None else wait
            until_ended(waits, wakeup, of_job(job.id), pause)
            continue
        waited = True
        with suppress(JobDoesNotExist):  # a node may claim the job first, or it is not due yet
            inline.run(inline.claim_by(claim, lambda claimed: claimed))
            waited = False
    return job
