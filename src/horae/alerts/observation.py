"""What a watch has seen at one moment: values, without a database or a clock of its own."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from horae.storage.schedules import FailingSchedule, LateSchedule, MissedSchedule


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
