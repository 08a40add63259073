"""What a user waits for, on a node that `horae run` serves in another process.

A job that begins while half of the slots are taken, a body that learns of its cancel, and a
progress call that a subscriber of the events hears of.
"""

import http.client
import json
import random
import threading
import time
from collections.abc import Callable
from contextlib import closing

from benchmarks.figures import Budget, Figure, Samples, percentile
from benchmarks.ground import Grounds, Scale
from benchmarks.served import application
from benchmarks.serving import TOKEN, Served, serving
from horae.client.jobs import Jobs

SLOTS = 10
HALF_LOAD = SLOTS / 2 / 0.05
"""Jobs per second that take half of the slots: each takes one for 50 milliseconds."""
UNDER_LOAD = Budget("at most", 20)
CANCEL = Budget("at most", 20)
EVENT = Budget("at most", 120)
NANOSECONDS = 1e6
"""Nanoseconds in a millisecond."""


def latency(grounds: Grounds, scale: Scale) -> list[Figure]:
    """Measure the three on each database."""
    count = scale.share(400, least=5)
    figures: list[Figure] = []
    for ground in grounds:
        ground.clear()
        with (
            closing(application(ground.url)) as horae,
            serving(ground, concurrency=SLOTS) as served,
        ):
            loaded = _under_load(served, horae.jobs, count * 4)
            cancels = [_cancel(served, horae.jobs) for _ in range(count)]
            events = _events(served, horae.jobs, count)
        for name, values, share, budget in (
            ("pick-up under half load, p50", loaded, 0.5, None),
            ("pick-up under half load, p99", loaded, 0.99, UNDER_LOAD),
            ("cancel to stopped body, p50", cancels, 0.5, CANCEL),
            ("progress call to event, p50", events, 0.5, EVENT),
        ):
            value = Samples.of([percentile(values, share)])
            note = f"{len(values)} jobs"
            figures.append(Figure(name, ground.name, "ms", value, None, budget, note))
    return figures


def _under_load(served: Served, jobs: Jobs, count: int) -> list[float]:
    draw, over = random.Random(0), threading.Event()

    def keep_half_busy() -> None:
        due = time.monotonic()
        while not over.is_set():
            jobs.start("load")
            due += draw.expovariate(HALF_LOAD)
            over.wait(max(due - time.monotonic(), 0))

    callers = threading.Thread(target=keep_half_busy)
    callers.start()
    try:
        time.sleep(1)
        found: list[float] = []
        for _ in range(count):
            time.sleep(draw.uniform(0.01, 0.05))
            jobs.start("stamp", asked_at=time.monotonic_ns())
            found.append(served.value_of("begun") / NANOSECONDS)
        return found
    finally:
        over.set()
        callers.join()


def _cancel(served: Served, jobs: Jobs) -> float:
    job = jobs.start("wait_for_cancel")
    served.value_of("begun")
    asked = time.monotonic_ns()
    jobs.cancel(job.id)
    return (served.value_of("stopped") - asked) / NANOSECONDS


def _events(served: Served, jobs: Jobs, count: int) -> list[float]:
    connection = http.client.HTTPConnection(*served.address, timeout=30)
    connection.request("GET", "/api/events/", headers={"Authorization": f"Bearer {TOKEN}"})
    stream = connection.getresponse()
    if stream.status != http.client.OK:
        raise RuntimeError(f"the stream was refused: {stream.status} {stream.read()!r}")
    found: list[float] = []
    try:
        _read_until(stream.readline, b"hello", lambda _: True)
        for _ in range(count):
            job = jobs.start("report_once")
            reported = served.value_of("reported")
            _read_until(
                stream.readline,
                b"job",
                lambda event, job_id=job.id: (
                    # A late report is told by the event of the end.
                    event["id"] == job_id and event["progress_percentage"] >= 50
                ),
            )
            found.append((time.monotonic_ns() - reported) / NANOSECONDS)
    finally:
        connection.close()
    return found


def _read_until(
    read_line: Callable[[], bytes], name: bytes, is_wanted: Callable[..., bool]
) -> None:
    """Read the stream until an event with this name and wanted data."""
    event = b""
    while line := read_line():
        field, _, value = line.strip().partition(b": ")
        if field == b"event":
            event = value
        elif field == b"data" and event == name and is_wanted(json.loads(value)):
            return
    raise RuntimeError("the stream has ended")
