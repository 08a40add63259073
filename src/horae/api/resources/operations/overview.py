"""`/api/overview/`: the state of the whole system."""

from datetime import datetime
from typing import Literal

from fastapi import APIRouter
from pydantic import Field

from horae.api.dependencies import Reader, ServicesHere
from horae.api.models import OptionalSentence, View, attributes
from horae.api.resources.operations.queues import QueueItem
from horae.client.doctor import Deed, Noun

router = APIRouter(prefix="/api/overview", tags=["operations"])


class StateCounts(View):
    """How many jobs are in each state, of those that are kept."""

    pending: int
    started: int
    finished: int
    failed: int
    cancelled: int


class MinuteItem(View):
    """What ended in one minute."""

    minute: datetime
    finished: int
    failed: int
    cancelled: int
    mean_pick_up_seconds: float | None = Field(
        validation_alias="mean_pick_up",
        description="From due to started, of the jobs that ended then.",
    )
    longest_pick_up_seconds: float | None = Field(validation_alias="longest_pick_up")


class PercentilesItem(View):
    """The distribution of a duration over the latest jobs that ended in the last hour, at most
    1,000.
    """

    count: int
    p50_seconds: float | None = Field(validation_alias="p50")
    p99_seconds: float | None = Field(validation_alias="p99")


class AboutItem(View):
    """What a problem is about."""

    noun: Noun
    name: str
    id: str | None = Field(description="For a schedule and a node; null: its name is its id.")


class CountedItem(View):
    """The jobs that a problem counted."""

    count: int
    query: str = Field(description="The search that finds them, as in `q` of the list of jobs.")


class ProblemItem(View):
    """A problem or warning, in words."""

    level: Literal["problem", "warning"] = Field(
        description="`problem` needs action; `warning` is for information."
    )
    subject: str = Field(validation_alias="check")
    kind: str = Field(
        description="The same for all problems of one cause.", examples=["queue_unserved"]
    )
    message: str
    message_sentence: OptionalSentence
    advice: str | None
    advice_sentence: OptionalSentence
    since: datetime | None = Field(
        description="Since when it has lasted, at least; null if that is unknown."
    )
    about: AboutItem | None
    counted: CountedItem | None
    deeds: list[Deed] = Field(description="What staff can do about it at once.")


class OverviewItem(View):
    """The state of the whole system; cached for up to two seconds."""

    at: datetime
    states: StateCounts
    ready: int = Field(
        description=(
            "Jobs that wait only for a free slot: they are due and their queue is not paused."
        )
    )
    throughput: list[MinuteItem] = Field(
        description="The last hour by minutes; those without an end are left out."
    )
    queues: list[QueueItem]
    pick_up: PercentilesItem = Field(description="From due to started.")
    duration: PercentilesItem = Field(description="From started to ended.")
    lateness: PercentilesItem = Field(
        description="Of scheduled jobs: from the nominal time to fired."
    )
    nodes_alive: int
    nodes_dead: int
    slots: int
    running: int = Field(description="How many of these are taken.")
    summary: str = Field(
        description="Whether anything is wrong, in a sentence.", examples=["3 things are wrong"]
    )
    well: bool = Field(validation_alias="is_well", description="Whether nothing needs action.")
    wrong: int = Field(description="How many things need action.")
    notable: int = Field(description="How many others deserve a look.")
    problems: list[ProblemItem] = Field(description="Worst first; empty if there are none.")


@router.get("/")
async def get_overview(services: ServicesHere, _actor: Reader) -> OverviewItem:
    """Read how many jobs wait and run, what ended in the last hour, the delays, and current
    problems.
    """
    taken = await services.on_thread(services.overview.get)
    # Its problems have lasted until it was taken.
    problems = [{**attributes(each), "since": each.began(taken.at)} for each in taken.problems]
    more = {"problems": problems, "is_well": taken.is_well, "summary": taken.summary}
    return OverviewItem.model_validate({**attributes(taken), **more})
