"""What the methods of `Jobs` share: the parts of an application, and how a creation is repeated."""

from datetime import timedelta
from functools import partial
from typing import Final

from horae.client.jobs.body_waits import BodyWaits
from horae.client.jobs.cancelling import JobCanceller
from horae.client.jobs.creating import RunsOperation, with_retries
from horae.client.jobs.filters import owner_of
from horae.client.jobs.limits import USUAL, JobLimits
from horae.client.jobs.live_reports import with_live_reports
from horae.client.listing import ListsFrom
from horae.domain.jobs import EVERYBODY, Job, JobId, Whose
from horae.errors import JobDoesNotExist
from horae.live import LiveStore
from horae.storage.engine import Database, SameDatabase
from horae.storage.jobs import reading
from horae.types import LARGEST_ID, Registry, of_kind
from horae.types.hooks import Hooks
from horae.wakeup import WakeupChannel, work

WORK: Final = work()


class JobsBase(ListsFrom):
    """The parts of an application that the methods of `Jobs` use."""

    def __init__(
        self,
        database: Database,
        registry: Registry,
        live: LiveStore,
        wakeup: WakeupChannel,
        *,
        keep: timedelta,
        limits: JobLimits = USUAL,
    ) -> None:
        self._database, self._registry, self._live, self._wakeup = database, registry, live, wakeup
        self._keep, self.limits = keep, limits
        self._reads = database
        self._same_database = SameDatabase(database)
        self._hooks = Hooks(database, registry)
        self._until_done: RunsOperation = partial(with_retries, bound=limits.contention)
        self.waits = BodyWaits(database, live)
        self._canceller = JobCanceller(database, live, wakeup, self._hooks)

    def get(self, job_id: int, *, owner: Whose = EVERYBODY) -> Job:
        """Return the job with its live label and percentage.

        Raises `JobDoesNotExist`, also for another owner's job.
        """
        return with_live_reports(self._live, [self._stored(job_id, owner)])[0]

    def _stored(self, job_id: int, whose: Whose) -> Job:
        owner = owner_of(whose)
        of_kind("job id", job_id, int, "a whole number")
        job = (
            self._database.autocommit(reading.get, JobId(job_id))
            if abs(job_id) <= LARGEST_ID
            else None
        )
        if job is None or (owner is not None and job.owner != owner):
            raise JobDoesNotExist(job_id)
        return job


def is_new(created: tuple[Job, bool]) -> bool:
    """Return whether a creation made a job, instead of finding the one with its unique key."""
    return created[1]
