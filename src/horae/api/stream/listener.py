"""The clients of event streams: each with its queue of messages, grouped by what they may see."""

import asyncio
from collections import Counter
from collections.abc import Sequence

from horae.api.security.actor import Actor
from horae.api.stream.event import Event
from horae.api.stream.timing import ListenerLimits
from horae.domain.jobs import EVERYBODY, Whose


class StreamListener:
    """Queues the messages for one client on its event loop, until it is closed or falls behind."""

    # The default is immutable
    def __init__(self, actor: Actor, limits: ListenerLimits = ListenerLimits()) -> None:
        self.actor = actor
        self.loop = asyncio.get_running_loop()
        self.closed = False
        self._limits = limits
        self._messages: list[bytes] = []
        self._size = 0
        self._ready = asyncio.Event()

    def offer(self, events: Sequence[Event]) -> None:
        """Queue events; close the listener if that exceeds a limit. Call it on the loop."""
        if self.closed:
            return
        messages = [event.message_for(self.actor) for event in events]
        self._size += sum(map(len, messages))
        if (
            len(self._messages) + len(events) > self._limits.messages
            or self._size > self._limits.size
        ):
            self.close()
            return
        self._messages.extend(messages)
        self._ready.set()

    def close(self) -> None:
        """Drop all messages and accept no more. Call it on the loop."""
        self.closed = True
        self._messages.clear()
        self._ready.set()

    async def take(self, timeout: float) -> bytes:
        """Return all queued messages once there are any; nothing after `timeout` seconds or a
        close.
        """
        try:
            async with asyncio.timeout(timeout):
                await self._ready.wait()
        except TimeoutError:
            return b""
        taken = b"".join(self._messages)
        self._messages.clear()
        self._size = 0
        if not self.closed:
            self._ready.clear()
        return taken


class StreamListeners:
    """The listeners of this process, and those that left recently, for whom events are kept.

    Not thread-safe.
    """

    def __init__(self, linger: float) -> None:
        """`linger`: seconds for which events are kept for a client that left."""
        self.connected: set[StreamListener] = set()
        self._linger = linger
        self._count: Counter[Whose] = Counter()
        self._kept_until: dict[Whose, float] = {}

    def add(self, listener: StreamListener) -> None:
        """Add a listener."""
        self.connected.add(listener)
        self._count[listener.actor.reading_as] += 1

    def remove(self, listener: StreamListener, now: float) -> None:
        """Remove a listener. Idempotent."""
        if listener not in self.connected:
            return
        self.connected.discard(listener)
        key = listener.actor.reading_as
        self._count[key] -= 1
        if not self._count[key]:
            del self._count[key]
            self._kept_until[key] = now + self._linger

    def forget(self, now: float) -> bool:
        """Drop the clients that did not return in time; return whether any are left."""
        self._kept_until = {key: until for key, until in self._kept_until.items() if until > now}
        return bool(self._count or self._kept_until)

    def may_see(self, owner: str | None) -> bool:
        """Return whether a listener may see jobs of this owner; None for jobs without an owner."""
        keys: tuple[Whose, ...] = (EVERYBODY,) if owner is None else (EVERYBODY, owner)
        return any(key in self._count or key in self._kept_until for key in keys)

    def was_served(self, actor: Actor) -> bool:
        """Return whether events for this actor were kept without a gap."""
        key = actor.reading_as
        return key in self._count or key in self._kept_until
