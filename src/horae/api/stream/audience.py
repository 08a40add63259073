"""The listeners of this process, and those that left recently, whose events are kept for their return."""

from collections import Counter
from typing import Final

from horae.api.security.actor import Actor
from horae.api.stream.listener import Listener
from horae.domain.jobs.owner import EVERYBODY, Whose

LINGER: Final = 60.0
"""Seconds for which events are kept for a client that left, so that reloading a page misses nothing."""


class Audience:
    """The listeners, by what they may see. Not thread-safe."""

    def __init__(self) -> None:
        self.listeners: set[Listener] = set()
        self._here: Counter[Whose] = Counter()
        self._until: dict[Whose, float] = {}

    def add(self, listener: Listener) -> None:
        """Add a listener."""
        self.listeners.add(listener)
        self._here[listener.actor.reading_as] += 1

    def remove(self, listener: Listener, now: float) -> None:
        """Remove a listener. Idempotent."""
        if listener not in self.listeners:
            return
        self.listeners.discard(listener)
        key = listener.actor.reading_as
        self._here[key] -= 1
        if not self._here[key]:
            del self._here[key]
            self._until[key] = now + LINGER

    def forget(self, now: float) -> bool:
        """Drop the clients that did not return in time; return whether any are left."""
        self._until = {key: until for key, until in self._until.items() if until > now}
        return bool(self._here or self._until)

    def wants(self, owner: str | None) -> bool:
        """Return whether a listener may see jobs of this owner; None for jobs without an owner."""
        keys: tuple[Whose, ...] = (EVERYBODY,) if owner is None else (EVERYBODY, owner)
        return any(key in self._here or key in self._until for key in keys)

    def was_served(self, actor: Actor) -> bool:
        """Return whether events for this actor were kept without a gap."""
        key = actor.reading_as
        return key in self._here or key in self._until
