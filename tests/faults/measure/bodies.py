"""The application of the measured faults: each body logs its begin and its end to a file."""

import asyncio
import os
import re
import sys
import threading
import time
from contextlib import ExitStack
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final

from horae import Backoff, Horae, JobContext
from tests.harness.body_log import LOG_VARIABLE, logged
from tests.harness.clocks import CONTROL_VARIABLE, obey
from tests.harness.node_process import SILENCE_VARIABLE, shrunk

horae = Horae()
RELEASE: Final = Path(os.environ.get(LOG_VARIABLE, os.devnull) + ".release")
"""A file whose existence ends the bodies of `leaving`."""
SLOW_TO_MATCH: Final = "a" * 24 + "b"
"""About a second of matching, so that a body ends soon after its time, also on a busy machine."""
MANY_ATTEMPTS: Final = 1_000
"""More than any scenario needs, so that only success ends these jobs."""
POOL: Final = 24
"""Connections of one pool of a node, with those that it may open beyond its size."""

holding = threading.Event()

if CONTROL_VARIABLE in os.environ:
    obey(Path(os.environ[CONTROL_VARIABLE]))
if SILENCE_VARIABLE in os.environ:
    horae.node = partial(horae.node, liveness=shrunk(float(os.environ[SILENCE_VARIABLE])))  # type: ignore[method-assign]


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


@horae.job(
    max_count=None,
    queue="leaving",
    max_attempts=MANY_ATTEMPTS,
    backoff=Backoff(base=timedelta(0), jitter=0),
)
def leaving(job: JobContext) -> None:
    """A body that ends only when it is stopped, or once the scenario is over."""
    with logged(job):
        while not RELEASE.exists():
            time.sleep(0.02)
            job.check()


@horae.job(
    max_count=None,
    queue="pool",
    max_attempts=MANY_ATTEMPTS,
    backoff=Backoff(base=timedelta(seconds=0.1)),
)
def hold_the_pool(job: JobContext, seconds: float) -> None:
    """Take all connections that the services of this node share, and keep them; once on each node."""
    with logged(job):
        if holding.is_set():
            raise RuntimeError("the pool of this node is held already")
        holding.set()
        # Its idle connections stay checked out of the engine, so those are taken first.
        pool = vars(horae.components.database)["_transaction_connections"]
        try:
            with ExitStack() as connections:
                for _ in range(POOL):
                    connections.enter_context(pool.take())
                time.sleep(seconds)
        finally:
            holding.clear()


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
            case _:
                threading.Event().wait(0)
