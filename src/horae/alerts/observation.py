"""What a watch has seen at one moment: values, without a database or a clock of its own."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from horae.client.doctor import IdleSlots, LateQueue
from horae.storage.schedules import FailingSchedule, LateSchedule, MissedSchedule


@dataclass(frozen=True, slots=True, kw_only=True)
class LostNode:
    """A node that has ended without unregistering.

    `fate`: what has become of the jobs that it held, such as `1 failed, 2 to run again`.
    """

    id: str
    name: str
    host: str
    pid: int
    held: int
    fate: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Everything that the rules are decided by.

    `away`: why the database could not be read; then the rest is unknown, and empty.
    """

    away: str | None = None
    late: Sequence[LateSchedule] = field(default=())
    missed: Sequence[MissedSchedule] = field(default=())
    failing: Sequence[FailingSchedule] = field(default=())
    late_queues: Sequence[LateQueue] = field(default=())
    idle_slots: Sequence[IdleSlots] = field(default=())
    dead_nodes: Sequence[LostNode] = field(default=())
