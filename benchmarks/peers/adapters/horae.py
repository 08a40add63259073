"""Horae, in its own environment: on PostgreSQL, or on SQLite."""

import contextlib
import sqlite3
import sys

import psycopg

from benchmarks.peers.protocol import Adapter, Place, Schedules, ran, stamped
from horae import Horae
from horae.storage.engine import Database
from horae.storage.migrations.runner import upgrade

PLACE = Place.from_environment()
FILE = PLACE.folder / "horae.sqlite"
# Asked when all bodies have begun: then nodes hold the jobs that have not ended.
UNFINISHED = "SELECT count(*) FROM horae_jobs WHERE node_id IS NOT NULL"

ADDRESS = (
    f"sqlite:///{FILE}"
    if PLACE.variant == "sqlite"
    else PLACE.database.replace("postgresql:", "postgresql+psycopg:")
)

app = Horae(ADDRESS)


@app.job
async def noop() -> None:
    ran()


@app.job
async def stamp(asked_at: int) -> None:
    stamped(asked_at)


class HoraeAdapter(Adapter):
    def prepare(self) -> None:
        with contextlib.closing(Database(ADDRESS)) as database:
            upgrade(database)
        if self.place.variant == "sqlite":
            self._connection = sqlite3.connect(FILE, isolation_level=None)
        else:
            self._connection = psycopg.connect(self.place.database, autocommit=True)

    def clear(self) -> None:
        self._roles = "worker"
        if self.place.variant == "sqlite":
            self._connection.execute("DELETE FROM horae_job_attempts")
            self._connection.execute("DELETE FROM horae_jobs")
            self._connection.execute("DELETE FROM horae_schedules")
        else:
            self._connection.execute(
                "TRUNCATE horae_jobs, horae_job_attempts, horae_schedules CASCADE"
            )

    def enqueue(self, count: int) -> None:
        for _ in range(count):
            app.jobs.start(noop)

    def bulk(self, count: int) -> None:
        app.jobs.start_many(noop, [{}] * count)

    def stamp(self, asked_at: int) -> None:
        app.jobs.start(stamp, asked_at=asked_at)

    def schedule(self, schedules: Schedules) -> None:
        self._roles = "worker,scheduler"
        for number in range(schedules.count):
            app.schedules.add(noop, name=f"fire {number}", cron=schedules.cron, timezone="UTC")

    def unfinished(self) -> int:
        (count,) = self._connection.execute(UNFINISHED).fetchone()
        return count

    def worker(self) -> list[str]:
        application = "benchmarks.peers.adapters.horae:app"
        return [sys.executable, "-m", "horae", "run", application, "--roles", self._roles]

    def close(self) -> None:
        with contextlib.closing(self._connection):
            app.close()


ADAPTER = HoraeAdapter
