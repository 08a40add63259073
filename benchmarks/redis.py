"""What Redis changes: progress events that a subscriber gets, the cost of writing reports, and the latency of hints."""

import asyncio
import random
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from functools import partial

from benchmarks.figures import Figure, Samples, percentile
from benchmarks.ground import Ground, Grounds, Scale
from benchmarks.raw import RawPostgres
from benchmarks.running import run_node_until
from horae import Horae, JobContext
from horae.api.security.actor import Actor, Role
from horae.api.stream.hub import Hub
from horae.api.stream.job_source import JobSource
from horae.api.stream.listener import StreamListener
from horae.api.stream.timing import HubTiming, JobSourceTiming
from horae.api.views.jobs import JobViews
from horae.domain.jobs.job import JobId
from horae.live.store import LiveReport
from horae.wakeup.channel import Hint, HintKind
from tests.harness.redis import RedisServer

BODIES = 10
"""Jobs that report at the same time."""
REPORT_EVERY = 0.02
"""Seconds between two progress calls of a body, more often than a node writes."""
CONNECTED_WITHIN = 10.0
"""Seconds after which a channel must listen."""
NANOSECONDS = 1e6
"""Nanoseconds in a millisecond."""


def redis(grounds: Grounds, scale: Scale) -> list[Figure]:
    """Measure each database alone, and PostgreSQL with a Redis server that keeps nothing on disk."""
    figures: list[Figure] = []
    with RedisServer() as server:
        for ground in grounds:
            ground.clear()
            figures += _measured(ground.name, partial(Horae, ground.url), ground, scale)
            if isinstance(ground.raw, RawPostgres):
                make = partial(Horae, ground.url, redis=server.url())
                figures += _measured(f"{ground.name} + Redis", make, ground, scale)
    return figures


def _measured(name: str, make: Callable[..., Horae], ground: Ground, scale: Scale) -> list[Figure]:
    seconds = max(0.2, scale.jobs / 4000)
    events = Samples.of([_events(make, seconds)])
    with closing(make()) as horae:
        writes = Samples.of([_reports_written(horae, scale.share(20)) for _ in range(scale.rounds)])
    milliseconds = _hint_latencies(make, scale.share(100))
    ground.clear()
    return [
        Figure(
            "progress events to a subscriber",
            name,
            "events/s",
            events,
            note=f"{BODIES} jobs, {seconds:g} s",
        ),
        Figure("live reports written", name, "reports/s", writes, note=f"{BODIES} at a time"),
        *(
            Figure(
                f"hint to another listener, {label}",
                name,
                "ms",
                Samples.of([percentile(milliseconds, share)]),
            )
            for label, share in (("p50", 0.5), ("p99", 0.99))
        ),
    ]


def _events(make: Callable[..., Horae], seconds: float) -> float:
    ended = threading.Event()
    with closing(make()) as horae:

        @horae.job(max_count=None)
        def report(job: JobContext) -> None:
            step = 0
            while not ended.wait(REPORT_EVERY):
                step += 1
                job.progress.set(1, f"step-{step}")

        async def counted() -> float:
            for _ in range(BODIES):
                await horae.aio.jobs.start(report)
            try:
                return await _received(horae, seconds)
            finally:
                ended.set()

        return asyncio.run(run_node_until(horae.node(concurrency=BODIES), counted))


async def _received(horae: Horae, seconds: float) -> float:
    components = horae.components
    views = JobViews(components.database, components.registry)
    hub = Hub(
        lambda: [JobSource(components, horae.jobs, views, JobSourceTiming())],
        components.wakeup,
        components.live,
        HubTiming(),
    )
    listener = StreamListener(Actor("benchmark", frozenset({Role.STAFF})))
    hub.join(listener, None)
    try:
        await listener.take(CONNECTED_WITHIN)
        count, began = 0, time.perf_counter()
        while (left := began + seconds - time.perf_counter()) > 0:
            count += (await listener.take(left)).count(b'"change":"progress"')
        return count / seconds
    finally:
        await asyncio.to_thread(hub.close)


def _reports_written(horae: Horae, calls: int) -> float:
    live = horae.components.live
    began = time.perf_counter()
    for step in range(calls):
        live.publish(
            [LiveReport(JobId(number), 1, 1, f"step-{step}") for number in range(1, BODIES + 1)]
        )
    rate = calls * BODIES / (time.perf_counter() - began)
    live.forget([JobId(number) for number in range(1, BODIES + 1)])
    return rate


def _hint_latencies(make: Callable[..., Horae], count: int) -> list[float]:
    """Send hints one by one, so that none is merged, from one channel to another in the same process."""
    arrived = threading.Event()
    found: list[float] = []
    pauses = random.Random(0)
    with ExitStack() as opened:
        sender, receiver = (
            opened.enter_context(closing(make())).components.wakeup for _ in range(2)
        )
        receiver.subscribe(lambda hint: arrived.set() if hint.job_ids else None)
        deadline = time.monotonic() + CONNECTED_WITHIN
        while not receiver.connected and time.monotonic() < deadline:
            time.sleep(0.01)
        for number in range(count + 1):
            time.sleep(pauses.uniform(0.005, 0.02))
            arrived.clear()
            began = time.perf_counter_ns()
            sender.send(Hint(HintKind.ENDED, (JobId(number + 1),)))
            if not arrived.wait(CONNECTED_WITHIN):
                raise TimeoutError("a hint did not arrive")
            found.append((time.perf_counter_ns() - began) / NANOSECONDS)
    return found[1:]  # the first one opens a connection
