"""Hints between processes: "there is work", "stop that job", "that job has ended", "a node is gone".

A hint makes things sooner, never right: it may be lost, doubled or late, and whoever waits for one also polls.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from horae.domain.jobs.job import JobId


class HintKind(StrEnum):
    """What a hint is about."""

    WORK = "work"
    CANCEL = "cancel"
    ENDED = "ended"
    SCHEDULES = "schedules"
    NODES = "nodes"


@dataclass(frozen=True, slots=True)
class Hint:
    """Something happened to these jobs, to schedules, or to a node; no ids means "to some, look for yourself"."""

    kind: HintKind
    job_ids: tuple[JobId, ...] = ()


Listener = Callable[[Hint], None]


class WakeupChannel(Protocol):
    """Carries hints to every process on the same database, this one included."""

    @property
    def connected(self) -> bool:
        """Whether hints of other processes arrive now; if not, poll more often."""
        ...

    def send(self, hint: Hint) -> None:
        """Pass the hint on soon. Coalesces; never blocks and never raises."""
        ...

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` on a thread of the channel for each hint; the answer ends that."""
        ...

    def close(self) -> None:
        """Send what waits, then stop."""
        ...
