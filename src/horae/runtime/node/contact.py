"""Passes on to the node's services what the heartbeat reports about this node and others."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from horae.domain.cluster import Isolation
from horae.domain.jobs import JobId
from horae.errors import LeaseLost
from horae.runtime.bodies import Executor, OutOfContact, stop_attempts
from horae.runtime.liveness import Watcher
from horae.runtime.signals import Signals
from horae.storage.engine import Database
from horae.types import Attempt


@dataclass(frozen=True, slots=True)
class ContactReports:
    """Sends the signals about contact on the node's loop; called on threads of the heartbeat.

    Bodies on threads are stopped by the calling thread already, because another body may hold up
    the loop. One that waits for a reply of the database would not notice the order, and perhaps no
    reply ever arrives; the same holds for later bodies, which would get the idle connections of the
    pool.
    """

    loop: asyncio.AbstractEventLoop
    signals: Signals
    running: Mapping[JobId, Attempt]
    threads: Executor
    database: Database

    def watcher(self) -> Watcher:
        """Return what the heartbeat calls."""
        return Watcher(
            died=self._report_death,
            suspected=partial(post, self.loop, self.signals.node_suspected.send),
            isolated=self._report_isolation,
            regained=partial(post, self.loop, self.signals.contact_regained.send),
        )

    def _report_death(self) -> None:
        self._stop_threads(LeaseLost, Isolation.ALL)
        post(self.loop, self.signals.declared_dead.send)

    def _report_isolation(self, level: Isolation) -> None:
        self._stop_threads(OutOfContact, level)
        post(self.loop, self.signals.isolated.send, level)

    def _stop_threads(self, order: Callable[[], BaseException], level: Isolation) -> None:
        on_threads = [
            attempt for attempt in list(self.running.values()) if attempt.executor is self.threads
        ]
        stopped = {id(attempt) for attempt in stop_attempts(on_threads, order, level)}
        self.database.hang_up_bodies(
            [
                attempt.any_connection
                for attempt in list(self.running.values())
                if id(attempt) not in stopped
            ]
        )


def post(loop: asyncio.AbstractEventLoop, call: Callable[..., object], *args: object) -> None:
    """Call a function on the loop from another thread, unless the loop is closed."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(call, *args)
