"""Connections to one Redis server, with bounds for every wait.

Redis is never needed: whatever it does, the database decides. So each wait for it is short, nothing
is repeated here, and a caller that gets an error goes on without Redis.
"""

import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from redis import ConnectionPool, Redis, RedisError
from redis.backoff import NoBackoff
from redis.client import Pipeline, PubSub
from redis.exceptions import AuthenticationError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry

from horae.errors import ConfigurationError
from horae.forking import BuiltAnewInChild
from horae.redaction import shown_url
from horae.redis_access.failure_log import FailureLog
from horae.redis_access.url import checked_redis_url

CHECK_WRITES: Final = "redis.call('GET', KEYS[1]) redis.call('SET', KEYS[1], 1, 'EX', 60)"
UNUSABLE: Final = (RedisError, OSError)
"""What a command raises if the server does not answer, or answers with an error."""
LOST: Final = (RedisConnectionError, RedisTimeoutError, OSError)
"""What a command raises if its connection was lost, or could not be made."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RedisTiming:
    """How long to wait for the server, in seconds."""

    connect_within: float = 1.0
    """How long a connection may take to open: a slower server is slower than the database."""
    answer_within: float = 1.0
    """How long an answer may take before the connection counts as lost."""
    silence: float = 5.0
    """How long a subscription may be silent before the server is asked whether it is there."""
    close_within: float = 5.0
    """How long closing a subscription waits for its thread, which may be connecting or in a
    listener.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class RedisState:
    """What a server answers, for `horae doctor`: reasons if it does not work, and its latency."""

    failure: str | None = None
    refuses_writes: str | None = None
    seconds: float = 0.0


class RedisAccess(BuiltAnewInChild):
    """One server, as named by a URL, for the keys and channels of one application."""

    def __init__(self, url: str, prefix: str, timing: RedisTiming = RedisTiming()) -> None:
        """`prefix`: the beginning of the name of each key and channel.

        Connects at first use; raises `ConfigurationError`.
        """
        self.prefix = prefix
        self.timing = timing
        self.shown = shown_url(url)
        self.log = FailureLog(self.shown)
        keepalive = {} if url.startswith("unix:") else {"socket_keepalive": True}
        try:
            pool = ConnectionPool.from_url(
                checked_redis_url(url),
                protocol=2,
                socket_connect_timeout=timing.connect_within,
                socket_timeout=timing.answer_within,
                retry=Retry(NoBackoff(), 0),
                client_name="horae",
                decode_responses=True,
                encoding_errors="replace",
                **keepalive,
            )
            # This connects to nothing, but refuses unknown options.
            pool.connection_class(**pool.connection_kwargs)
        except (TypeError, ValueError, RedisError) as error:
            why = str(error).replace(
                "AbstractConnection.__init__() got an unexpected keyword argument", "unknown option"
            )
            raise ConfigurationError(f"redis: {self.shown} is not allowed: {why}") from None
        self._client = Redis(connection_pool=pool)

    def run_pipeline(self, fill: Callable[[Pipeline], object]) -> list[Any]:
        """Send the commands that `fill` puts into a pipeline in one round trip; return their
        results.

        Raises one of `UNUSABLE`, also if only one of the commands fails.
        """
        try:
            with self._client.pipeline(transaction=False) as pipeline:
                fill(pipeline)
                return pipeline.execute()
        except LOST:
            # What broke one connection may have broken all, and each of them would fail one more
            # call.
            self.close()
            raise

    def subscription(self, channel: str) -> "ChannelConnection":
        """Connect, and subscribe to a channel; raises one of `UNUSABLE`."""
        return ChannelConnection(self._client, self.name(channel))

    def publish(self, channel: str, messages: Iterable[str]) -> None:
        """Send messages to the subscribers of a channel; raises one of `UNUSABLE`."""
        name = self.name(channel)

        def fill(pipeline: Pipeline) -> None:
            for message in messages:
                pipeline.publish(name, message)

        self.run_pipeline(fill)

    def examine(self) -> RedisState:
        """Check that the server answers and accepts writes, once its connection is open."""
        try:
            self.run_pipeline(Pipeline.ping)
            began = time.monotonic()
            self.run_pipeline(Pipeline.ping)
            answered = time.monotonic()
        except UNUSABLE as error:
            return RedisState(failure=reason(error))
        try:
            self.run_pipeline(self.check_writes)
        except UNUSABLE as error:
            return RedisState(refuses_writes=reason(error))
        return RedisState(seconds=answered - began)

    def check_writes(self, pipeline: Pipeline) -> None:
        """Add a write that fails if others would: a replica or a full server still answers reads.

        It uses each command that the others use, because a user may be allowed only some of them.
        """
        key = self.name("writable")
        pipeline.eval(CHECK_WRITES, 1, key)
        pipeline.mget([key])
        pipeline.exists(key)
        pipeline.delete(key)
        pipeline.publish(key, "")

    def name(self, *parts: object) -> str:
        """Return the name of a key or channel of this application."""
        return ":".join([self.prefix, *map(str, parts)])

    def close(self) -> None:
        """Close the connections that nothing uses at the moment; a later use opens new ones."""
        self._client.connection_pool.disconnect(inuse_connections=False)


class ChannelConnection:
    """A connection that is subscribed to one channel."""

    def __init__(self, client: Redis, channel: str) -> None:
        self._subscription = PubSub(client.connection_pool)
        try:
            self._subscription.subscribe(channel)
        except UNUSABLE:
            self.close()
            raise
        self._connection: Any = self._subscription.connection

    def fileno(self) -> int:
        """Return the descriptor of the socket, which becomes readable when something arrives."""
        # The library itself cannot wait for two things.
        found: socket.socket | None = self._connection._sock  # noqa: SLF001 - it has no other name
        if found is None:
            raise ConnectionError("the connection was lost")
        return found.fileno()

    def ask(self) -> None:
        """Ask the server whether it is there; it answers with a message of type `pong`."""
        self._subscription.ping()

    def messages(self, most: int, within: float) -> list[tuple[str, str]]:
        """Return a message as type and data; wait `within` seconds for the rest of it."""
        found: list[tuple[str, str]] = []
        while len(found) < most and self._connection.can_read(0):
            message = self._subscription.get_message(timeout=within)
            if message is not None:
                found.append((str(message["type"]), str(message["data"])))
        return found

    def close(self) -> None:
        """Close the connection."""
        self._subscription.close()


def reason(error: BaseException) -> str:
    """Return why a command failed, without the values that the library adds to its errors."""
    if isinstance(error, AuthenticationError):
        return "it refuses the user name or the password"
    text = str(error).partition(" caused error: ")
    return text[2] or text[0] or type(error).__name__
