"""Horae's adapter for github.com/hardbyte/postgresql-job-queue-benchmarking.

One long-running process: a node, a producer that the harness or the environment paces, and a
sampler that prints one JSON record a line. What its fields and variables mean is in that
project's CONTRIBUTING_ADAPTERS.md.
"""

import asyncio
import collections
import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from importlib.metadata import version

import psycopg

from benchmarks.figures import percentile
from horae import Horae
from horae.errors import HoraeError
from horae.storage.engine import Database
from horae.storage.migrations.runner import upgrade

ADDRESS = os.environ["DATABASE_URL"]
WINDOW = 30.0
"""Seconds of the latencies that a sample tells of."""
LATENCIES = 32_768
"""Latencies that are kept at most."""
DEPTH_EVERY = 0.2
"""Seconds between two counts of the waiting jobs."""
IDLE = 0.05
"""Seconds that a producer with nothing to do waits."""
GLOBAL = ("queue_depth", "producer_target_rate")
"""What only the first of several replicas reports."""


def number(name: str, default: int) -> int:
    return int(os.environ.get(name, default))


INSTANCE = number("BENCH_INSTANCE_ID", 0)


class Bench:
    """What one replica does, and what it has counted."""

    def __init__(self, horae: Horae) -> None:
        self.horae = horae
        self.ended = asyncio.Event()
        self.latencies: collections.deque[tuple[float, float]] = collections.deque(maxlen=LATENCIES)
        self.enqueued = self.completed = self.depth = 0
        self.target_rate = 0
        self.work = number("JOB_WORK_MS", 1) / 1000
        self.padding = "x" * max(0, number("JOB_PAYLOAD_BYTES", 256) - 40)
        self.batch_max = max(1, number("PRODUCER_BATCH_MAX", 128))
        self.job = horae.job(name="long_horizon")(self._body)

    async def _body(self, created_at: float, padding: str) -> None:
        del padding
        waited = max(0.0, time.time() - created_at) * 1000
        self.latencies.append((time.monotonic(), waited))
        if self.work:
            await asyncio.sleep(self.work)
        self.completed += 1

    async def enqueue(self, count: int) -> None:
        """Enqueue jobs in one call; the database may be down, as it is in some phases."""
        now = time.time()
        params = [{"created_at": now, "padding": self.padding}] * count
        try:
            await self.horae.aio.jobs.start_many(self.job, params)
        except HoraeError as error:
            print(f"[horae] insert failed: {error}", file=sys.stderr)
            await asyncio.sleep(IDLE)
        else:
            self.enqueued += count

    async def produce_as_told(self) -> None:
        """Enqueue what the harness writes to standard input: `ENQUEUE n`."""
        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        self.target_rate = number("PRODUCER_RATE", 800)
        while line := await reader.readline():
            word, _, count = line.decode().partition(" ")
            if word == "ENQUEUE":
                await self.enqueue(int(count))

    async def produce_at_rate(self) -> None:
        """Enqueue at a rate by the time that has really passed."""
        credit, last = 0.0, time.monotonic()
        while True:
            await asyncio.sleep(max(1, number("PRODUCER_BATCH_MS", 25)) / 1000)
            self.target_rate = _rate()
            now = time.monotonic()
            credit += self.target_rate * (now - last)
            last = now
            while credit >= 1:
                count = min(self.batch_max, int(credit))
                credit -= count
                await self.enqueue(count)

    async def produce_to_depth(self) -> None:
        """Keep so many jobs waiting."""
        target = number("TARGET_DEPTH", 1000)
        while True:
            missing = min(self.batch_max, target - self.depth)
            if missing > 0:
                self.depth += missing
                await self.enqueue(missing)
            else:
                await asyncio.sleep(IDLE)

    async def count_depth(self) -> None:
        """Count the waiting jobs, in the first replica."""
        query = "SELECT count(*) FROM horae_jobs WHERE state = 'pending'"
        while INSTANCE == 0 or os.environ.get("PRODUCER_MODE") == "depth-target":
            with contextlib.suppress(psycopg.Error):  # the server is down, or restarts
                async with await psycopg.AsyncConnection.connect(ADDRESS) as connection:
                    row = await (await connection.execute(query)).fetchone()
                self.depth = 0 if row is None else row[0]
            await asyncio.sleep(DEPTH_EVERY)

    async def sample(self) -> None:
        """Print the samples at whole multiples of their interval."""
        every = number("SAMPLE_EVERY_S", 5)
        await asyncio.sleep(every - time.time() % every)
        last, before = time.monotonic(), (self.enqueued, self.completed)
        while True:
            await asyncio.sleep(every - time.time() % every)
            now, counts = time.monotonic(), (self.enqueued, self.completed)
            rates = [(new - old) / (now - last) for new, old in zip(counts, before, strict=True)]
            last, before = now, counts
            recent = [each for moment, each in self.latencies if moment >= now - WINDOW] or [0.0]
            _print_sample("claim_p50_ms", percentile(recent, 0.5), WINDOW)
            _print_sample("claim_p95_ms", percentile(recent, 0.95), WINDOW)
            _print_sample("claim_p99_ms", percentile(recent, 0.99), WINDOW)
            _print_sample("enqueue_rate", rates[0], every)
            _print_sample("completion_rate", rates[1], every)
            _print_sample("queue_depth", self.depth, 0)
            _print_sample("producer_target_rate", self.target_rate, 0)

    def producer(self) -> Callable[[], Awaitable[None]]:
        """Return the producer that the environment asks for."""
        if os.environ.get("PRODUCER_MODE") == "depth-target":
            return self.produce_to_depth
        paced = os.environ.get("PRODUCER_PACING") == "harness"
        return self.produce_as_told if paced else self.produce_at_rate

    async def run(self) -> None:
        """Run until SIGTERM."""
        loop = asyncio.get_running_loop()
        for number_ in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number_, self.ended.set)
        node = self.horae.node(concurrency=number("WORKER_COUNT", 32), grace=timedelta(seconds=1))
        async with asyncio.TaskGroup() as group:
            group.create_task(node.run())
            await node.ready.wait()
            parts = (self.producer(), self.count_depth, self.sample)
            tasks = [group.create_task(_run(part)) for part in parts]
            await self.ended.wait()
            for task in tasks:
                task.cancel()
            node.stop()


