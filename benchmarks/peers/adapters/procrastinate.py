"""Procrastinate with its psycopg connector, many coroutines at a time."""

import asyncio

import procrastinate
import psycopg

from benchmarks.peers.protocol import Adapter, Place, Schedules, declare_in_worker, ran, stamped

CONCURRENCY = 20

app = procrastinate.App(
    connector=procrastinate.PsycopgConnector(conninfo=Place.from_environment().database)
)


@app.task(name="noop")
async def noop() -> None:
    ran()


@app.task(name="stamp")
async def stamp(asked_at: int) -> None:
    stamped(asked_at)


@app.task(name="fire")
async def fire(timestamp: int) -> None:
    del timestamp
    ran()


class ProcrastinateAdapter(Adapter):
    def prepare(self) -> None:
        app.open()
        app.schema_manager.apply_schema()
        self._connection = psycopg.connect(self.place.database, autocommit=True)

    def clear(self) -> None:
        self._connection.execute("TRUNCATE procrastinate_jobs CASCADE")

    def enqueue(self, count: int) -> None:
        for _ in range(count):
            noop.defer()

    def bulk(self, count: int) -> None:
        noop.batch_defer(*({} for _ in range(count)))

    def stamp(self, asked_at: int) -> None:
        stamp.defer(asked_at=asked_at)

    def schedule(self, schedules: Schedules) -> None:
        declare_in_worker(schedules)

    def unfinished(self) -> int:
        query = "SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"
        (count,) = self._connection.execute(query).fetchone()
        return count

    def close(self) -> None:
        app.close()
        self._connection.close()


async def _work() -> None:
    schedules = Place.from_environment().schedules
    for number in range(schedules.count):
        app.periodic(cron=schedules.cron, periodic_id=str(number))(fire)
    async with app.open_async():
        await app.run_worker_async(concurrency=CONCURRENCY)


def work() -> None:
    asyncio.run(_work())


ADAPTER = ProcrastinateAdapter
