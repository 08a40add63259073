"""Reads from the database what may be told."""

from collections.abc import Collection
from typing import Final

from horae.alerts.rules import AlertThresholds, Rule
from horae.client.doctor import (
    Finding,
    failing_findings,
    idle_findings,
    late_findings,
    late_limit_findings,
    late_queue_findings,
    lost_findings,
    missed_findings,
    node_findings,
)
from horae.runtime.node import dead, living, look
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


def observe(
    database: Database, thresholds: AlertThresholds, known: Collection[str]
) -> list[Finding]:
    """Read everything that the rules need; raises what the database raises.

    `known`: the keys of alerts, whose schedules are looked at again.
    """
    keys = [key.partition(":") for key in known]
    missed = [
        int(name) for rule, _, name in keys if rule == Rule.SCHEDULE_MISSED and name.isdecimal()
    ]
    seen, views = look(database), database.autocommit(queues.view)
    alive, read = living(seen), database.autocommit
    waiting = read(depth.waiting_long, thresholds.seconds("queue_late"))
    late = read(health.late, thresholds.seconds("schedule_late"), MOST)
    return [
        *missed_findings(read(health.missed, SEARCHED, missed, MOST)),
        *late_findings(late.latest, alive),
        *failing_findings(read(health.failing, thresholds.failures)),
        *late_queue_findings(waiting, views),
        *late_limit_findings(waiting, views),
        *idle_findings(database, views, alive, thresholds.seconds("nothing_claimed")),
        *node_findings(alive, dead(seen)),
        *lost_findings(read(nodes.recently_died, thresholds.seconds("node_dead"))),
    ]
