"""The job that changes many jobs, one after the other, each by the same call as for one job.

Each change is noted in its own transaction (`noted_by`), so an attempt that goes on after a crash
changes no job a second time, and counts none twice.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, Protocol

from pydantic import AwareDatetime, BaseModel
from sqlalchemy import Connection
from typing_extensions import override

from horae.client.changes import PYTHON, Caller, attributed_to, noted_by
from horae.client.jobs.searching import search_for
from horae.domain.backoff import Backoff
from horae.domain.jobs import (
    BULK_QUEUE,
    BULK_TYPE,
    EVERYBODY,
    BulkAction,
    Job,
    JobId,
    JobState,
    Whose,
    parse_query,
    while_pending,
    without_ages,
)
from horae.errors import (
    DatabaseBusy,
    InvalidRequest,
    JobDoesNotExist,
    JobNotCancellable,
    JobNotDeletable,
    JobNotRetryable,
    JobStopped,
    Unavailable,
)
from horae.quoting import quoted
from horae.storage.engine import Database
from horae.storage.jobs import JobFilter, rescheduling
from horae.storage.jobs.search import BulkRun, Conditions, Search, bulk, searching
from horae.types import LARGEST_NUMBER, JobContext, JobType, Registry

BATCH: Final = 100
"""Number of jobs that one search finds and one transaction reschedules."""
COUNTING_TIME: Final = 10.0
"""Seconds allowed for counting the jobs at the start; without a count there is no percentage, and
no number of the jobs that began meanwhile.
"""
MOST_ERRORS: Final = 10
"""Maximum number of errors that the result names."""
MEANT_FOR_PENDING: Final = frozenset({BulkAction.CANCEL, BulkAction.RESCHEDULE})
"""The actions that change pending jobs."""


class BulkOrder(BaseModel):
    """What is to be done with which jobs."""

    action: BulkAction
    states: list[JobState] | None = None
    types: list[str] | None = None
    queues: list[str] | None = None
    owner: str | None = None
    schedule_id: int | None = None
    query: str | None = None
    technical: bool = True
    by: str | None = None
    run_at: AwareDatetime | None = None
    without_hooks: bool = False

    def wanted(self, before: JobId | None) -> JobFilter:
        """Return the filter for jobs that are older than `before`."""
        return JobFilter(
            states=self.states,
            types=self.types,
            queues=self.queues,
            owner=self.owner,
            schedule_id=self.schedule_id,
            before=before,
        )

    def search(self, registry: Registry, now: datetime | None) -> Search | None:
        """Return the search, with ages counted back from `now`. Raises `InvalidRequest`."""
        if self.query is None:
            return None
        parsed = parse_query(self.query, technical=self.technical)
        return search_for(parsed if now is None else without_ages(parsed, now), registry)


class BulkParameters(BaseModel):
    """The parameters of the job."""

    order: BulkOrder


class ChangesOneJob(Protocol):
    """The calls of `Jobs` that change one job."""

    def get(self, job_id: int) -> Job: ...  # noqa: D102 - see `Jobs`
    def cancel(self, job_id: int, *, owner: Whose = ..., by: str | None = ...) -> Job: ...  # noqa: D102
    def retry(self, job_id: int, *, owner: Whose = ...) -> Job: ...  # noqa: D102
    def delete(self, job_id: int, *, owner: Whose = ..., without_hooks: bool = ...) -> bool: ...  # noqa: D102


class BulkJob(JobType[BulkParameters]):
    """The job type; every node knows it."""

    type = BULK_TYPE
    queue = BULK_QUEUE
    priority = LARGEST_NUMBER  # it must begin before the jobs that it is to change
    params = BulkParameters
    max_count = 10  # an owner must not keep the slots of all others busy
    max_attempts = 100
    backoff = Backoff(base=timedelta(seconds=1), cap=timedelta(minutes=1))
    give_up_on = InvalidRequest
    on_shutdown = "requeue"
    soft_time_limit = None

    def __init__(self, database: Database, registry: Registry, jobs: ChangesOneJob) -> None:
        self._database, self._registry, self._jobs = database, registry, jobs
        super().__init__()

    @override
    def after_creation(self, job: Job, values: Mapping[str, Any], connection: Connection) -> None:
        if job.retry_of is None or bulk.last_lease(connection, job.retry_of) is not None:
            bulk.order(connection, job.id)

    @override
    def run(self, job: JobContext[BulkParameters]) -> dict[str, Any]:
        return _Execution(self._database, self._registry, self._jobs, job).run()

    @override
    def before_delete(self, job: Job) -> None:
        self._database.transact(bulk.forget, job.id)


class _Execution:
    """One attempt."""

    def __init__(
        self,
        database: Database,
        registry: Registry,
        jobs: ChangesOneJob,
        job: JobContext[BulkParameters],
    ) -> None:
        self._database, self._jobs, self._job, self._order = database, jobs, job, job.params.order
        self._ordered_at = jobs.get(job.id).created_at
        self._search = self._order.search(registry, self._ordered_at)
        self._changeable = bulk.CHANGEABLE[self._order.action]
        self._errors: list[str] = []
        self._noted: BulkRun | None = None

    def run(self) -> dict[str, Any]:
        """Change all jobs, and return the counts."""
        run = self._database.transact(
            bulk.begin, self._job.id, self._job.claim.lease, self._total()
        )
        with attributed_to(Caller(self._order.by or f"job {self._job.id} ({BULK_TYPE})", PYTHON)):
            while ids := self._next(run.reached):
                for run in self._change(ids):
                    self._report(run)
        return {**run._asdict(), "begun": self._begun(), "errors": self._errors}

    def _total(self) -> int | None:
        last_lease = self._database.autocommit(bulk.last_lease, self._job.id)
        if last_lease is None:
            raise InvalidRequest(
                f"job {self._job.id} has no row in horae_bulk_runs, so it changes nothing; order"
                " the change with cancel_many, retry_many, delete_many or reschedule_many"
            )
        if last_lease:
            return None  # the jobs were counted when the first attempt began
        return self._count(self._order.wanted(self._job.id), self._search, self._changeable)

    def _begun(self) -> int | None:
        """Return how many of the jobs that were pending at first began before it reached them."""
        search, order = self._search, self._order
        states = JobState if order.states is None else order.states
        if order.action not in MEANT_FOR_PENDING or JobState.PENDING not in states:
            return 0
        if search is not None:
            query = while_pending(search.query)
            if query is None:
                return 0
            search = replace(search, query=query)
        wanted = replace(order.wanted(self._job.id), states=None)
        return self._count(wanted, search, bulk.began_since(self._ordered_at, order.run_at))

    def _count(self, wanted: JobFilter, search: Search | None, also: Conditions) -> int | None:
        counted, complete = self._database.autocommit(
            searching.count, wanted, search, seconds=COUNTING_TIME, also=also
        )
        return counted if complete else None

    def _next(self, reached: JobId) -> list[JobId]:
        self._job.check()
        wanted = self._order.wanted(reached)
        return self._database.autocommit(
            searching.find, wanted, self._search, limit=BATCH, also=self._changeable
        ).ids

    def _report(self, run: BulkRun) -> None:
        done = run.changed + run.skipped + run.failed
        label = f"{done} of {'many' if run.total is None else run.total}"
        self._job.progress.set(min(99, 100 * done // run.total) if run.total else 0, label)

    def _change(self, ids: list[JobId]) -> Iterator[BulkRun]:
        if self._order.action is BulkAction.RESCHEDULE:
            yield self._database.transact(self._reschedule, ids)
            return
        for job_id in ids:
            yield self._change_one(job_id)

    def _reschedule(self, connection: Connection, /, ids: list[JobId]) -> BulkRun:
        # The call that created this job has checked it
        assert self._order.run_at is not None
        moved = len(rescheduling.reschedule(connection, ids, self._order.run_at))
        return self._note(connection, ids[-1], changed=moved, skipped=len(ids) - moved)

    def _change_one(self, job_id: JobId) -> BulkRun:
        self._noted = None
        try:
            with noted_by(partial(self._note_change, job_id=job_id)):
                self._call(job_id)
        except (DatabaseBusy, Unavailable, JobStopped):
            raise  # the next attempt goes on with this job
        except (JobNotCancellable, JobNotRetryable, JobNotDeletable, JobDoesNotExist):
            pass  # the job has ended, was retried or is gone meanwhile
        except Exception as error:  # noqa: BLE001 - a hook of the application may raise anything
            return self._failed(job_id, error)
        return self._noted or self._database.transact(self._note, job_id, skipped=1)

    def _call(self, job_id: JobId) -> None:
        owner = EVERYBODY if self._order.owner is None else self._order.owner
        match self._order.action:
            case BulkAction.CANCEL:
                self._jobs.cancel(job_id, owner=owner, by=self._order.by)
            case BulkAction.RETRY:
                self._jobs.retry(job_id, owner=owner)
            case _:
                self._jobs.delete(job_id, owner=owner, without_hooks=self._order.without_hooks)

    def _failed(self, job_id: JobId, error: Exception) -> BulkRun:
        if len(self._errors) < MOST_ERRORS:
            self._errors.append(f"job {job_id}: {quoted(str(error), 300)}")
        return self._database.transact(self._note, job_id, failed=1)

    def _note_change(self, connection: Connection, job_id: JobId) -> None:
        self._noted = self._note(connection, job_id, changed=1)

    def _note(self, connection: Connection, /, reached: JobId, **counts: int) -> BulkRun:
        return bulk.note(connection, self._job.id, self._job.claim.lease, reached, **counts)
