"""Restarts a service of a node that fails because the machine lacks descriptors, memory or threads for a while."""

import asyncio
import errno
from collections.abc import Awaitable, Callable
from typing import Final

from horae.runtime.throttled_warning import ThrottledWarning
from horae.runtime.timing import Pauses

LACKING: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EAGAIN})


async def sustained(name: str, service: Callable[[], Awaitable[None]], pauses: Pauses) -> None:
    """Run a service until it ends; if it fails for lack of a resource, restart it after a pause."""
    warning, pause = ThrottledWarning(), pauses.shortest
    while True:
        try:
            return await service()
        except (OSError, MemoryError, RuntimeError) as error:
            if not lacks_resource(error):
                raise
            warning.warn("%s failed for lack of a resource and is restarted: %s", name, error)
        await asyncio.sleep(pause)
        pause = pauses.after(pause)


def lacks_resource(error: BaseException) -> bool:
    """Return whether a resource of the machine or the process is exhausted, so that the same call may work later."""
    if isinstance(error, OSError):
        return error.errno in LACKING
    return isinstance(error, MemoryError) or "can't start new thread" in str(error)
