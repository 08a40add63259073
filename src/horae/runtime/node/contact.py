"""Passes on to the node's services what the heartbeat reports about this node and others."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial

from horae.domain.cluster import Isolation
from horae.domain.jobs import JobId
from horae.errors import LeaseLost
from horae.runtime.bodies import Executor, OutOfContact, stop_attempts
from horae.runtime.liveness import Watcher
from horae.runtime.signals import Signals
from horae.storage.engine import Database
from horae.types import Attempt


def watcher_for(
    loop: asyncio.AbstractEventLoop,
    signals: Signals,
    running: Mapping[JobId, Attempt],
    threads: Executor,
    database: Database,
) -> Watcher:
    """Return what the heartbeat calls, on its threads; it sends the signals on the node's loop.

    Bodies on threads are stopped by the calling thread already, because another body may hold up
    the loop. One that waits for a reply of the database would not notice the order, and perhaps no
    reply ever arrives; the same holds for later bodies, which would get the idle connections of the
    pool.
    """

    def stop_threads(order: Callable[[], BaseException], level: Isolation) -> None:
        on_threads = [attempt for attempt in list(running.values()) if attempt.executor is threads]
        stopped = {id(attempt) for attempt in stop_attempts(on_threads, order, level)}
        database.hang_up_bodies(
            [
                attempt.any_connection
                for attempt in list(running.values())
                if id(attempt) not in stopped
            ]
        )

    def report_death() -> None:
        stop_threads(LeaseLost, Isolation.ALL)
        post(loop, signals.declared_dead.send)

    def report_isolation(level: Isolation) -> None:
        stop_threads(OutOfContact, level)
        post(loop, signals.isolated.send, level)

    return Watcher(
        died=report_death,
        suspected=partial(post, loop, signals.node_suspected.send),
        isolated=report_isolation,
        regained=partial(post, loop, signals.contact_regained.send),
    )


def post(loop: asyncio.AbstractEventLoop, call: Callable[..., object], *args: object) -> None:
    """Call a function on the loop from another thread, unless the loop is closed."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(call, *args)
