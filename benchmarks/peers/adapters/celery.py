"""Celery with a Redis broker; results in PostgreSQL, or none."""

import sys

import celery
import psycopg
from celery.schedules import crontab
from redis import Redis

from benchmarks.peers.protocol import Adapter, Place, Schedules, declare_in_worker, ran, stamped

PLACE = Place.from_environment()
RESULTS = PLACE.variant == "results"

app = celery.Celery("peers", broker=PLACE.redis)
app.conf.update(
    broker_connection_retry_on_startup=True,
    task_ignore_result=not RESULTS,
    worker_prefetch_multiplier=64,
    worker_hijack_root_logger=False,
)
if RESULTS:
    address = PLACE.database.replace("postgresql:", "postgresql+psycopg:")
    app.conf.update(result_backend=f"db+{address}", database_short_lived_sessions=False)


if PLACE.schedules.count:
    times = crontab(minute=PLACE.schedules.cron.partition(" ")[0])
    app.conf.beat_schedule = {
        str(number): {"task": "noop", "schedule": times} for number in range(PLACE.schedules.count)
    }


@app.task(name="noop")
def noop() -> None:
    ran()


@app.task(name="stamp")
def stamp(asked_at: int) -> None:
    stamped(asked_at)


class CeleryAdapter(Adapter):
    def prepare(self) -> None:
        self._redis = Redis.from_url(self.place.redis)
        self._connection = psycopg.connect(self.place.database, autocommit=True)
        self._sent = 0

    def clear(self) -> None:
        self._redis.flushdb()
        self._sent = 0
        if RESULTS and self._table_exists():
            self._connection.execute("TRUNCATE celery_taskmeta")

    def enqueue(self, count: int) -> None:
        for _ in range(count):
            noop.delay()
        self._sent += count

    def stamp(self, asked_at: int) -> None:
        stamp.delay(asked_at)

    def schedule(self, schedules: Schedules) -> None:
        declare_in_worker(schedules)

    def unfinished(self) -> int:
        if not RESULTS:
            return self._redis.llen("celery")
        query = "SELECT count(*) FROM celery_taskmeta WHERE status = 'SUCCESS'"
        (stored,) = self._connection.execute(query).fetchone()
        return self._sent - stored

    def worker(self) -> list[str]:
        application = ["-m", "celery", "--app", "benchmarks.peers.adapters.celery:app"]
        # A task takes a new connection to the result database in each thread of the solo pool.
        pool = ["--pool", "prefork", "--concurrency", "1"]
        quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
        command = [sys.executable, *application, "worker", "--loglevel", "WARNING"]
        beat = ["--beat", "--schedule", str(self.place.folder / "beat")]
        return [*command, *pool, *quiet, *(beat if PLACE.schedules.count else [])]

    def close(self) -> None:
        self._redis.close()
        self._connection.close()

    def _table_exists(self) -> bool:
        query = "SELECT to_regclass('celery_taskmeta') IS NOT NULL"
        (exists,) = self._connection.execute(query).fetchone()
        return exists


ADAPTER = CeleryAdapter
