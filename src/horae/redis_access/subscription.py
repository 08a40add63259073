"""A thread that is subscribed to a channel of a Redis server, and connects again for as long as it lives."""

import selectors
import socket
import threading
from collections.abc import Callable, Sequence
from datetime import timedelta
from random import Random
from typing import Final

from horae.domain.backoff import Backoff, retry_delay
from horae.redis_access.access import UNUSABLE, ChannelConnection, RedisAccess, reason

BACKOFF: Final = Backoff(base=timedelta(milliseconds=100), cap=timedelta(seconds=5), jitter=0.5)
"""Delays between attempts to connect, short at first because most failures are."""
MOST_AT_ONCE: Final = 1000
"""Messages that are read before the listeners are called, so that a flood cannot delay them for ever."""

OnMessages = Callable[[Sequence[str] | None], None]
"""Called with the messages that have arrived, and with None each time that earlier ones may have been missed."""


class Subscription:
    """Receives the messages of one channel."""

    def __init__(self, access: RedisAccess, channel: str, part: str, on_messages: OnMessages) -> None:
        """`part`: what the log calls that which fails if the server cannot be used."""
        self.connected = False
        self._access, self._timing = access, access.timing
        self._channel, self._part = channel, part
        self._on_messages = on_messages
        self._closing = False
        self._failures = 0
        self._random = Random()  # noqa: S311 - spreads the retries of many processes, protects nothing
        self._closer, self._closed = socket.socketpair()  # the end of the first makes the second readable
        self._thread = threading.Thread(target=self._run, name=f"horae-redis-{channel}", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop; no message is passed on afterwards, except one that is being handled."""
        self._closing = True
        self._closer.close()
        if self._thread is not threading.current_thread():
            self._thread.join(self._timing.close_within)

    def _run(self) -> None:
        with self._closed:
            while not self._closing:
                try:
                    self._listen()
                except UNUSABLE as error:
                    if not self._closing:
                        self._wait_after(reason(error))

    def _listen(self) -> None:
        connection = self._access.subscription(self._channel)
        try:
            asked = True  # the first message confirms the subscription
            while not self._closing:
                if self._wait(connection, self._timing.answer_within if asked else self._timing.silence):
                    asked = False
                    self._pass_on(connection.messages(MOST_AT_ONCE, self._timing.answer_within))
                elif asked:
                    raise TimeoutError(f"no answer within {self._timing.answer_within:g} s")
                else:
                    connection.ask()
                    asked = True
        finally:
            self.connected = False
            connection.close()

    def _pass_on(self, messages: Sequence[tuple[str, str]]) -> None:
        if self._closing:
            return
        if any(kind == "subscribe" for kind, _ in messages):
            self.connected, self._failures = True, 0
            self._access.log.works(self._part)
            self._on_messages(None)
        if texts := [data for kind, data in messages if kind == "message"]:
            self._on_messages(texts)

    def _wait(self, connection: ChannelConnection | None, seconds: float) -> bool:
        """Wait until something arrives or the subscription is closed; return False after so many seconds."""
        with selectors.PollSelector() as selector:  # needs no file descriptor: the process may have none left
            selector.register(self._closed, selectors.EVENT_READ)
            if connection is not None:
                selector.register(connection, selectors.EVENT_READ)
            return bool(selector.select(seconds))

    def _wait_after(self, why: str) -> None:
        self._access.log.failed(self._part, why)
        self._failures += 1
        self._wait(None, retry_delay(self._failures, BACKOFF, self._random).total_seconds())
