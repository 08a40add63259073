"""Queues, nodes and the overview as responses say them."""

from datetime import datetime

from pydantic import BaseModel, Field

from horae.client.operations.overview import Overview, Percentiles
from horae.runtime.node.node_status import SeenNode
from horae.storage.operations.nodes import DeadNode
from horae.storage.operations.queues import QueueView


class QueueItem(BaseModel):
    """A queue, with what waits and runs in it."""

    name: str
    paused: bool
    paused_on: datetime | None
    note: str | None = Field(description="Why it is paused.")
    concurrency_limit: int | None = Field(description="Jobs that may run at a time, over all nodes; null for no limit.")
    pending: int = Field(description="Pending jobs, including those that are due later.")
    due: int = Field(description="Pending jobs that are due.")
    started: int
    oldest_seconds: float | None = Field(description="How long its longest waiting job has been due; null for none.")


class QueueList(BaseModel):
    """Every queue that has work, is paused or has a limit, by name."""

    queues: list[QueueItem]


class NodeItem(BaseModel):
    """A running node, or one that stopped without unregistering."""

    id: str
    name: str
    host: str
    pid: int
    version: str
    roles: list[str]
    queues: list[str] | None = Field(description="The queues that it serves; null for all.")
    types: list[str] = Field(description="The job types that it knows.")
    slots: int = Field(description="Jobs that it runs at a time.")
    running: int = Field(description="Jobs that it holds.")
    started_on: datetime
    heartbeat_on: datetime
    heartbeat_age: float = Field(description="Seconds since its last heartbeat.")
    ring_share: float = Field(ge=0, le=1, description="The share of all schedules of which it is the first owner.")
    alive: bool
    cause_of_death: str | None


class DeadNodeItem(BaseModel):
    """A node that died and was removed from the list; other nodes rescued its jobs."""

    id: str
    name: str
    host: str
    pid: int
    died_on: datetime = Field(description="When another node found it dead.")


class NodeList(BaseModel):
    """All nodes, the oldest first."""

    nodes: list[NodeItem]
    died: list[DeadNodeItem] = Field(description="Nodes that died in the last hour, latest first.")


class StateCounts(BaseModel):
    """How many jobs are in each state, of those that are kept."""

    pending: int
    started: int
    finished: int
    failed: int
    cancelled: int


class MinuteItem(BaseModel):
    """What ended in one minute."""

    minute: datetime
    finished: int
    failed: int
    cancelled: int
    mean_pick_up_seconds: float | None = Field(description="From due to started, of the jobs that ended then.")
    longest_pick_up_seconds: float | None


class PercentilesItem(BaseModel):
    """How some seconds are spread over the latest jobs that ended in the last hour, at most 1,000."""

    count: int
    p50_seconds: float | None
    p99_seconds: float | None


class ProblemItem(BaseModel):
    """A problem or warning, in words."""

    level: str = Field(description="`problem` needs action; `warning` is for information.")
    subject: str
    message: str
    advice: str | None


class OverviewItem(BaseModel):
    """The state of the whole system; cached for up to two seconds."""

    at: datetime
    states: StateCounts
    ready: int = Field(description="Jobs that wait only for a free slot: they are due and their queue is not paused.")
    throughput: list[MinuteItem] = Field(description="The last hour by minutes; those without an end are left out.")
    queues: list[QueueItem]
    pick_up: PercentilesItem = Field(description="From due to started.")
    duration: PercentilesItem = Field(description="From started to ended.")
    lateness: PercentilesItem = Field(description="Of scheduled jobs: from the nominal time to fired.")
    nodes_alive: int
    nodes_dead: int
    slots: int
    running: int
    problems: list[ProblemItem] = Field(description="Worst first; empty if there are none.")


def queue_item(view: QueueView) -> QueueItem:
    """One queue."""
    due = view.oldest_due if view.oldest_due is not None and view.oldest_due > 0 else None
    return QueueItem(
        name=view.name,
        paused=view.paused_at is not None,
        paused_on=view.paused_at,
        note=view.note,
        concurrency_limit=view.concurrency_limit,
        pending=view.pending,
        due=view.due,
        started=view.started,
        oldest_seconds=due,
    )


def idle_queue_item(name: str) -> QueueItem:
    """A queue of which nothing is known: it is open, has no limit and no work."""
    view = QueueView(
        name=name, paused_at=None, note=None, concurrency_limit=None, pending=0, due=0, started=0, oldest_due=None
    )
    return queue_item(view)


def node_item(seen: SeenNode, ring_share: float) -> NodeItem:
    """One node."""
    view = seen.view
    return NodeItem(
        id=view.id,
        name=view.name,
        host=seen.host_name,
        pid=view.pid,
        version=view.version,
        roles=view.roles,
        queues=view.queues,
        types=view.types,
        slots=view.concurrency,
        running=view.running,
        started_on=view.started_at,
        heartbeat_on=view.heartbeat_at,
        heartbeat_age=view.silence,
        ring_share=ring_share,
        alive=seen.alive,
        cause_of_death=seen.cause_of_death,
    )


def dead_node_item(node: DeadNode) -> DeadNodeItem:
    """One node that has died."""
    return DeadNodeItem(
        id=node.id, name=node.name, host=node.host.partition("/")[0], pid=node.pid, died_on=node.died_at
    )


def overview_item(overview: Overview) -> OverviewItem:
    """The whole."""
    return OverviewItem(
        at=overview.at,
        states=StateCounts(**{state.value: count for state, count in overview.states.items()}),
        ready=overview.ready,
        throughput=[
            MinuteItem(
                minute=each.minute,
                finished=each.finished,
                failed=each.failed,
                cancelled=each.cancelled,
                mean_pick_up_seconds=each.mean_pick_up,
                longest_pick_up_seconds=each.longest_pick_up,
            )
            for each in overview.throughput
        ],
        queues=[queue_item(view) for view in overview.queues],
        pick_up=_spread(overview.pick_up),
        duration=_spread(overview.duration),
        lateness=_spread(overview.lateness),
        nodes_alive=overview.nodes_alive,
        nodes_dead=overview.nodes_dead,
        slots=overview.slots,
        running=overview.running,
        problems=[
            ProblemItem(level=each.level.value, subject=each.check, message=each.message, advice=each.advice)
            for each in overview.problems
        ],
    )


def _spread(spread: Percentiles) -> PercentilesItem:
    return PercentilesItem(count=spread.count, p50_seconds=spread.p50, p99_seconds=spread.p99)
