"""APScheduler 3 in its closest use: a job that is due at once, in its store on PostgreSQL."""

import signal
import threading

import psycopg
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.cron import CronTrigger

from benchmarks.peers.protocol import Adapter, Place, Schedules, ran, stamped

POLL = 0.005
"""Seconds after which the worker looks again: a scheduler does not see what another process adds."""
OPTIONS = {"misfire_grace_time": None, "coalesce": False}


def _scheduler() -> BackgroundScheduler:
    address = Place.from_environment().database.replace("postgresql:", "postgresql+psycopg:")
    return BackgroundScheduler(
        jobstores={"default": SQLAlchemyJobStore(url=address)},
        executors={"default": ThreadPoolExecutor(8)},
        timezone="UTC",
    )


class ApSchedulerAdapter(Adapter):
    def prepare(self) -> None:
        self._scheduler = _scheduler()
        self._scheduler.start(paused=True)  # it only adds jobs
        self._connection = psycopg.connect(self.place.database, autocommit=True)

    def clear(self) -> None:
        self._scheduler.remove_all_jobs()

    def enqueue(self, count: int) -> None:
        for _ in range(count):
            self._scheduler.add_job(ran, **OPTIONS)

    def stamp(self, asked_at: int) -> None:
        self._scheduler.add_job(stamped, args=[asked_at], **OPTIONS)

    def schedule(self, schedules: Schedules) -> None:
        for _ in range(schedules.count):
            trigger = CronTrigger.from_crontab(schedules.cron, timezone="UTC")
            self._scheduler.add_job(ran, trigger, **OPTIONS)

    def unfinished(self) -> int:
        (count,) = self._connection.execute("SELECT count(*) FROM apscheduler_jobs").fetchone()
        return count  # a job leaves the store before it runs

    def close(self) -> None:
        self._scheduler.shutdown()
        self._connection.close()


def work() -> None:
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    scheduler = _scheduler()
    scheduler.start()
    while not ended.wait(POLL):
        scheduler.wakeup()
    scheduler.shutdown()


ADAPTER = ApSchedulerAdapter
