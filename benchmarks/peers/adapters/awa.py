"""Awa, whose engine is written in Rust, with handlers in Python."""

import asyncio
import signal
from dataclasses import dataclass

import awa

from benchmarks.peers.protocol import Adapter, Place, ran, stamped

WORKERS = 100
"""Handlers at a time."""


@dataclass
class Noop:
    pass


@dataclass
class Stamp:
    asked_at: int


class AwaAdapter(Adapter):
    def prepare(self) -> None:
        self._runner = asyncio.Runner()
        self._runner.run(self._connect())

    def clear(self) -> None:
        self._runner.run(self._clear())

    def enqueue(self, count: int) -> None:
        self._runner.run(self._enqueue(count))

    def bulk(self, count: int) -> None:
        self._runner.run(self._bulk(count))

    def stamp(self, asked_at: int) -> None:
        self._runner.run(self._stamp(asked_at))

    def unfinished(self) -> int:
        return self._runner.run(self._unfinished())

    async def _connect(self) -> None:
        self._client = awa.AsyncClient(self.place.database)
        await self._client.migrate()
        await self._client.install_queue_storage()

    async def _clear(self) -> None:
        await self._client.drain_queue("default")

    async def _enqueue(self, count: int) -> None:
        for _ in range(count):
            await self._client.insert(Noop())

    async def _bulk(self, count: int) -> None:
        await self._client.enqueue_many_copy([Noop()] * count)

    async def _stamp(self, asked_at: int) -> None:
        await self._client.insert(Stamp(asked_at))

    async def _unfinished(self) -> int:
        for state in ("available", "running"):  # the statistics of a queue lag behind
            if found := await self._client.list_jobs(state=state, limit=1):
                return len(found)
        return 0


async def _work() -> None:
    client = awa.AsyncClient(Place.from_environment().database)

    @client.task(Noop)
    async def noop(_job: object) -> None:
        ran()

    @client.task(Stamp)
    async def stamp(job: object) -> None:
        stamped(job.args.asked_at)

    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    await client.start([("default", WORKERS)])
    await ended.wait()
    await client.shutdown()


def work() -> None:
    asyncio.run(_work())


ADAPTER = AwaAdapter
