"""Shares work among many nodes that each would otherwise do alone: hints and searches.

A hint reaches every node. If all of them queried the database for a single job, most would find
nothing, and the load of the server would grow with the number of nodes. So a hint says how many
jobs there are, and only that many nodes respond, and two more. A chosen node that has no free slot
sends the hint again and names itself as busy, so that other nodes are chosen. Nothing depends on
this: a job that no chosen node takes is found by polling.
"""

import asyncio
import math
import time
from contextlib import suppress
from logging import DEBUG
from random import Random
from typing import Final

from horae.domain.cluster import responds
from horae.domain.jobs import NodeId
from horae.guarded_log import guarded_log
from horae.runtime.signals import Signals
from horae.runtime.timing import PeersTiming
from horae.storage.engine import Database
from horae.storage.nodes import peers
from horae.wakeup import Hint, HintKind, WakeupChannel

ENOUGH: Final = 2
"""Number of nodes that search the tables at their full pace; more nodes search less often each."""
log = guarded_log("horae.runtime")


class Peers:
    """What one node knows of the other nodes that claim the same jobs."""

    def __init__(
        self,
        database: Database,
        node: NodeId,
        wakeup: WakeupChannel,
        signals: Signals,
        timing: PeersTiming,
        rng: Random,
    ) -> None:
        self._database, self._node, self._wakeup, self._signals = database, node, wakeup, signals
        self._timing, self._rng = timing, rng
        self._known = peers.LivePeers()
        self._changed = asyncio.Event()
        self._busy: dict[NodeId, float] = {}
        self._announced_at = self._responded_at = -timing.busy_for
        self._expected = 0
        self._gives_way_until = -math.inf
        self._next_hint: asyncio.TimerHandle | None = None
        signals.node_suspected.connect(self._changed.set)

    async def run(self) -> None:
        """Read from time to time which other nodes there are.

        On SQLite, all nodes respond to all hints.
        """
        while not self._database.is_file:
            self._changed.clear()
            known = peers.LivePeers()
            with log.guard("cannot read which other nodes there are: %s", level=DEBUG):
                known = await self._database.autocommit_async(peers.peers_of, self._node)
            self._known = known
            with suppress(TimeoutError):
                async with asyncio.timeout(self._timing.read_every * self._rng.uniform(0.9, 1.1)):
                    await self._changed.wait()

    def pace(self) -> float:
        """Return the factor by which this node stretches pauses between searches that others also
        make.
        """
        return min(max(1.0, self._known.informed / ENOUGH), self._timing.slowest)

    @property
    def poll_pace(self) -> float:
        """Return the factor by which this node stretches pauses between claims while it is idle."""
        return min(max(1.0, len(self._known.alike) / ENOUGH), self._timing.slowest_poll)

    def receive(self, hint: Hint, *, has_room: bool) -> None:
        """Let the worker claim if this node responds to the hint. Called on the node's loop.

        `has_room`: whether the worker would claim jobs now.
        """
        if self._node in hint.busy:
            return  # this node has sent it
        now = time.monotonic()
        self._busy.update(dict.fromkeys(hint.busy, now))
        if hint.seed is None or hint.count is None:
            self._signals.work.send()
            return
        chosen = self._is_chosen(hint.seed, hint.count, now)
        if not has_room:
            # This costs nothing now: the worker claims when a slot becomes free.
            self._signals.work.send()
            if chosen:
                self._announce_busy(hint.count, now)
        elif chosen:
            self._responded_at, self._expected = now, hint.count
            self._signals.work.send()

    def receive_ended(self, hint: Hint) -> None:
        """Notify the dispatcher if this node responds to the hint that jobs have ended.

        Called on the node's loop.
        """
        if not hint.job_ids or self._is_chosen(
            hint.job_ids[0], len(hint.job_ids), time.monotonic()
        ):
            self._signals.ended_elsewhere.send()

    def delay(self, key: int | None) -> float:
        """Return how much later than the due time of the next job this node wakes; zero for few
        nodes.

        `key`: identifies the due time. A node that has responded to a hint lately may be one of few
        that know of the job, because the others learn of it when they poll the next time.
        """
        now = time.monotonic()
        if now < self._gives_way_until:
            return self._timing.gives_way_for
        if (
            key is None
            or now - self._responded_at < self._timing.known_after
            or self._is_chosen(key, 1, now)
        ):
            return 0.0
        each = self._timing.spare_delay
        return self._rng.uniform(each, each * len(self._known.alike))

    def give_way(self, seconds: float) -> None:
        """Let other nodes claim a job first that this one has put off for so many seconds.

        Called on the node's loop. However many jobs are put off, one hint waits to be sent, the
        soonest: who responds to it reads when the next job is due.
        """
        self._gives_way_until = time.monotonic() + seconds + self._timing.known_after
        loop = asyncio.get_running_loop()
        at = loop.time() + seconds
        if self._next_hint is not None:
            if self._next_hint.when() <= at:
                return
            self._next_hint.cancel()
        self._next_hint = loop.call_at(at, self._hint_others)

    def _hint_others(self) -> None:
        self._next_hint = None
        self._wakeup.send(Hint(HintKind.WORK, count=1, busy=(self._node,)))

    def _is_chosen(self, seed: int, count: int, now: float) -> bool:
        if self._node not in self._known.alike:
            return True  # nothing is known of the others yet
        self._busy = {
            node: at for node, at in self._busy.items() if now - at < self._timing.busy_for
        }
        others = [
            node for node in self._known.alike if node != self._node and node not in self._busy
        ]
        return responds(self._node, others, seed, count)

    def pass_on(self, taken: int) -> None:
        """Ask other nodes to claim what may be left: a claim of this many jobs filled all slots."""
        now = time.monotonic()
        hinted = now - self._responded_at < self._timing.answered_within
        if not hinted or self._expected > taken:  # only a hint tells how many jobs there are
            self._announce_busy(max(self._expected - taken, 1) if hinted else 1, now)

    def _announce_busy(self, count: int, now: float) -> None:
        if now - self._announced_at < self._timing.busy_for:
            return  # the other nodes still know that this one is busy
        self._announced_at = now
        self._wakeup.send(Hint(HintKind.WORK, count=count, busy=(self._node,)))
