"""`/api/errors/`: what fails, in groups that have one cause."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from horae.api.dependencies import Reader, ServicesHere, shown_to
from horae.api.models import RequestModel, Storable
from horae.api.problems import document_errors
from horae.api.views import ErrorList
from horae.client.operations import failures_since
from horae.domain.names import LONGEST_NAME

router = APIRouter(prefix="/api/errors", tags=["operations"])


class FailureQuery(RequestModel):
    """Which failures to group."""

    since: Storable = Field(
        "24h", min_length=1, max_length=50, description="How far to look back, at most 90 days."
    )
    type: Storable | None = Field(
        None, min_length=1, max_length=LONGEST_NAME, description="Only failures of this job type."
    )

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


@router.get("/", responses=document_errors(404))
async def list_errors(
    services: ServicesHere, actor: Reader, query: Annotated[FailureQuery, Query()]
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
