"""The application that `horae run` serves under measurement; its bodies print what is measured."""

import asyncio
import os
import time

from horae import Horae, JobContext


def application(url: str) -> Horae:
    """Return it, for the node and for the callers of its jobs."""
    horae = Horae(url)

    @horae.job(max_count=None)
    async def wait_for_cancel() -> None:
        """Run until cancelled, and print when that was noticed."""
        print("begun", flush=True)
        try:
            await asyncio.sleep(60)
        finally:
            print("stopped", time.monotonic_ns(), flush=True)

    @horae.job(max_count=None)
    async def report_once(job: JobContext) -> None:
        """Report progress once, and print when."""
        await asyncio.sleep(0.3)
        print("reported", time.monotonic_ns(), flush=True)
        job.progress.set(50)
        await asyncio.sleep(0.2)

    @horae.job(max_count=None)
    async def load() -> None:
        """Take a slot for 50 milliseconds."""
        await asyncio.sleep(0.05)

    @horae.job(max_count=None)
    async def stamp(asked_at: int) -> None:
        """Print how long after `asked_at` it has begun, in nanoseconds."""
        print("begun", time.monotonic_ns() - asked_at, flush=True)

    return horae


if (_url := os.environ.get("MEASURED_URL")) is not None:
    horae = application(_url)
