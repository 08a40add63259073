"""The check of queues whose jobs wait too long, and of free slots that claim none of them."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import timedelta

from horae.client.doctor.finding import (
    USUAL,
    About,
    Counted,
    Deed,
    Finding,
    Noun,
    count_of,
    length_of,
    problem,
)
from horae.client.doctor.work import pending_query
from horae.sentences import Sentence, SentenceCode
from horae.storage.engine import Database
from horae.storage.nodes import NodeView
from horae.storage.queues import DueJobs, QueueView, depth


@dataclass(frozen=True, slots=True, kw_only=True)
class LateQueue:
    """A queue whose longest waiting job has been due for so many seconds."""

    name: str
    seconds: float
    due: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleSlots:
    """Slots that claim nothing: jobs of a queue are due, and live nodes that can run them are free.

    `seconds`: for how long the oldest of these jobs has been due.
    """

    queue: str
    due: int
    free: int
    seconds: float


def slow_findings(
    database: Database,
    queues: Collection[QueueView],
    alive: Collection[NodeView],
) -> Iterator[Finding]:
    """Report queues whose jobs wait long although a node serves them."""
    longest = max((each.oldest_due or 0.0 for each in queues if not each.is_paused), default=0.0)
    if longest < USUAL.nothing_claimed:
        return  # the statements below would find nothing
    waiting = database.autocommit(depth.waiting_long, USUAL.queue_late)
    served = [
        each for each in waiting if any(node.can_run(each.type, each.queue) for node in alive)
    ]
    yield from late_queue_findings(late_queues(served, queues))
    idle = read_idle_slots(database, queues, alive, USUAL.nothing_claimed)
    yield from idle_findings(idle)


def late_queue_findings(late: Collection[LateQueue]) -> Iterator[Finding]:
    """Report queues that are behind."""
    for each in late:
        yield problem(
            "queues",
            Sentence(
                f"queue {each.name!r} is behind: a job has been due for {length_of(each.seconds)},"
                f" and {count_of(each.due, 'job')} {'waits' if each.due == 1 else 'wait'} for long",
                SentenceCode.QUEUE_LATE,
                queue=each.name,
                seconds=each.seconds,
                jobs=each.due,
            ),
            Sentence(
                "Add slots: start a node, or raise --concurrency; or look at what fills them.",
                SentenceCode.DO_ADD_SLOTS,
            ),
            kind="queue_late",
            since=timedelta(seconds=each.seconds),
            about=About(Noun.QUEUE, each.name),
            counted=Counted(each.due, pending_query(queue=each.name)),
            deeds=(Deed.PAUSE,),
        )


def idle_findings(idle: Collection[IdleSlots]) -> Iterator[Finding]:
    """Report slots that claim nothing."""
    for each in idle:
        yield problem(
            "queues",
            Sentence(
                f"{count_of(each.due, 'job')} due in queue {each.queue!r} and"
                f" {count_of(each.free, 'slot')} free for them, but nothing was claimed in"
                f" {length_of(each.seconds)}",
                SentenceCode.NOTHING_CLAIMED,
                queue=each.queue,
                jobs=each.due,
                free=each.free,
                seconds=each.seconds,
            ),
            Sentence(
                "Read the logs of the nodes that serve this queue.",
                SentenceCode.DO_READ_LOGS_OF_QUEUE,
            ),
            kind="nothing_claimed",
            since=timedelta(seconds=each.seconds),
            about=About(Noun.QUEUE, each.queue),
            counted=Counted(each.due, pending_query(queue=each.queue)),
        )


def late_queues(waiting: Collection[DueJobs], views: Collection[QueueView]) -> list[LateQueue]:
    """Return the queues of the jobs that have waited for long, unless they are paused."""
    paused = {view.name for view in views if view.paused_at is not None}
    return [
        LateQueue(
            name=name,
            seconds=max(each.oldest for each in waiting if each.queue == name),
            due=sum(each.count for each in waiting if each.queue == name),
        )
        for name in sorted({each.queue for each in waiting} - paused)
    ]


def read_idle_slots(
    database: Database,
    views: Collection[QueueView],
    alive: Collection[NodeView],
    seconds: float,
) -> list[IdleSlots]:
    """Return the queues whose due jobs have free slots that have claimed nothing for so long."""
    waiting = database.autocommit(depth.waiting_long, seconds)
    if not waiting:
        return []
    long = {(each.queue, each.type) for each in waiting}
    due = [
        each
        for each in database.autocommit(depth.due_jobs)
        if (each.queue, each.type) in long  # what waits only for a slot, and does so for long
    ]
    return idle_slots(due, views, alive, database.autocommit(depth.claimed, seconds), seconds)


def idle_slots(
    due: Collection[DueJobs],
    views: Collection[QueueView],
    alive: Collection[NodeView],
    claimed: Collection[str],
    seconds: float,
) -> list[IdleSlots]:
    """Return the queues whose due jobs have free slots that have claimed nothing for so long.

    Of a queue that is paused, or whose limit is reached, nothing may be claimed.
    """
    by_name = {view.name: view for view in views}
    found: list[IdleSlots] = []
    for name in sorted({each.queue for each in due} - set(claimed)):
        view = by_name.get(name)
        if view is not None and (
            view.is_paused
            or (view.concurrency_limit is not None and view.started >= view.concurrency_limit)
        ):
            continue
        jobs = [
            each for each in due if each.queue == name and not each.sent and each.oldest >= seconds
        ]
        able = [node for node in alive if any(node.can_run(each.type, name) for each in jobs)]
        jobs = [each for each in jobs if any(node.can_run(each.type, name) for node in able)]
        free = sum(node.concurrency - node.slots_used for node in able)
        if jobs and free > 0:
            count, oldest = sum(each.count for each in jobs), max(each.oldest for each in jobs)
            found.append(IdleSlots(queue=name, due=count, free=free, seconds=oldest))
    return found
