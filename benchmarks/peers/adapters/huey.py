"""Huey on PostgreSQL, or on SQLite; its consumer has threads."""

import sys
from pathlib import Path

from huey import PostgresHuey, SqliteHuey

from benchmarks.peers.protocol import Adapter, Place, ran, stamped

PLACE = Place.from_environment()
OPTIONS = {"results": False}  # the tasks return nothing, as those of the others

if PLACE.variant == "sqlite":
    huey = SqliteHuey("peers", filename=str(PLACE.folder / "huey.sqlite"), fsync=True, **OPTIONS)
else:
    huey = PostgresHuey("peers", dsn=PLACE.database, **OPTIONS)


@huey.task()
def noop() -> None:
    ran()


@huey.task()
def stamp(asked_at: int) -> None:
    stamped(asked_at)


class HueyAdapter(Adapter):
    def clear(self) -> None:
        huey.flush()

    def enqueue(self, count: int) -> None:
        for _ in range(count):
            noop()

    def stamp(self, asked_at: int) -> None:
        stamp(asked_at)

    def unfinished(self) -> int:
        return huey.pending_count()  # a task leaves the queue before it runs, for good

    def worker(self) -> list[str]:
        consumer = Path(sys.executable).with_name("huey_consumer")
        application = "benchmarks.peers.adapters.huey.huey"
        command = [str(consumer), application, "--workers", "1", "--quiet", "--no-periodic"]
        return [*command, "--delay", "0.01", "--max-delay", "0.1"]


ADAPTER = HueyAdapter
