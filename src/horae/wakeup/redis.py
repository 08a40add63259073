"""Hints through a channel of a Redis server.

Redis keeps no message for a subscriber that is away. So each time the subscription begins again,
every kind of hint is passed on once, because any change may have been missed.
"""

import threading
from collections.abc import Callable, Sequence
from secrets import token_hex
from typing import TYPE_CHECKING, Final

from horae.forking import BuiltAnewInChild
from horae.redis_access.access import UNUSABLE, RedisAccess, reason
from horae.redis_access.subscription import Subscription
from horae.wakeup.channel import ALL_KINDS, Hint, Listener, WakeupChannel
from horae.wakeup.listeners import HintListeners
from horae.wakeup.outbox import Merged, Outbox
from horae.wakeup.payload import decode, encode_all

HINTS: Final = "hints"
"""The name of the channel, and how the log calls this use of Redis."""
SEND_INTERVAL: Final = 0.002
"""Shortest time in seconds between two deliveries, so that hints of a busy process are merged."""


class RedisChannel(BuiltAnewInChild):
    """A `WakeupChannel` for all processes with the same prefix on one Redis server."""

    listens = True

    def __init__(self, access: RedisAccess) -> None:
        """Connect only when the connection is needed."""
        self._access = access
        # A forked child needs its own tag; otherwise the parent would take its hints for its own.
        self._token = token_hex(8)
        self._lock = threading.Lock()
        self._closed = False
        self._listeners = HintListeners()
        self._subscription: Subscription | None = None
        self._here = Outbox("horae-hints-here", self._listeners.call)
        self._outbox = Outbox(
            "horae-hints-sender",
            self._transmit,
            interval=SEND_INTERVAL,
            on_failure=self._log_failure,
        )

    @property
    def connected(self) -> bool:
        """Return whether hints of other processes arrive, as the server has confirmed."""
        subscription = self._subscription
        return subscription is not None and subscription.connected

    def send(self, hint: Hint) -> None:
        """Send the hint to every process soon; this one gets it at once, and only once."""
        if self._listeners:
            self._here.put(hint)
        self._outbox.put(hint)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` for each hint, perhaps on two threads at once.

        Return a function that ends this.

        Each time the subscription begins again, the listener is called once for every kind, without
        ids.
        """
        remove = self._listeners.add(listener)
        with self._lock:
            if self._subscription is None and not self._closed:
                self._subscription = Subscription(self._access, HINTS, HINTS, self._on_messages)
        return remove

    def close(self) -> None:
        """Send the waiting hints, then stop; the listeners are not called any more."""
        with self._lock:
            self._closed = True
            subscription, self._subscription = self._subscription, None
        if subscription is not None:
            subscription.close()
        self._here.close()
        self._outbox.close()
        self._access.close()

    def _on_messages(self, messages: Sequence[str] | None) -> None:
        if messages is None:
            self._listeners.call(ALL_KINDS)
            return
        merged = Merged()
        for found in map(decode, messages):
            if (
                found is not None and found[0] != self._token
            ):  # the listeners here have received the hints of this process
                merged.add(found[1])
        self._listeners.call(merged.take())

    def _transmit(self, hints: Sequence[Hint]) -> None:
        self._access.publish(HINTS, encode_all(self._token, hints))
        self._access.log.note_success("sending hints")

    def _log_failure(self, error: Exception) -> None:
        self._access.log.note_failure(
            "sending hints", reason(error) if isinstance(error, UNUSABLE) else repr(error)
        )


if TYPE_CHECKING:
    _conforms: type[WakeupChannel] = RedisChannel
