"""Dramatiq with its Redis broker: one process with eight threads, its default."""

import sys

import dramatiq
from dramatiq.brokers.redis import RedisBroker
from redis import Redis

from benchmarks.peers.protocol import Adapter, Place, ran, stamped

broker = RedisBroker(url=Place.from_environment().redis)
dramatiq.set_broker(broker)


@dramatiq.actor
def noop() -> None:
    ran()


@dramatiq.actor
def stamp(asked_at: int) -> None:
    stamped(asked_at)


class DramatiqAdapter(Adapter):
    def prepare(self) -> None:
        self._redis = Redis.from_url(self.place.redis)

    def clear(self) -> None:
        self._redis.flushdb()

    def enqueue(self, count: int) -> None:
        for _ in range(count):
            noop.send()

    def stamp(self, asked_at: int) -> None:
        stamp.send(asked_at)

    def unfinished(self) -> int:
        return self._redis.hlen("dramatiq:default.msgs")  # a message stays there until it is done

    def worker(self) -> list[str]:
        module = "benchmarks.peers.adapters.dramatiq"
        return [sys.executable, "-m", "dramatiq", module, "--processes", "1", "--threads", "8"]

    def close(self) -> None:
        self._redis.close()


ADAPTER = DramatiqAdapter
