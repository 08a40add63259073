"""The application of the measured faults: each body logs its begin and its end to a file."""

import asyncio
import re
import sys
import threading
import time

from horae import Horae, JobContext
from tests.harness.body_log import logged

horae = Horae()
SLOW_TO_MATCH = "a" * 27 + "b"


@horae.job(max_count=None)
def once(job: JobContext, seconds: float = 0.0) -> None:
    """A body on a thread that is tried once."""
    with logged(job):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(left, 0.05))
            job.progress.set(50)  # where it notices an order to stop


@horae.job(max_count=None)
async def once_async(job: JobContext, seconds: float = 0.0) -> None:
    """A coroutine body that is tried once."""
    with logged(job):
        await asyncio.sleep(seconds)


@horae.job(max_count=None, transaction="read committed")
def bound(job: JobContext) -> None:
    """A body in Horae's transaction, tried once."""
    with logged(job):
        pass


@horae.job(max_count=None)
def hold_the_interpreter(job: JobContext, seconds: float) -> None:
    """Keep the interpreter's lock: match one regular expression after another, each of which holds it for long."""
    with logged(job):
        sys.setswitchinterval(seconds)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            re.match(r"(a+)+$", SLOW_TO_MATCH)
        sys.setswitchinterval(0.005)


@horae.job(max_count=None)
async def attack(job: JobContext, kind: str) -> None:
    """Declare bodies that try to end their node."""
    with logged(job):
        loop = asyncio.get_running_loop()
        match kind:
            case "SystemExit" | "KeyboardInterrupt":
                error = SystemExit if kind == "SystemExit" else KeyboardInterrupt

                async def leave() -> None:
                    raise error

                await asyncio.gather(loop.create_task(leave()), return_exceptions=True)
            case "loop.stop":
                loop.stop()
                await asyncio.sleep(0.05)
            case "cancel all":
                for task in asyncio.all_tasks():
                    task.cancel()
                await asyncio.sleep(0.05)
            case _:
                threading.Event().wait(0)
