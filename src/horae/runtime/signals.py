"""The named signals by which the services of a node notify each other.

They are made first and handed to each service, so no service has to know the one that receives its
news. Tests can wait for a signal by its name.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Generic, ParamSpec, TypeAlias

from horae.domain.cluster import Isolation
from horae.domain.jobs import Claim, Job, JobState, NodeId, Settlement
from horae.runtime.bodies import FinishedRun
from horae.storage.outcomes import Settled
from horae.storage.schedules import AppliedPlan

P = ParamSpec("P")


class Signal(Generic[P]):
    """Something that happens again and again.

    Sent, received and awaited on the node's event loop.
    """

    def __init__(self) -> None:
        self._receivers: list[Callable[P, object]] = []
        self._waiting: list[asyncio.Future[None]] = []

    def connect(self, receiver: Callable[P, object]) -> None:
        """Call `receiver` each time the signal is sent, after those connected before."""
        self._receivers.append(receiver)

    def disconnect(self, receiver: Callable[P, object]) -> None:
        """Call `receiver` no longer."""
        self._receivers.remove(receiver)

    def send(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Call all receivers now, then wake all tasks that wait.

        An error of a receiver is raised here.
        """
        for receiver in self._receivers:
            receiver(*args, **kwargs)
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def wait(self) -> asyncio.Future[None]:
        """Return a future that is done when the signal is sent the next time."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        return future


@dataclass(frozen=True, slots=True)
class Rescued:
    """A job of a dead node, and its new state."""

    claim: Claim
    node: NodeId
    settlement: Settlement | None
    state: JobState


Schedules: TypeAlias = Collection[int]
"""Ids of schedules; none at all stands for "any of them"."""


@dataclass(frozen=True, slots=True, eq=False)
class Signals:
    """The signals of one node. Events describe a state; signals announce a moment."""

    work: Signal[[]] = field(default_factory=Signal)
    """There may be a job to claim: one was started, retried or handed back, here or elsewhere."""

    settled: Signal[Sequence[FinishedRun], Settled] = field(default_factory=Signal)
    """The results of these runs are committed."""

    room: Signal[[]] = field(default_factory=Signal)
    """The number of results that wait to be written has fallen, so the worker may claim more."""

    freed: Signal[Collection[str], Collection[int]] = field(default_factory=Signal)
    """Jobs of these queues and lanes have ended, so limits there may let the next ones start."""

    ended_elsewhere: Signal[[]] = field(default_factory=Signal)
    """A hint says that jobs have ended on any node, and this node is among those that respond."""

    rescued: Signal[Sequence[Rescued]] = field(default_factory=Signal)
    """This node has dealt with these jobs of dead nodes."""

    expired: Signal[Job] = field(default_factory=Signal)
    """This job was failed because it passed a time limit."""

    decided: Signal[Sequence[AppliedPlan]] = field(default_factory=Signal)
    """The controller has fired these schedules, or found that their last runs have not ended."""

    runs_ended: Signal[Sequence[AppliedPlan]] = field(default_factory=Signal)
    """Runs of these schedules have ended, and their next starts are known."""

    schedules_changed: Signal[Schedules] = field(default_factory=Signal)
    """These schedules have changed, so their next starts must be read again."""

    node_suspected: Signal[[]] = field(default_factory=Signal)
    """Another node may be dead."""

    declared_dead: Signal[[]] = field(default_factory=Signal)
    """Others have declared this node dead: its jobs belong to them now."""

    isolated: Signal[Isolation] = field(default_factory=Signal)
    """The database has not been reached for so long that others may soon run jobs of this node."""

    contact_regained: Signal[[]] = field(default_factory=Signal)
    """The database is reached again. Others may have taken jobs of this node meanwhile."""

    emptied: asyncio.Event = field(default_factory=asyncio.Event)
    """The last running body has ended. A task clears the event before it waits."""

    burst_over: asyncio.Event = field(default_factory=asyncio.Event)
    """Set unless a burst is fired, in which more schedules are due than one transaction fires.

    The controller clears it. The settler then waits a moment, so that starts are written first, and
    sets it itself if too many results wait.
    """

    def __post_init__(self) -> None:
        """Begin without a burst."""
        self.burst_over.set()
