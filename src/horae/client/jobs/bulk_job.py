"""The job that changes many jobs, one after the other, each by the same call as for one job.

Each change is noted in its own transaction (`noted_by`), so an attempt that goes on after a crash
changes no job a second time, and counts none twice.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from pydantic import BaseModel
from sqlalchemy import Connection
from typing_extensions import override

from horae.client.changes import PYTHON, Caller, attributed_to, noted_by
from horae.client.jobs.bulk_order import BulkOrder
from horae.client.jobs.jobs import Jobs
from horae.domain.backoff import Backoff
from horae.domain.jobs import (
    BULK_QUEUE,
    BULK_TYPE,
    EVERYBODY,
    BulkAction,
    Job,
    JobId,
    JobState,
    refused_by,
    while_pending,
)
from horae.domain.storable import LARGEST_NUMBER
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
from horae.sentences import Sentence, as_json, sentence_of
from horae.storage.engine import Database
from horae.storage.jobs import JobFilter, rescheduling
from horae.storage.jobs.search import BulkRun, Conditions, Search, bulk, searching
from horae.types import JobContext, JobType, Registry

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


class BulkParameters(BaseModel):
    """The parameters of the job."""

    order: BulkOrder


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

    def __init__(self, database: Database, registry: Registry, jobs: Jobs) -> None:
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

    @override
    def describe(self, job: Job) -> Mapping[str, Any]:
        return {"refused": refused_by(job)}


class _Execution:
    """One attempt."""

    def __init__(
        self,
        database: Database,
        registry: Registry,
        jobs: Jobs,
        job: JobContext[BulkParameters],
    ) -> None:
        self._database, self._jobs, self._job, self._order = database, jobs, job, job.params.order
        self._ordered_at = jobs.get(job.id).created_at
        self._search = self._order.search(registry, database, self._ordered_at)
        self._changeable = bulk.CHANGEABLE[self._order.action]
        self._errors: list[str] = []
        self._sentences: list[dict[str, Any] | None] = []

    def run(self) -> dict[str, Any]:
        """Change all jobs, and return the counts."""
        last_lease = self._database.autocommit(bulk.last_lease, self._job.id)
        if last_lease is None:
            raise InvalidRequest(
                f"job {self._job.id} has no row in horae_bulk_runs, so it changes nothing; order"
                " the change with cancel_many, retry_many, delete_many or reschedule_many"
            )
        total: int | None = None
        if not last_lease:  # the first attempt counts the jobs
            total = self._count(
                self._order.filter_before(self._job.id), self._search, self._changeable
            )
        run = self._database.transact(bulk.begin, self._job.id, self._job.claim.lease, total)
        with attributed_to(Caller(self._order.by or f"job {self._job.id} ({BULK_TYPE})", PYTHON)):
            while True:
                self._job.check()
                wanted = self._order.filter_before(run.reached)
                ids = self._database.autocommit(
                    searching.find, wanted, self._search, limit=BATCH, also=self._changeable
                ).ids
                if not ids:
                    break
                for run in self._change(ids):
                    done = run.changed + run.skipped + run.failed
                    percent = min(99, 100 * done // run.total) if run.total else 0
                    of_all = "many" if run.total is None else run.total
                    self._job.progress.set(percent, f"{done} of {of_all}")
        return {
            **run._asdict(),
            "begun": self._count_begun(),
            "errors": self._errors,
            "sentences": self._sentences,
        }

    def _count_begun(self) -> int | None:
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
        wanted = replace(order.filter_before(self._job.id), states=None)
        return self._count(wanted, search, bulk.began_since(self._ordered_at, order.run_at))

    def _count(self, wanted: JobFilter, search: Search | None, also: Conditions) -> int | None:
        counted, complete = self._database.autocommit(
            searching.count, wanted, search, seconds=COUNTING_TIME, also=also
        )
        return counted if complete else None

    def _change(self, ids: list[JobId]) -> Iterator[BulkRun]:
        if self._order.action is BulkAction.RESCHEDULE:
            when = self._order.run_at
            assert when is not None  # the call that created this job has checked it

            def reschedule(connection: Connection) -> BulkRun:
                moved = len(rescheduling.reschedule(connection, ids, when))
                return self._note(connection, ids[-1], changed=moved, skipped=len(ids) - moved)

            yield self._database.transact(reschedule)
            return
        for job_id in ids:
            yield self._change_one(job_id)

    def _change_one(self, job_id: JobId) -> BulkRun:
        """Change one job by the same call as for one alone; return the counts that include it."""
        noted: list[BulkRun] = []

        def note(connection: Connection) -> None:
            noted[:] = [self._note(connection, job_id, changed=1)]

        order = self._order
        owner = EVERYBODY if order.owner is None else order.owner
        try:
            with noted_by(note):
                match order.action:
                    case BulkAction.CANCEL:
                        self._jobs.cancel(job_id, owner=owner, by=order.by)
                    case BulkAction.RETRY:
                        self._jobs.retry(job_id, owner=owner)
                    case _:
                        self._jobs.delete(job_id, owner=owner, without_hooks=order.without_hooks)
        except (DatabaseBusy, Unavailable, JobStopped):
            raise  # the next attempt goes on with this job
        except (JobNotCancellable, JobNotRetryable, JobNotDeletable, JobDoesNotExist):
            pass  # the job has ended, was retried or is gone meanwhile
        except Exception as error:  # noqa: BLE001 - a hook of the application may raise anything
            if len(self._errors) < MOST_ERRORS:
                self._errors.append(f"job {job_id}: {quoted(str(error), 300)}")
                text = sentence_of(error)
                self._sentences.append(
                    {"job": job_id, **as_json(text)} if isinstance(text, Sentence) else None
                )
            return self._database.transact(self._note, job_id, failed=1)
        return noted[0] if noted else self._database.transact(self._note, job_id, skipped=1)

    def _note(self, connection: Connection, /, reached: JobId, **counts: int) -> BulkRun:
        return bulk.note(connection, self._job.id, self._job.claim.lease, reached, **counts)
