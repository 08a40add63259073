"""A job as responses and events say it."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic_core import to_jsonable_python

from horae.api.views.parameters import shown_parameters
from horae.client.jobs.jobs import JobPage
from horae.domain.jobs.job import Job, JobId, JobState
from horae.storage.engine.database import Database
from horae.storage.jobs import reading
from horae.storage.jobs.reading import Attempt
from horae.storage.operations import queues
from horae.types.hooks import Hooks
from horae.types.job_type import JobType, has_hook
from horae.types.registry import Registry

LONG_AT_ONCE: Final = 8
"""Jobs that are read whole to be described, when a list has left some of them out for their length."""
log = logging.getLogger("horae.api")


class JobView(BaseModel):
    """A job, and beside these fields what its type adds."""

    model_config = ConfigDict(extra="allow")

    id: int
    type: str
    state: str = Field(
        description="`pending`, `finished`, `failed` or `cancelled`; while the job runs `started`, or the label that "
        "the job has given itself, which is never one of these words.",
        examples=["started"],
    )
    progress_percentage: int = Field(ge=0, le=100)
    human_readable_error: str = Field(description="Why the job failed, for its owner; empty otherwise.")
    created_on: datetime
    updated_on: datetime
    started_on: datetime | None = Field(description="When the latest attempt began.")
    finished_on: datetime | None = Field(description="When the job ended, whatever the outcome.")
    due_on: datetime = Field(description="The earliest start of the job.")
    label: str | None = Field(description="The label that the job has set while it runs.")
    owner: str | None
    queue: str
    priority: int = Field(description="Higher goes first.")
    attempt: int = Field(description="Which attempt this is, from 1; 0 before the first.")
    max_attempts: int
    node: str | None = Field(description="The node that holds the job; briefly also after it was cancelled.")
    cancelled_by: str | None
    schedule_id: int | None = Field(None, description="The schedule that it was started for.")


class JobDetail(JobView):
    """A job with what only its own page needs."""

    params: Any = Field(None, description="The parameters, secret ones masked; null where the type is unknown here.")
    result: Any = Field(None, description="What the job returned.")
    error: str | None = Field(None, description="Why the job failed, for its developer; shown to staff.")
    unique_key: str | None = None
    retry_of: int | None = Field(None, description="The job that this one retries.")
    queue_is_paused: bool = Field(default=False, description="The job is pending, and its queue is paused.")


class JobList(BaseModel):
    """A page of jobs, the newest first."""

    jobs: list[JobView]
    next: str | None = Field(description="The cursor of the next page; null on the last one.")


class AttemptView(BaseModel):
    """How one attempt at a job ended."""

    attempt: int
    node: str | None
    started_on: datetime
    finished_on: datetime
    outcome: str = Field(description="`finished`, `failed`, `cancelled`, `timed_out` or `crashed`.")
    error: str | None = Field(description="Shown to staff.")
    traceback: str | None = Field(description="Shown to staff.")


class AttemptList(BaseModel):
    """All attempts, the oldest first."""

    attempts: list[AttemptView]


def response_model_of(job_type: JobType[Any]) -> type[BaseModel]:
    """A job of this type, with the fields that it adds."""
    if job_type.response_model is None:
        return JobDetail
    added: type[BaseModel] = job_type.response_model
    # The common fields come first: a type adds, and never replaces.
    return create_model(f"{job_type.type}_job", __base__=(JobDetail, added))


class JobViews:
    """Makes views of jobs, with what their types add. Call it on a thread: a type may ask its tables."""

    def __init__(self, database: Database, registry: Registry) -> None:
        self._database, self._registry = database, registry
        self._hooks = Hooks(database, registry)

    def view(self, job: Job) -> JobView:
        """The job as in a list."""
        return self.views([job])[0]

    def views(self, jobs: Sequence[Job]) -> list[JobView]:
        """Jobs as in a list; what their types keep in tables is read with one statement for each type."""
        described = [job for job in jobs if self._describes(job)]
        added = self._added_to([job for job in described if job.is_whole])
        long = [job for job in described if not job.is_whole]
        for first in range(0, len(long), LONG_AT_ONCE):
            added |= self._added_to(self._whole(long[first : first + LONG_AT_ONCE]))
        return [JobView.model_validate({**added.get(job.id, {}), **_common(job)}) for job in jobs]

    def detail(self, job: Job, *, technical: bool) -> JobDetail:
        """The job as on its own page; `technical`: with what is for staff."""
        return JobDetail.model_validate(
            {
                **self._added_to([job]).get(job.id, {}),
                **_common(job),
                "params": shown_parameters(self._registry, job.type, job.params),
                "result": job.result,
                "error": job.error if technical else None,
                "unique_key": job.unique_key,
                "retry_of": job.retry_of,
                "queue_is_paused": self._is_held(job),
            }
        )

    def _is_held(self, job: Job) -> bool:
        return job.state is JobState.PENDING and self._database.autocommit(queues.is_paused, job.queue)

    def page(self, page: JobPage) -> JobList:
        """A list of jobs."""
        return JobList(jobs=self.views(page.jobs), next=page.next)

    def _added_to(self, jobs: Sequence[Job]) -> dict[JobId, Mapping[str, Any]]:
        """What their types add to each."""
        described = [job for job in jobs if self._describes(job)]
        return {job_id: self._added(job) for job_id, job in self._complete(described).items()}

    def _whole(self, jobs: Sequence[Job]) -> list[Job]:
        """With what the list has left out."""
        stored = self._database.autocommit(reading.get_many, [job.id for job in jobs])
        whole = {job.id: job for job in stored}
        return [
            replace(job, params=whole[job.id].params, result=whole[job.id].result, meta=whole[job.id].meta)
            for job in jobs
            if job.id in whole
        ]

    def _complete(self, jobs: Sequence[Job]) -> Mapping[JobId, Job]:
        """Jobs with what their types keep in tables; one that cannot be read is left out."""
        try:
            return {job.id: job for job in self._hooks.with_parameters_of_all(jobs)}
        except Exception:
            log.exception("the parameters of %d jobs cannot be read", len(jobs))
            half = len(jobs) // 2
            return {**self._complete(jobs[:half]), **self._complete(jobs[half:])} if half else {}

    def _describes(self, job: Job) -> bool:
        job_type = self._registry.find(job.type)
        return job_type is not None and has_hook(job_type, "describe")

    def _added(self, job: Job) -> Mapping[str, Any]:
        """What the type adds; nothing if it fails, for one bad type never stops the others."""
        job_type = self._registry.find(job.type)
        if job_type is None or not has_hook(job_type, "describe"):
            return {}
        try:
            added: Any = job_type.describe(job)
            if job_type.response_model is not None:
                added = job_type.response_model.model_validate(added)
            described: Mapping[str, Any] = to_jsonable_python(added)
        except Exception:
            log.exception("job %d (%s) cannot be described", job.id, job.type)
            return {}
        return described


def attempt_views(attempts: Sequence[Attempt], *, technical: bool) -> AttemptList:
    """How each attempt ended; `technical`: with what is for staff."""
    return AttemptList(
        attempts=[
            AttemptView(
                attempt=each.attempt,
                node=each.node_id,
                started_on=each.started_at,
                finished_on=each.finished_at,
                outcome=each.outcome.value,
                error=each.error if technical else None,
                traceback=each.traceback if technical else None,
            )
            for each in attempts
        ]
    )


def _common(job: Job) -> dict[str, Any]:
    return {
        "id": job.id,
        "type": job.type,
        "state": job.label if job.state is JobState.STARTED and job.label else job.state.value,
        "progress_percentage": job.progress_percentage,
        "human_readable_error": job.human_readable_error or "",
        "created_on": job.created_at,
        "updated_on": job.updated_at,
        "started_on": job.started_at,
        "finished_on": job.finished_at,
        "due_on": job.run_at,
        "label": job.label,
        "owner": job.owner,
        "queue": job.queue,
        "priority": job.priority,
        "attempt": job.attempt,
        "max_attempts": job.max_attempts,
        "node": job.node_id,
        "cancelled_by": job.cancelled_by,
        "schedule_id": job.schedule_id,
    }
