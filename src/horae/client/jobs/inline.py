"""Jobs that run in the thread that starts them, with all their attempts."""

from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

from sqlalchemy import Connection

from horae.client.jobs.waiting import until_ended
from horae.domain.jobs.job import Claim, Job, JobId, JobState
from horae.errors import JobDoesNotExist, WaitTimeout
from horae.storage.engine.database import Database
from horae.wakeup.channel import WakeupChannel

LONGEST_WAIT: Final = 60.0
ALMOST_DUE: Final = 0.02
"""Seconds that a next attempt is waited for, and between tries to begin it once it is due."""


class RunsInline(Protocol):
    """Takes a job in the transaction that creates it, and runs it in this thread."""

    def join(self) -> None:
        """Become a node, outside of any transaction."""
        ...

    def claim(self, connection: Connection, job_id: JobId) -> Claim:
        """Take the job."""
        ...

    def run(self, claim: Claim) -> None:
        """Run its body and settle it."""
        ...


def retried_inline(database: Database, wakeup: WakeupChannel, inline: RunsInline, read: Callable[[], Job]) -> Job:
    """Run the further attempts at a job here too, each when it is due; where a node takes one, wait for it."""
    waited = False
    while not (job := read()).ended:
        wait = (job.run_at - job.updated_at).total_seconds() if job.state is JobState.PENDING else None
        if wait is not None and wait > LONGEST_WAIT:
            return job
        with suppress(WaitTimeout):
            until_ended(database, wakeup, job.id, ALMOST_DUE if waited and wait is not None else wait)
            continue
        waited = True
        with suppress(JobDoesNotExist):  # a node was quicker, or it is not quite due
            inline.run(database.transact(inline.claim, job.id))
            waited = False
    return job
