"""Runs the incarnations of a node one after another."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from horae.runtime.throttled_warning import ThrottledWarning
from horae.runtime.timing import Pauses
from horae.storage.engine.failures import is_transient


async def run_incarnations(
    run_one: Callable[[], Awaitable[None]], ready: asyncio.Event, stop: asyncio.Event, pauses: Pauses
) -> None:
    """Run one incarnation after another until `stop`.

    The first one raises every error to its caller, as the settings may be wrong. A later one begins because the node
    was declared dead, often during a failure of the database that is not over yet. So it is repeated, after growing
    pauses, while the database is unavailable.
    """
    warning, pause = ThrottledWarning(), pauses.shortest
    while not stop.is_set():
        try:
            await run_one()
        except ExceptionGroup as group:
            unavailable, others = group.split(is_transient)
            if unavailable is None or others is not None or not ready.is_set():
                raise
            warning.warn("the node cannot start again yet, because the database is unavailable: %s", first_of(group))
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await stop.wait()
            pause = pauses.after(pause)
        else:
            pause = pauses.shortest
            warning.settle()


def first_of(group: ExceptionGroup[Exception]) -> Exception:
    """Return the first error of a group that is not a group itself."""
    error = group.exceptions[0]
    return first_of(error) if isinstance(error, ExceptionGroup) else error
