"""Reads an observation from the database."""

from collections.abc import Collection, Mapping
from typing import Final

from horae.alerts.observation import IdleSlots, LateQueue, LostNode, Observation
from horae.alerts.rules import AlertThresholds, Rule
from horae.runtime.node import SeenNode, living, look
from horae.storage.engine import Database
from horae.storage.nodes import NodeView, nodes
from horae.storage.queues import DueJobs, QueueView, depth, queues
from horae.storage.schedules import health

MOST: Final = 1_000
"""Maximum number of schedules of one kind that are read."""
SEARCHED: Final = 3_600.0
"""Seconds for which the decisions of schedules are searched for missed times.

An alert about one that was found lasts until the schedule has run again.
"""


def observe(database: Database, thresholds: AlertThresholds, known: Collection[str]) -> Observation:
    """Read everything that the rules need; raises what the database raises.

    `known`: the keys of alerts, whose schedules are looked at again.
    """
    missed = [int(key) for key in _named(known, Rule.SCHEDULE_MISSED) if key.isdecimal()]
    seen = look(database)
    alive = living(seen)
    views = database.autocommit(queues.view)
    claimed_in = thresholds.seconds("nothing_claimed")
    return Observation(
        late=database.autocommit(health.late, thresholds.seconds("schedule_late"), MOST),
        missed=database.autocommit(health.missed, SEARCHED, missed, MOST),
        failing=database.autocommit(health.failing, thresholds.failures),
        late_queues=_late_queues(
            database.autocommit(depth.waiting_long, thresholds.seconds("queue_late")), views
        ),
        idle_slots=idle_slots(
            _startable(
                database.autocommit(depth.due_jobs),
                database.autocommit(depth.waiting_long, claimed_in),
            ),
            views,
            alive,
            database.autocommit(depth.claimed, claimed_in),
            claimed_in,
        ),
        dead_nodes=[*_dead(seen), *_removed(database, thresholds.seconds("node_dead"))],
    )


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
            view.paused_at is not None
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


def _startable(due: Collection[DueJobs], waiting: Collection[DueJobs]) -> list[DueJobs]:
    """Return what waits only for a slot, and does so for long."""
    long = {(each.queue, each.type) for each in waiting}
    return [each for each in due if (each.queue, each.type) in long]


def _late_queues(waiting: Collection[DueJobs], views: Collection[QueueView]) -> list[LateQueue]:
    paused = {view.name for view in views if view.paused_at is not None}
    return [
        LateQueue(
            name=name,
            seconds=max(each.oldest for each in waiting if each.queue == name),
            due=sum(each.count for each in waiting if each.queue == name),
        )
        for name in sorted({each.queue for each in waiting} - paused)
    ]


def _dead(seen: Collection[SeenNode]) -> list[LostNode]:
    """Return the dead nodes that nobody has removed yet."""
    return [
        LostNode(
            id=node.view.id,
            name=node.view.name,
            host=node.host_name,
            pid=node.view.pid,
            held=node.view.running,
            fate="not taken over yet",
        )
        for node in seen
        if not node.alive
    ]


def _removed(database: Database, seconds: float) -> list[LostNode]:
    """Return the dead nodes that others have removed lately."""
    return [
        LostNode(
            id=node.id,
            name=node.name,
            host=node.host.partition("/")[0],
            pid=node.pid,
            held=sum(node.jobs.values()),
            fate=_fate(node.jobs),
        )
        for node in database.autocommit(nodes.recently_died, seconds)
    ]


def _fate(jobs: Mapping[str, int]) -> str:
    words = {"pending": "to run again"}
    return ", ".join(f"{count} {words.get(state, state)}" for state, count in sorted(jobs.items()))


def _named(keys: Collection[str], rule: Rule) -> list[str]:
    return [key.partition(":")[2] for key in keys if key.startswith(f"{rule}:")]
