"""The application that the chaos run keeps under fire. Its wall clock may be off, which must not matter."""

import asyncio
import os
import time

from horae import Horae, JobContext

OFFSET = float(os.environ.get("CHAOS_CLOCK_OFFSET", "0"))
if OFFSET:
    right = time.time
    right_ns = time.time_ns
    time.time = lambda: right() + OFFSET
    time.time_ns = lambda: right_ns() + int(OFFSET * 1e9)

horae = Horae()


@horae.job(max_count=None)
async def beat(job: JobContext, pause: float) -> None:
    """Run for a moment, so that faults find bodies under way."""
    await asyncio.sleep(pause)
    job.check()
