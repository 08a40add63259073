"""`/api/errors/`: what fails, in groups that have one cause."""

from datetime import datetime

from fastapi import APIRouter
from pydantic import AliasPath, Field

from horae.api.dependencies import Reader, ServicesHere, shown_to
from horae.api.models import (
    FromQuery,
    Name,
    RequestModel,
    Storable,
    StoredSentenceOfValues,
    TextOfValues,
    View,
)
from horae.api.problems import document_errors
from horae.client.operations import failures_since
from horae.domain.jobs import JobId

router = APIRouter(prefix="/api/errors", tags=["operations"])


class FailureQuery(RequestModel):
    """Which failures to group."""

    since: Storable = Field(
        "24h", min_length=1, max_length=50, description="How far to look back, at most 90 days."
    )
    type: Name | None = Field(None, description="Only failures of this job type.")

    deployment: Storable | None = Field(
        None,
        min_length=1,
        max_length=64,
        description=(
            "Only failures since this deployment, by its key, or `latest`. A group is new if it"
            " did not happen in the time `since` before the deployment."
        ),
    )
    only_new: bool = Field(
        default=False, description="Only groups that first happened after a deployment."
    )


class DeployedItem(View):
    """A version of the schedules of a module."""

    key: str
    module: str
    at: datetime


class ErrorGroupItem(View):
    """Failures of one job type, with one class of exception, at one place."""

    key: str = Field(description="Stays the same while type, class, file and function do.")
    type: str
    error_class: str | None = Field(
        description="The class of the exception; null if the job failed without one."
    )
    place: str | None = Field(
        description=(
            "The last frame of the application in the traceback: file, line and function. Null"
            " without a traceback."
        ),
        examples=["shop/mail.py:41 in send"],
    )
    count: int = Field(description="Failed attempts.")
    job_ids: list[JobId] = Field(
        validation_alias="failed_jobs",
        description="The jobs that have failed for good, the latest failure first.",
    )
    retryable: int = Field(description="How many of `job_ids` have not been retried.")
    first_on: datetime
    last_on: datetime
    new_since: DeployedItem | None = Field(
        description=(
            "The last deployment before the first of these failures; null if they are older than"
            " the deployments of the period, or if this is not known."
        )
    )
    query: str = Field(
        description=(
            "The search for the jobs of this type that failed for good with this class of"
            " exception, at any place, as in `query` of the list of jobs."
        )
    )
    sample_job: int = Field(validation_alias=AliasPath("sample", "job_id"))
    error: TextOfValues = Field(
        validation_alias=AliasPath("sample", "error"), description="The text of the latest failure."
    )
    error_sentence: StoredSentenceOfValues = Field(
        None, validation_alias=AliasPath("sample", "error")
    )
    traceback: TextOfValues = Field(
        validation_alias=AliasPath("sample", "traceback"),
        description="The end of the traceback of the latest failure.",
    )


class ErrorList(View):
    """The groups of failures, the largest first."""

    since: datetime
    complete: bool = Field(
        description="False if there were too many failures to count all; then the oldest lack."
    )
    groups: list[ErrorGroupItem]
    deployment: DeployedItem | None = Field(
        description="The deployment since which failures are counted, if one was asked for."
    )
    deployments: list[DeployedItem] = Field(
        description="The deployments of the last 90 days, the newest first; at most 100."
    )


@router.get("/", responses=document_errors(404))
async def list_errors(
    services: ServicesHere, actor: Reader, query: FromQuery[FailureQuery]
) -> ErrorList:
    """Group the failed attempts by job type, class of the exception, and place in the application.

    The largest group comes first. To retry or delete the jobs of a group, send its `job_ids` to
    `/api/jobs/bulk/`.
    """
    found = await services.on_thread(
        failures_since,
        services.reads,
        query.since,
        query.type,
        deployment=query.deployment,
        only_new=query.only_new,
    )
    return shown_to(actor, ErrorList.model_validate(found))
