"""Reads an observation from the database."""

from collections.abc import Collection
from typing import Final

from horae.alerts.rules import AlertThresholds, LostNode, Observation, Rule
from horae.client.doctor import late_queues, read_idle_slots
from horae.domain.jobs import JobState
from horae.runtime.node import SeenNode, living, look
from horae.storage.engine import Database
from horae.storage.nodes import nodes
from horae.storage.queues import depth, queues
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
    keys = [key.partition(":") for key in known]
    missed = [
        int(name) for rule, _, name in keys if rule == Rule.SCHEDULE_MISSED and name.isdecimal()
    ]
    seen = look(database)
    views = database.autocommit(queues.view)
    return Observation(
        late=database.autocommit(health.late, thresholds.seconds("schedule_late"), MOST),
        missed=database.autocommit(health.missed, SEARCHED, missed, MOST),
        failing=database.autocommit(health.failing, thresholds.failures),
        late_queues=late_queues(
            database.autocommit(depth.waiting_long, thresholds.seconds("queue_late")), views
        ),
        idle_slots=read_idle_slots(
            database, views, living(seen), thresholds.seconds("nothing_claimed")
        ),
        dead_nodes=[*_dead(seen), *_removed(database, thresholds.seconds("node_dead"))],
    )


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
            fate=", ".join(
                f"{count} {'to run again' if state == JobState.PENDING else state}"
                for state, count in sorted(node.jobs.items())
            ),
        )
        for node in database.autocommit(nodes.recently_died, seconds)
    ]
