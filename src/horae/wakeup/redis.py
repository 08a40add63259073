"""Hints through a channel of a Redis server.

Redis keeps no message for a subscriber that is away. So each time the subscription begins again,
every kind of hint is passed on once, because any change may have been missed.
"""

from collections.abc import Sequence
from secrets import token_hex
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from horae.redis_access.access import UNUSABLE, RedisAccess, reason
from horae.redis_access.subscription import Subscription
from horae.wakeup.channel import ALL_KINDS, Hint, WakeupChannel
from horae.wakeup.outbox import Merged
from horae.wakeup.payload import decode, encode_all
from horae.wakeup.process_channel import ProcessChannel

HINTS: Final = "hints"
"""The name of the channel, and how the log calls this use of Redis."""


class RedisChannel(ProcessChannel[Subscription]):
    """A `WakeupChannel` for all processes with the same prefix on one Redis server."""

    def __init__(self, access: RedisAccess) -> None:
        """Connect only when the connection is needed."""
        self._access = access
        # A forked child needs its own tag; otherwise the parent would take its hints for its own.
        self._token = token_hex(8)
        # The hints of a busy process are merged.
        super().__init__(interval=0.002, on_failure=self._log_failure)

    @property
    def connected(self) -> bool:
        """Return whether hints of other processes arrive, as the server has confirmed."""
        receiver = self._receiver
        return receiver is not None and receiver.connected

    @override
    def close(self) -> None:
        super().close()
        self._access.close()

    @override
    def _listen(self) -> Subscription:
        return Subscription(self._access, HINTS, HINTS, self._on_messages)

    def _on_messages(self, messages: Sequence[str] | None) -> None:
        if messages is None:
            self._pass_on(ALL_KINDS)
            return
        merged = Merged()
        for found in map(decode, messages):
            # The listeners here have received the hints of this process.
            if found is not None and found[0] != self._token:
                merged.add(found[1])
        self._pass_on(merged.take())

    @override
    def _transmit(self, hints: Sequence[Hint]) -> None:
        self._access.publish(HINTS, encode_all(self._token, hints))
        self._access.log.note_success("sending hints")

    def _log_failure(self, error: Exception) -> None:
        self._access.log.note_failure(
            "sending hints", reason(error) if isinstance(error, UNUSABLE) else repr(error)
        )


if TYPE_CHECKING:
    _conforms: type[WakeupChannel] = RedisChannel
