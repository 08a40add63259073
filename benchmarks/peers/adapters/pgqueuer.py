"""PgQueuer on asyncpg, which its documentation calls the fastest of its drivers."""

import asyncio
import signal

import asyncpg
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.queries import Queries

from benchmarks.peers.protocol import Adapter, Place, Schedules, declare_in_worker, ran, stamped

BATCH = 100
"""Jobs of one claim; its default is 10."""


class PgQueuerAdapter(Adapter):
    def prepare(self) -> None:
        self._runner = asyncio.Runner()
        self._runner.run(self._connect())

    def clear(self) -> None:
        tables = "pgqueuer, pgqueuer_log, pgqueuer_schedules"
        self._runner.run(self._connection.execute(f"TRUNCATE {tables}"))

    def enqueue(self, count: int) -> None:
        self._runner.run(self._enqueue(count))

    def bulk(self, count: int) -> None:
        jobs = (["noop"] * count, [None] * count, [0] * count)
        self._runner.run(self._queries.enqueue(*jobs))

    def stamp(self, asked_at: int) -> None:
        self._runner.run(self._queries.enqueue("stamp", str(asked_at).encode()))

    def schedule(self, schedules: Schedules) -> None:
        declare_in_worker(schedules)

    def unfinished(self) -> int:
        return self._runner.run(self._connection.fetchval("SELECT count(*) FROM pgqueuer"))

    async def _connect(self) -> None:
        self._connection = await asyncpg.connect(self.place.database)
        self._queries = Queries(AsyncpgDriver(self._connection))
        await self._queries.install()

    async def _enqueue(self, count: int) -> None:
        for _ in range(count):
            await self._queries.enqueue("noop", None)


async def _work() -> None:
    connection = await asyncpg.connect(Place.from_environment().database)
    queuer = PgQueuer(AsyncpgDriver(connection))

    @queuer.entrypoint("noop")
    async def noop(_job: object) -> None:
        ran()

    @queuer.entrypoint("stamp")
    async def stamp(job: object) -> None:
        stamped(int(job.payload))

    async def fire(_schedule: object) -> None:
        ran()

    schedules = Place.from_environment().schedules
    for number in range(schedules.count):
        queuer.schedule(f"fire-{number}", schedules.cron)(fire)

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, queuer.shutdown.set)
    await queuer.run(batch_size=BATCH)


def work() -> None:
    asyncio.run(_work())


ADAPTER = PgQueuerAdapter
