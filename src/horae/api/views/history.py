"""The history in responses: a list for each figure, with an entry for each step of time."""

from datetime import datetime

from pydantic import Field

from horae.api.models import View
from horae.api.views.failures import DeployedItem
from horae.client.operations import STEP_FIGURES, Scope, Series, figures_of_step


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


def history_series(found: Series) -> HistorySeries:
    """Return the view of a series."""
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
