"""One client that listens, on its event loop."""

import asyncio
from collections.abc import Sequence
from typing import Final

from horae.api.security.actor import Actor
from horae.api.stream.event import Event

MOST_WAITING: Final = 1000
"""Messages that wait for one client; one that has fallen further behind is let go, and comes again."""
MOST_BYTES_WAITING: Final = 1024 * 1024


class Listener:
    """Takes what is for one actor, until it is closed or falls behind."""

    def __init__(self, actor: Actor) -> None:
        self.actor = actor
        self.loop = asyncio.get_running_loop()
        self.closed = False
        self._waiting: list[bytes] = []
        self._bytes = 0
        self._filled = asyncio.Event()

    def offer(self, events: Sequence[Event]) -> None:
        """Add what has happened; close if it is too much. Call it on the loop."""
        if self.closed:
            return
        self._bytes += sum(len(event.message) for event in events)
        if len(self._waiting) + len(events) > MOST_WAITING or self._bytes > MOST_BYTES_WAITING:
            self.close()
            return
        self._waiting.extend(event.message for event in events)
        self._filled.set()

    def close(self) -> None:
        """Send nothing more. Call it on the loop."""
        self.closed = True
        self._waiting.clear()
        self._filled.set()

    async def take(self, patience: float) -> bytes:
        """What waits, as soon as something does; nothing when `patience` (seconds) is over, or once closed."""
        try:
            async with asyncio.timeout(patience):
                await self._filled.wait()
        except TimeoutError:
            return b""
        taken = b"".join(self._waiting)
        self._waiting.clear()
        self._bytes = 0
        if not self.closed:
            self._filled.clear()
        return taken
