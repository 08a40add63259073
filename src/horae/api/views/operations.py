"""Queues, nodes and the overview in responses."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from horae.api.models import OptionalSentence, View, attributes
from horae.client.doctor import Deed, Noun
from horae.client.operations import Overview
from horae.domain.jobs import OWN_BACKEND
from horae.runtime.node import SeenNode
from horae.types.options import QUEUE_OPTIONS


class QueueItem(View):
    """A queue, with what waits and runs in it."""

    name: str
    paused: Annotated[bool, BeforeValidator(lambda moment: moment is not None)] = Field(
        validation_alias="paused_at"
    )
    paused_on: datetime | None = Field(validation_alias="paused_at")
    note: str | None = Field(description="Why it is paused.")
    concurrency_limit: int | None = Field(
        description=QUEUE_OPTIONS["concurrency_limit"].description
    )
    fair_by: str | None = Field(description=QUEUE_OPTIONS["fair_by"].description)
    limits: dict[str, Any] | None = Field(description=QUEUE_OPTIONS["limits"].description)
    declared: dict[str, Any] | None = Field(
        description=(
            "What the code of a deployed module declares for these; changes at run time stay until"
            " it changes."
        )
    )
    backend: Annotated[str, BeforeValidator(lambda stored: stored or OWN_BACKEND)] = Field(
        description=(
            "What runs its jobs unless their type names something else: `horae`, `celery` or"
            " `celery:QUEUE`."
        )
    )
    pending: int = Field(description="Pending jobs, including those that are due later.")
    due: int = Field(description="Pending jobs that are due.")
    started: int
    oldest_seconds: Annotated[
        float | None, BeforeValidator(lambda seconds: seconds if seconds and seconds > 0 else None)
    ] = Field(
        validation_alias="oldest_due",
        description="How long its longest waiting job has been due; null for none.",
    )


class QueueList(View):
    """Every queue that has work, is paused, has a limit or is run by another system, by name."""

    queues: list[QueueItem]


class NodeItem(View):
    """A running node, or one that stopped without unregistering."""

    id: str
    name: str
    host: str
    pid: int
    version: str
    roles: list[str]
    queues: list[str] | None = Field(description="The queues that it serves; null for all.")
    types: list[str] = Field(description="The job types that it knows.")
    slots: int = Field(validation_alias="concurrency", description="Jobs that it runs at a time.")
    slots_used: int = Field(description="How many of these are taken.")
    running: int = Field(
        description=(
            "Jobs that it holds; more than it has slots if it has claimed the next ones, or if"
            " bodies wait."
        )
    )
    started_on: datetime = Field(validation_alias="started_at")
    heartbeat_on: datetime = Field(validation_alias="heartbeat_at")
    heartbeat_age: float = Field(
        validation_alias="silence", description="Seconds since its last heartbeat."
    )
    ring_share: float = Field(
        ge=0, le=1, description="The share of all schedules of which it is the first owner."
    )
    alive: bool
    cause_of_death: str | None
    cause_of_death_sentence: OptionalSentence = Field(validation_alias="cause_of_death")


class DeadNodeItem(View):
    """A node that died and was removed from the list; other nodes rescued its jobs."""

    id: str
    name: str
    host: Annotated[str, BeforeValidator(lambda host: host.partition("/")[0])]
    pid: int
    died_on: datetime = Field(
        validation_alias="died_at", description="When another node found it dead."
    )
    jobs: dict[str, int] = Field(
        description=(
            "What became of the jobs that it held: their numbers by their next states; `pending`"
            " ones run again."
        )
    )


class NodeList(View):
    """All nodes, the oldest first."""

    nodes: list[NodeItem]
    died: list[DeadNodeItem] = Field(description="Nodes that died in the last day, latest first.")


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
    message_sentence: OptionalSentence = Field(validation_alias="message")
    advice: str | None
    advice_sentence: OptionalSentence = Field(validation_alias="advice")
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


def overview_item(taken: Overview) -> OverviewItem:
    """Return the view of an overview; its problems have lasted until it was taken."""
    problems = [{**attributes(each), "since": each.began(taken.at)} for each in taken.problems]
    more = {"is_well": taken.is_well, "summary": taken.summary}
    values = {**attributes(taken), "problems": problems, **more}
    return OverviewItem.model_validate(values)


def node_item(seen: SeenNode, ring_share: float) -> NodeItem:
    """Return the view of a node."""
    found = {"host": seen.host_name, "alive": seen.alive, "cause_of_death": seen.cause_of_death}
    found |= {"slots_used": seen.view.slots_used}
    return NodeItem.model_validate({**attributes(seen.view), **found, "ring_share": ring_share})
