"""RQ with its SimpleWorker, which forks no process for each job."""

import logging

from redis import Redis
from rq import Queue, SimpleWorker

from benchmarks.peers.protocol import Adapter, Place, ran, stamped

KEEP = {"result_ttl": 0}  # the jobs return nothing that somebody would read


class RqAdapter(Adapter):
    def prepare(self) -> None:
        self._redis = Redis.from_url(self.place.redis)
        self._queue = Queue("peers", connection=self._redis)

    def clear(self) -> None:
        self._redis.flushdb()

    def enqueue(self, count: int) -> None:
        for _ in range(count):
            self._queue.enqueue(ran, **KEEP)

    def bulk(self, count: int) -> None:
        self._queue.enqueue_many([Queue.prepare_data(ran, **KEEP) for _ in range(count)])

    def stamp(self, asked_at: int) -> None:
        self._queue.enqueue(stamped, asked_at, **KEEP)

    def unfinished(self) -> int:
        return len(self._queue) + self._queue.started_job_registry.count

    def close(self) -> None:
        self._redis.close()


def work() -> None:
    connection = Redis.from_url(Place.from_environment().redis)
    queue = Queue("peers", connection=connection)
    SimpleWorker([queue], connection=connection).work(
        logging_level=logging.getLevelName(logging.WARNING)
    )


ADAPTER = RqAdapter
