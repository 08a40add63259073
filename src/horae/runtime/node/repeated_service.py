"""Restarts a service that fails because the machine lacks descriptors, memory or threads."""

import asyncio
from collections.abc import Awaitable, Callable

from horae.resource_shortage import lacks_resource
from horae.runtime.throttled_warning import ThrottledWarning
from horae.runtime.timing import Pauses
from horae.storage.engine import first_of


async def sustain(name: str, service: Callable[[], Awaitable[None]], pauses: Pauses) -> None:
    """Run a service until it ends; if it fails for lack of a resource, restart it after a pause."""
    warning, pause = ThrottledWarning(), pauses.shortest
    while True:
        try:
            return await service()
        except (OSError, MemoryError, RuntimeError, ExceptionGroup) as error:
            if not lacks_resource(error):
                raise
            warning.warn(
                "%s failed for lack of a resource and is restarted: %s", name, first_of(error)
            )
        await asyncio.sleep(pause)
        pause = pauses.after(pause)
