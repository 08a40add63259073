"""`/api/history/`: what waited, how late it was and what ended, for charts and tables."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter
from pydantic import Field

from horae.api.dependencies import Reader, ServicesHere
from horae.api.models import FromQuery, Moment, Name, RequestModel, Storable, View
from horae.api.problems import document_errors
from horae.api.resources.operations.errors import DeployedItem
from horae.client.operations import (
    STEP_FIGURES,
    Scope,
    figures_of_step,
    of_queues,
    of_types,
    series,
)
from horae.domain.history import MOST_POINTS

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
    name: Name | None = Field(None, description="The name of the queue or type.")
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
    deployment: Name | None = Field(
        None,
        description=(
            "The key of a deployment of the last 30 days: compares `span` before it with the same"
            " time after it."
        ),
    )


class HistorySeries(View):
    """The figures of a time in equal steps. Each list has an entry for each step, the first at
    `start`; null is a gap: nobody recorded this time.
    """

    scope: Scope
    name: str | None
    start: datetime
    until: datetime = Field(
        description="The end of what is recorded; not yet that of the last step."
    )
    step_seconds: int
    seconds: list[int] = Field(
        description="For how many seconds of each step there are figures; divide by it for a rate."
    )
    waiting: list[int | None] = Field(description="Due jobs, the highest number in each step.")
    lateness_seconds: list[float | None] = Field(
        description=(
            "For how long the oldest due job that may start has waited, the longest in each step."
        )
    )
    finished: list[int | None]
    failed: list[int | None]
    cancelled: list[int | None]
    slots: list[int | None] = Field(
        description="Slots of the living nodes for these jobs, at most the limit of the queue."
    )
    slots_used: list[int | None] = Field(
        description="Jobs that nodes held, the highest number in each step."
    )
    wait_p50_seconds: list[float | None] = Field(
        description=(
            "From due to started, of the jobs that ended; estimated from a histogram. Null for a"
            " queue."
        )
    )
    wait_p95_seconds: list[float | None]
    run_p50_seconds: list[float | None] = Field(description="From started to ended.")
    run_p95_seconds: list[float | None]


class TotalsItem(View):
    """What ended in a time, and how long it waited and ran: estimated from a histogram, and null
    for a queue.
    """

    seconds: int = Field(description="For how many seconds of the time there are figures.")
    finished: int
    failed: int
    cancelled: int
    per_minute: float | None = Field(description="How many jobs ended in a minute.")
    wait_p50_seconds: float | None = Field(validation_alias="wait_p50")
    wait_p95_seconds: float | None = Field(validation_alias="wait_p95")
    run_p50_seconds: float | None = Field(validation_alias="run_p50")
    run_p95_seconds: float | None = Field(validation_alias="run_p95")


class QueueCourseItem(View):
    """The course of one queue."""

    name: str
    waiting: list[int | None] = Field(description="Due jobs, the highest number in each step.")
    slots: int | None = Field(description="Slots of the living nodes for its jobs; null: unknown.")
    totals: TotalsItem
    recent: TotalsItem = Field(description="The last five minutes.")
    behind_since: datetime | None = Field(
        description=(
            "When the queue fell behind, if its oldest job that may start has waited for 30 seconds"
            " or more."
        )
    )


class QueueHistoryList(View):
    """The courses of the queues that had jobs, by name."""

    start: datetime
    until: datetime
    step_seconds: int
    complete: bool = Field(description="False if less busy queues were left out.")
    queues: list[QueueCourseItem]


class TypeCourseItem(View):
    """The course of one job type."""

    name: str
    ended: list[int | None] = Field(description="How many jobs ended in each step.")
    totals: TotalsItem
    before: TotalsItem | None = Field(description="Before the deployment that was asked for.")
    after: TotalsItem | None = Field(description="After it.")


class TypeHistoryList(View):
    """The courses of the job types that had jobs, or that this program knows, by name."""

    start: datetime
    until: datetime
    step_seconds: int
    complete: bool = Field(description="False if less busy types were left out.")
    deployment: DeployedItem | None
    types: list[TypeCourseItem]


@router.get("/")
async def get_history(
    services: ServicesHere, _actor: Reader, query: FromQuery[SeriesQuery]
) -> HistorySeries:
    """Read the figures of all jobs, of one queue or of one type, in equal steps of time.

    Without `span` and `from`: of the last hour. Steps of ten seconds are kept for two hours, of a
    minute for a day, of ten minutes for a week, and of an hour for a month; an answer has the
    shortest that are kept and of which there are at most `points`.
    """
    found = await services.on_thread(series, services.reads, **query.model_dump())
    steps = [figures_of_step(each) for each in found.points]
    return HistorySeries(
        scope=found.scope,
        name=found.name,
        start=found.start,
        until=found.until,
        step_seconds=found.step_seconds,
        seconds=[each.seconds for each in found.points],
        **{name: [step[name] for step in steps] for name in STEP_FIGURES},
    )


@router.get("/queues/")
async def list_queue_history(
    services: ServicesHere, _actor: Reader, query: FromQuery[CoursesQuery]
) -> QueueHistoryList:
    """List the queues that had jobs: how many waited, what ended, and since when one is behind."""
    found = await services.on_thread(of_queues, services.reads, query.span)
    return QueueHistoryList.model_validate(found)


@router.get("/types/", responses=document_errors(404))
async def list_type_history(
    services: ServicesHere, _actor: Reader, query: FromQuery[TypesQuery]
) -> TypeHistoryList:
    """List the job types: what ended, how long it waited and ran, before and after a deployment."""
    found = await services.on_thread(
        of_types, services.reads, query.span, query.deployment, services.registry.by_name
    )
    return TypeHistoryList.model_validate(found)
