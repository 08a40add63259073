"""Hints between processes: "there is work", "stop that job", "that job has ended", "a node is
gone".

Hints only reduce latency. A hint may be lost, duplicated or late, so every receiver also polls.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

from horae.domain.jobs import JobId, NodeId


class HintKind(StrEnum):
    """The subject of a hint."""

    WORK = "work"
    CANCEL = "cancel"
    ENDED = "ended"
    SCHEDULES = "schedules"
    NODES = "nodes"


@dataclass(frozen=True, slots=True)
class Hint:
    """A change of these jobs, of schedules or of a node.

    Without ids any job may be concerned: query the database.
    """

    kind: HintKind
    job_ids: tuple[JobId, ...] = ()
    count: int | None = field(default=None, compare=False)
    """Number of jobs added, for WORK; if it is None, every node has to query the database."""
    seed: int | None = field(default=None, compare=False)
    """A random number that decides which nodes respond to WORK; None if all of them do."""
    busy: tuple[NodeId, ...] = field(default=(), compare=False)
    """Nodes without a free slot, which leave the jobs of WORK to others."""


def work(count: int | None = 1) -> Hint:
    """Return the hint that this many jobs were added, due or not; None if the number is unknown."""
    return _ONE_JOB if count == 1 else Hint(HintKind.WORK, count=count)


_ONE_JOB: Final = Hint(HintKind.WORK, count=1)
ALL_KINDS: Final = tuple(Hint(kind) for kind in HintKind)
"""One hint of each kind, sent after a gap in which hints may have been lost."""
Listener = Callable[[Hint], None]


class WakeupChannel(Protocol):
    """Carries hints to every process on the same database, this one included."""

    @property
    def connected(self) -> bool:
        """Return whether hints of other processes arrive at present; otherwise poll more often."""
        ...

    @property
    def listens(self) -> bool:
        """Return whether hints of other processes can ever arrive; otherwise all is found by
        polling.
        """
        ...

    def send(self, hint: Hint, *, piggybacked: bool = False) -> None:
        """Send the hint soon, merged with others that wait. Never blocks and never raises.

        `piggybacked`: a statement has notified other processes with its commit; see `piggyback`.
        """
        ...

    def piggyback(self, hint: Hint) -> tuple[str, str] | None:
        """Return the channel and the payload of a notification that a statement sends with its
        commit; None if the hint does better alone.
        """
        ...

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` on a thread of the channel for each hint.

        Return a function that ends the subscription.
        """
        ...

    def close(self) -> None:
        """Send the waiting hints, then stop."""
        ...
