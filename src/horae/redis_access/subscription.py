"""A thread that is subscribed to a channel of a Redis server, and reconnects when needed."""

from collections.abc import Callable, Sequence
from typing import Final

from typing_extensions import override

from horae.receiving_thread import ReceivingThread
from horae.redis_access.access import RedisAccess, reason

MOST_AT_ONCE: Final = 1000
"""Number of messages read before the listeners are called, so that a flood cannot delay them."""

OnMessages = Callable[[Sequence[str] | None], None]
"""A callback for messages that have arrived, or for None if earlier ones may have been missed."""


class Subscription(ReceivingThread):
    """Receives the messages of one channel."""

    def __init__(
        self, access: RedisAccess, channel: str, part: str, on_messages: OnMessages
    ) -> None:
        """`part`: how the log calls what fails if the server cannot be used."""
        super().__init__(close_within=access.timing.close_within)
        self.connected = False
        self._access, self._timing = access, access.timing
        self._channel, self._part = channel, part
        self._on_messages = on_messages
        self.start(f"horae-redis-{channel}")

    @override
    def _receive(self) -> None:
        connection = self._access.subscription(self._channel)
        try:
            asked = True  # the first message confirms the subscription
            while not self._closing:
                within = self._timing.answer_within if asked else self._timing.silence
                if self._wait(connection.fileno(), within):
                    asked = False
                    messages = connection.messages(MOST_AT_ONCE, self._timing.answer_within)
                    if self._closing:
                        return
                    if any(kind == "subscribe" for kind, _ in messages):
                        self.connected, self._failures = True, 0
                        self._access.log.note_success(self._part)
                        self._on_messages(None)
                    if texts := [data for kind, data in messages if kind == "message"]:
                        self._on_messages(texts)
                elif asked:
                    raise TimeoutError(f"no answer within {self._timing.answer_within:g} s")
                else:
                    connection.ask()
                    asked = True
        finally:
            self.connected = False
            connection.close()

    @override
    def _report(self, error: Exception) -> None:
        self._access.log.note_failure(self._part, reason(error))