async def _run(part: Callable[[], Awaitable[None]]) -> None:
    await part()


def _rate() -> int:
    default = number("PRODUCER_RATE", 800)
    file = os.environ.get("PRODUCER_RATE_CONTROL_FILE")
    if file is None:
        return default
    try:
        with open(file) as opened:  # noqa: PTH123 - a line of a file of the harness
            return int(float(opened.read()))
    except (OSError, ValueError):  # it is being written
        return default


def _print_sample(metric: str, value: float, window: float) -> None:
    if metric in GLOBAL and INSTANCE:
        return
    _print_record(
        t=_now(),
        kind="adapter",
        subject_kind="adapter",
        subject="",
        metric=metric,
        value=value,
        window_s=window,
    )


def _print_record(**fields: object) -> None:
    print(json.dumps({"system": "horae", "instance_id": INSTANCE, **fields}), flush=True)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def main() -> None:
    scheme, _, rest = ADDRESS.partition(":")
    del scheme
    address = f"postgresql+psycopg:{rest}"
    with contextlib.closing(Database(address)) as database:
        upgrade(database)
    if os.environ.get("SCENARIO") == "migrate_only":
        return
    _print_record(
        kind="descriptor",
        event_tables=["public.horae_jobs", "public.horae_job_attempts"],
        extensions=[],
        version=version("horae"),
        schema_version=version("horae"),
        db_name=ADDRESS.rpartition("/")[2].partition("?")[0],
        started_at=_now(),
    )
    with contextlib.closing(Horae(address)) as horae:
        asyncio.run(Bench(horae).run())


if __name__ == "__main__":
    main()
