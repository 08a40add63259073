"""Jobs in responses and events."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from logging import ERROR
from types import NoneType
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, create_model
from pydantic.errors import PydanticUserError
from pydantic_core import to_jsonable_python

from horae.api.models import (
    FOR_STAFF,
    HIDDEN,
    AnyOfValues,
    HiddenText,
    OfValues,
    SentenceItem,
    StoredSentence,
    StoredSentenceOfValues,
    TextOfValues,
    View,
    sentence_item,
)
from horae.client.jobs import JobPage
from horae.client.shown_parameters import shown_parameters
from horae.domain.jobs import Job, JobId, JobState
from horae.guarded_log import guarded_log
from horae.quoting import cut
from horae.storage.engine import Database
from horae.storage.jobs import creation, reading
from horae.storage.jobs.limits import weight_of
from horae.storage.jobs.waiting_reason import waiting_reason
from horae.storage.queues import queues
from horae.types import JobType, Registry, has_hook
from horae.types.hooks import Hooks
from horae.types.parameters.large_values import LargeValueMissing, open_value

LONG_AT_ONCE: Final = 8
"""Number of jobs whose long values are read at a time; a list leaves those values out."""

log = guarded_log("horae.api")

V = TypeVar("V", bound="JobView")


def _first_line(error: str | None) -> str | None:
    """Return the first line of an error, which names the exception, cut to what a row can show."""
    return cut((error or "").strip().partition("\n")[0], 300) or None


class JobView(View):
    """A job; its type may add further fields."""

    model_config = ConfigDict(extra="allow")

    id: int
    type: str
    state: str = Field(
        description=(
            "`pending`, `finished`, `failed` or `cancelled`; while the job runs `started`, or the"
            " label that the job has given itself, which is never one of these words."
        ),
        examples=["started"],
    )
    progress_percentage: int = Field(ge=0, le=100)
    human_readable_error: Annotated[
        str, BeforeValidator(lambda text: text or ""), OfValues(HIDDEN)
    ] = Field(description="Why the job failed, for its owner; empty otherwise.")
    human_readable_error_sentence: StoredSentenceOfValues = None
    created_on: datetime
    updated_on: datetime
    error_code: str | None = Field(
        None,
        description=(
            "The limit that has ended the job, for programs: `expired`, `pending_timeout`,"
            " `hard_time_limit` or `schedule_time_limit`; null for other jobs."
        ),
    )
    started_on: datetime | None = Field(description="When the latest attempt began.")
    finished_on: datetime | None = Field(description="When the job ended, whatever the outcome.")
    due_on: datetime = Field(
        validation_alias="run_at", description="The earliest start of the job."
    )
    label: str | None = Field(description="The label that the job has set while it runs.")
    owner: str | None
    queue: str
    priority: int = Field(description="Higher starts first.")
    attempt: int = Field(description="Which attempt this is, from 1; 0 before the first.")
    max_attempts: int
    retry_reason: HiddenText = Field(
        None,
        description=(
            "Why the job is pending again; its next attempt is due at `due_on`. Null for other"
            " jobs."
        ),
    )
    retry_reason_sentence: StoredSentenceOfValues = None
    expires_on: datetime | None = Field(
        None, description="When the job fails if it has not begun; null: never."
    )
    node: str | None = Field(
        validation_alias="node_id",
        description="The node that holds the job; briefly also after it was cancelled.",
    )
    cancelled_by: str | None
    schedule_id: int | None = Field(None, description="The schedule that it was started for.")
    tags: list[str] = Field(
        [], description="The tags of the job and of its type, by which it can be found."
    )
    group_id: int | None = Field(None, description="The group of which it is a member.")
    waits_for: str | None = Field(
        None,
        description=(
            "What holds a pending job back even when it is due: `jobs` that must end first, or a"
            " `limit`."
        ),
    )


class ListedJob(JobView):
    """A job as in a list."""

    error_sentence: Annotated[StoredSentence, FOR_STAFF] = None
    error_line: Annotated[str | None, BeforeValidator(_first_line), FOR_STAFF] = Field(
        None,
        validation_alias="error",
        description="The line of the error that names the exception; shown to staff.",
    )


class JobDetail(JobView):
    """A job as on its own page."""

    params: AnyOfValues = Field(
        None, description="The parameters, secret ones masked; null where the type is unknown here."
    )
    result: AnyOfValues = Field(None, description="What the job returned.")
    error: Annotated[str | None, FOR_STAFF] = Field(
        None, description="Why the job failed, for its developer; shown to staff."
    )
    error_sentence: Annotated[StoredSentence, FOR_STAFF] = None
    unique_key: TextOfValues = None
    retry_of: int | None = Field(None, description="The job that this one retries.")
    retried_as: int | None = Field(None, description="The newest job that retries this one.")
    weight: int = Field(1, description="How much the job counts under the limits of its type.")
    waiting_reason: HiddenText = Field(
        None, description="Why a pending job has not started, in one sentence."
    )
    waiting_reason_sentence: Annotated[SentenceItem | None, OfValues()] = None
    queue_is_paused: bool = Field(
        default=False, description="The job is pending, and its queue is paused."
    )


class JobList(View):
    """A page of jobs."""

    jobs: list[ListedJob]
    next: str | None = Field(description="The cursor of the next page; null on the last one.")


def response_model_of(job_type: JobType[Any]) -> type[BaseModel]:
    """Return the model of a job of this type: with the fields that the type adds, and with the type
    of its result, for programs that generate theirs from the document.
    """
    added = job_type.response_model
    # `Any` without a type of the result, or if no schema describes it.
    result: Any = Any if job_type.returns in (None, NoneType) else job_type.returns
    try:
        TypeAdapter(result).json_schema(mode="serialization")
    except (PydanticUserError, NameError):  # it names, or is, what pydantic does not know
        result = Any
    if added is None and result is Any:
        return JobDetail
    # The common fields come first: a type cannot replace them.
    base = (JobDetail,) if added is None else (JobDetail, added)
    field = Field(None, description="What the job returned; null until it has finished.")
    own: dict[str, Any] = {} if result is Any else {"result": (result | None, field)}
    return create_model(f"{job_type.type}_job", __base__=base, **own)


class JobViews:
    """Makes views of jobs, with what their types add.

    Call it on a thread: a type may query its tables.
    """

    def __init__(self, database: Database, registry: Registry) -> None:
        self._database, self._registry = database, registry
        self._hooks = Hooks(database, registry)

    def view(self, job: Job) -> JobView:
        """Return the job as in a list."""
        return self.views([job])[0]

    def views(self, jobs: Sequence[Job]) -> list[JobView]:
        """Return jobs as in a list, with one statement per type that keeps more in tables."""
        return self._listed(JobView, jobs)

    def _listed(self, model: type[V], jobs: Sequence[Job]) -> list[V]:
        added = self._added_to([job for job in jobs if job.is_whole])
        long = [job for job in jobs if not job.is_whole and self._describes(job)]
        for first in range(0, len(long), LONG_AT_ONCE):
            part = long[first : first + LONG_AT_ONCE]  # a list leaves long values out
            stored = self._database.autocommit(reading.get_many, [job.id for job in part])
            whole = {job.id: job for job in stored}
            added |= self._added_to(
                [
                    replace(
                        job,
                        params=whole[job.id].params,
                        result=whole[job.id].result,
                        meta=whole[job.id].meta,
                    )
                    for job in part
                    if job.id in whole
                ]
            )
        return [_view(model, job, added.get(job.id, {})) for job in jobs]

    def detail(self, job: Job) -> JobDetail:
        """Return the job as on its own page."""
        detail = _view(JobDetail, job, self._added_to([job]).get(job.id, {}))
        detail.params = shown_parameters(self._registry, job.type, job.params)
        detail.queue_is_paused = job.state is JobState.PENDING and self._database.autocommit(
            queues.is_paused, job.queue
        )
        detail.retried_as = self._database.autocommit(creation.newest_retry, job.id)
        detail.weight = self._database.autocommit(weight_of, job.id)
        reason = self._database.autocommit(waiting_reason, job)
        detail.waiting_reason = reason
        detail.waiting_reason_sentence = sentence_item(reason)
        return detail

    def with_large_values(self, job: Job) -> Job:
        """Return the job with its large values in place of references to them.

        A reference whose value is missing stays. Raises `LargeValuesUnavailable`.
        """
        params: Any = job.params
        if isinstance(params, dict):
            params = {name: self._opened(value) for name, value in params.items()}
        return replace(job, params=params, result=self._opened(job.result))

    def _opened(self, value: Any) -> Any:
        with suppress(LargeValueMissing):
            return open_value(self._registry.files, value)
        return value

    def page(self, page: JobPage) -> JobList:
        """Return a page of jobs."""
        return JobList(jobs=self._listed(ListedJob, page.jobs), next=page.next)

    def _added_to(self, jobs: Sequence[Job]) -> dict[JobId, Mapping[str, Any]]:
        """Return what the types add to the views of these jobs; one that raises adds nothing."""
        described = [job for job in jobs if self._describes(job)]
        added: dict[JobId, Mapping[str, Any]] = {}
        for job in self._complete(described).values():
            job_type = self._registry.get(job.type)
            with log.guard(
                "job %d (%s) cannot be described", job.id, job.type, level=ERROR, traceback=True
            ):
                described_as: Any = job_type.describe(job)
                if job_type.response_model is not None:
                    described_as = job_type.response_model.model_validate(described_as)
                added[job.id] = to_jsonable_python(described_as)
        return added

    def _complete(self, jobs: Sequence[Job]) -> Mapping[JobId, Job]:
        """Return jobs with what their types keep in tables, except jobs that cannot be read."""
        unreadable = "the parameters of %d jobs cannot be read"
        with log.guard(unreadable, len(jobs), level=ERROR, traceback=True):
            return {job.id: job for job in self._hooks.with_parameters_of_all(jobs)}
        half = len(jobs) // 2
        return {**self._complete(jobs[:half]), **self._complete(jobs[half:])} if half else {}

    def _describes(self, job: Job) -> bool:
        job_type = self._registry.find(job.type)
        return job_type is not None and has_hook(job_type, "describe")


def _view(model: type[V], job: Job, added: Mapping[str, Any]) -> V:
    """Return the view of a job with what its type adds, which replaces no field of the view."""
    more = {name: value for name, value in added.items() if name not in model.model_fields}
    view = model.model_validate(job).model_copy(update=more)
    if job.state is JobState.STARTED and job.label:
        view.state = job.label
    return view
