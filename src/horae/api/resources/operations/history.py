"""`/api/history/`: what waited, how late it was and what ended, for charts and tables."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from horae.api.dependencies import Reader, ServicesHere
from horae.api.models import Moment, RequestModel, Storable
from horae.api.problems import document_errors
from horae.api.views import (
    HistorySeries,
    QueueHistoryList,
    TypeHistoryList,
    history_series,
)
from horae.client.operations import Scope, of_queues, of_types, series
from horae.domain.history import MOST_POINTS
from horae.domain.names import LONGEST_NAME

router = APIRouter(prefix="/api/history", tags=["operations"])

Span = Annotated[
    Storable,
    Field(
        min_length=1,
        max_length=50,
        description="How far to look back: 10 minutes to 30 days, such as `6h`.",
    ),
]


class SeriesQuery(RequestModel):
    """Which figures to read."""

    scope: Scope = Scope.EVERYTHING
    name: Storable | None = Field(
        None, min_length=1, max_length=LONGEST_NAME, description="The name of the queue or type."
    )
    span: Span | None = None
    since: Moment | None = Field(None, alias="from", description="In place of `span`.")
    until: Moment | None = Field(None, description="With `from`; default: now.")
    points: int = Field(
        400, ge=10, le=MOST_POINTS, description="Maximum number of steps, which are as short."
    )


class CoursesQuery(RequestModel):
    """How far to look back."""

    span: Span = "1h"


class TypesQuery(RequestModel):
    """How far to look back, and what to compare."""

    span: Span = "24h"
    deployment: Storable | None = Field(
        None,
        min_length=1,
        max_length=LONGEST_NAME,
        description=(
            "The key of a deployment of the last 30 days: compares `span` before it with the same"
            " time after it."
        ),
    )


@router.get("/")
async def get_history(
    services: ServicesHere, _actor: Reader, query: Annotated[SeriesQuery, Query()]
) -> HistorySeries:
    """Read the figures of all jobs, of one queue or of one type, in equal steps of time.

    Without `span` and `from`: of the last hour. Steps of ten seconds are kept for two hours, of a
    minute for a day, of ten minutes for a week, and of an hour for a month; an answer has the
    shortest that are kept and of which there are at most `points`.
    """
    found = await services.on_thread(series, services.reads, **query.model_dump())
    return history_series(found)


@router.get("/queues/")
async def list_queue_history(
    services: ServicesHere, _actor: Reader, query: Annotated[CoursesQuery, Query()]
) -> QueueHistoryList:
    """List the queues that had jobs: how many waited, what ended, and since when one is behind."""
    found = await services.on_thread(of_queues, services.reads, query.span)
    return QueueHistoryList.model_validate(found)


@router.get("/types/", responses=document_errors(404))
async def list_type_history(
    services: ServicesHere, _actor: Reader, query: Annotated[TypesQuery, Query()]
) -> TypeHistoryList:
    """List the job types: what ended, how long it waited and ran, before and after a deployment."""
    found = await services.on_thread(
        of_types, services.reads, query.span, query.deployment, services.registry.by_name
    )
    return TypeHistoryList.model_validate(found)
