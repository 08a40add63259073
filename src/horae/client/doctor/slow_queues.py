"""The check of queues whose jobs wait too long, and of free slots that claim none of them."""

from collections.abc import Collection, Iterator
from datetime import timedelta
from typing import Final

from horae.client.doctor.finding import (
    USUAL,
    About,
    Counted,
    Deed,
    Finding,
    Noun,
    length_of,
    problem,
)
from horae.client.doctor.work import pending_query
from horae.quoting import quoted
from horae.sentences import Sentence, SentenceCode, counted
from horae.storage.engine import Database
from horae.storage.nodes import NodeView
from horae.storage.queues import DueJobs, QueueView, depth

ADD_SLOTS: Final = Sentence(
    "Add slots: start a node, or raise --concurrency; or look at what fills them.",
    SentenceCode.DO_ADD_SLOTS,
)
RAISE_LIMIT: Final = Sentence(
    "Raise the limit, if what it protects can take more.", SentenceCode.DO_RAISE_LIMIT
)


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
    yield from late_queue_findings(served, queues)
    yield from late_limit_findings(served, queues)
    yield from idle_findings(database, queues, alive, USUAL.nothing_claimed)


def late_queue_findings(
    waiting: Collection[DueJobs], views: Collection[QueueView]
) -> Iterator[Finding]:
    """Report the queues of jobs that have waited for long, unless they are paused."""
    full = {view.name for view in views if view.is_full}
    late = [each for each in _unpaused(waiting, views) if each.limit is None]
    for name in sorted({each.queue for each in late}):
        seconds = max(each.oldest for each in late if each.queue == name)
        due = sum(each.count for each in late if each.queue == name)
        yield problem(
            "queues",
            Sentence(
                f"queue {name!r} is behind: a job has been due for {length_of(seconds)},"
                f" and {counted(due, 'job')} {'waits' if due == 1 else 'wait'} for long",
                SentenceCode.QUEUE_LATE,
                queue=name,
                seconds=seconds,
                jobs=due,
            ),
            RAISE_LIMIT if name in full else ADD_SLOTS,
            kind="queue_late",
            since=timedelta(seconds=seconds),
            about=About(Noun.QUEUE, name),
            counted=Counted(due, pending_query(queue=name)),
            deeds=() if name in full else (Deed.PAUSE,),
        )


def late_limit_findings(
    waiting: Collection[DueJobs], views: Collection[QueueView]
) -> Iterator[Finding]:
    """Report the limits by key that have held jobs back for long."""
    held = [(each.limit, each) for each in _unpaused(waiting, views) if each.limit is not None]
    for name in sorted({limit for limit, _ in held}):
        seconds = max(each.oldest for limit, each in held if limit == name)
        due = sum(each.count for limit, each in held if limit == name)
        yield problem(
            "limits",
            Sentence(
                f"limit {quoted(name)} holds back {counted(due, 'job')} for long: one has been due"
                f" for {length_of(seconds)}",
                SentenceCode.LIMIT_LATE,
                limit=name,
                seconds=seconds,
                jobs=due,
            ),
            RAISE_LIMIT,
            kind="limit_late",
            since=timedelta(seconds=seconds),
            about=About(Noun.LIMIT, name),
        )


def _unpaused(waiting: Collection[DueJobs], views: Collection[QueueView]) -> list[DueJobs]:
    paused = {view.name for view in views if view.paused_at is not None}
    return [each for each in waiting if each.queue not in paused]


def idle_findings(
    database: Database,
    views: Collection[QueueView],
    alive: Collection[NodeView],
    seconds: float,
) -> Iterator[Finding]:
    """Report queues whose due jobs have free slots that have claimed nothing for so long."""
    waiting = database.autocommit(depth.waiting_long, seconds)
    if not waiting:
        return
    long = {(each.queue, each.type) for each in waiting}
    due = [
        each
        for each in database.autocommit(depth.due_jobs)
        if (each.queue, each.type) in long  # what waits only for a slot, and does so for long
    ]
    yield from unclaimed_findings(
        due, views, alive, database.autocommit(depth.claimed, seconds), seconds
    )


def unclaimed_findings(
    due: Collection[DueJobs],
    views: Collection[QueueView],
    alive: Collection[NodeView],
    claimed: Collection[str],
    seconds: float,
) -> Iterator[Finding]:
    """Report queues of which nothing was `claimed`, although live nodes have free slots for it.

    Of a queue that is paused, or whose limit is reached, nothing may be claimed.
    """
    by_name = {view.name: view for view in views}
    for name in sorted({each.queue for each in due} - set(claimed)):
        view = by_name.get(name)
        if view is not None and (view.is_paused or view.is_full):
            continue
        jobs = [
            each for each in due if each.queue == name and not each.sent and each.oldest >= seconds
        ]
        able = [node for node in alive if any(node.can_run(each.type, name) for each in jobs)]
        jobs = [each for each in jobs if any(node.can_run(each.type, name) for node in able)]
        free = sum(node.concurrency - node.slots_used for node in able)
        if not jobs or free <= 0:
            continue
        count, oldest = sum(each.count for each in jobs), max(each.oldest for each in jobs)
        yield problem(
            "queues",
            Sentence(
                f"{counted(count, 'job')} due in queue {name!r} and {counted(free, 'slot')} free"
                f" for them, but nothing was claimed in {length_of(oldest)}",
                SentenceCode.NOTHING_CLAIMED,
                queue=name,
                jobs=count,
                free=free,
                seconds=oldest,
            ),
            Sentence(
                "Read the logs of the nodes that serve this queue.",
                SentenceCode.DO_READ_LOGS_OF_QUEUE,
            ),
            kind="nothing_claimed",
            since=timedelta(seconds=oldest),
            about=About(Noun.QUEUE, name),
            counted=Counted(count, pending_query(queue=name)),
        )
