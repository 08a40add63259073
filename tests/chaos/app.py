"""The application of the chaos test. Its wall clock may be wrong, which must not matter."""

import asyncio
import os
import time
from functools import partial

from horae import Horae, JobContext
from tests.harness.body_log import logged
from tests.harness.node_process import SILENCE_VARIABLE, shrunk

CLOCK_OFFSET = float(os.environ.get("CHAOS_CLOCK_OFFSET", "0"))
if CLOCK_OFFSET:
    right = time.time
    right_ns = time.time_ns
    time.time = lambda: right() + CLOCK_OFFSET
    time.time_ns = lambda: right_ns() + int(CLOCK_OFFSET * 1e9)

horae = Horae()
if SILENCE_VARIABLE in os.environ:
    horae.node = partial(horae.node, liveness=shrunk(float(os.environ[SILENCE_VARIABLE])))  # type: ignore[method-assign]


@horae.job(max_count=None)
async def beat(job: JobContext, pause: float) -> None:
    """Run for a moment, so that faults hit running bodies."""
    with logged(job):
        await asyncio.sleep(pause)
        job.check()
