"""How long nodes have been silent, even if the database's clock is set meanwhile.

Heartbeats and the present are read from the database's clock. If that is set forward, every node
seems to have been silent for as long; if it is set back, a dead node seems alive until the clock
has caught up. So an observer compares the database's clock with its own, which never steps. Once it
has noticed a step, it counts the silence of each node by its own clock, until the node sends
another heartbeat.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from horae.domain.jobs import NodeId

TOLERANCE: Final = 1.0
"""Seconds by which two readings of both clocks may differ before this counts as a step."""


class Silences:
    """The heartbeats that an observer has read, and the steps of the database's clock meanwhile."""

    def __init__(self) -> None:
        self._read: tuple[datetime, float] | None = None
        self._step_noticed = 0.0
        self._before_step: Mapping[NodeId, datetime] = {}

    def observe(
        self, database_now: datetime, now: float, took: float, heartbeats: Mapping[NodeId, datetime]
    ) -> None:
        """Record a reading of the heartbeats.

        `now`: the observer's clock before it; `took`: how long it took.
        """
        if self._read is not None:
            last, at = self._read
            step = (database_now - last) / timedelta(seconds=1) - (now - at)
            if abs(step) > TOLERANCE + took:
                self._step_noticed, self._before_step = now, dict(heartbeats)
        self._read = database_now, now

    def of(self, node: NodeId, heartbeat: datetime, silence: float, now: float) -> float:
        """Return the seconds since the node's heartbeat.

        `silence`: the same by the database's clock.
        """
        if self._before_step.get(node) == heartbeat:
            return now - self._step_noticed
        return silence
