"""Nodes on the event loop of the test, and functions that wait for a condition."""

import asyncio
import inspect
import threading
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, Final

from horae import Horae, Job
from horae.runtime.node import Node
from horae.runtime.signals import Signals
from horae.runtime.timing import Pauses, Timing, WorkerTiming
from tests.harness.applications import counted_statements
from tests.harness.waiting import PATIENCE

POLLS_QUICKLY: Final = Timing(worker=WorkerTiming(poll_with_hints=0.1, poll_idle=0.1))
"""For tests that change rows of jobs without a hint; a node usually finds these after some seconds."""
POLL: Final = Pauses(0.005, 0.05)
"""Seconds between two checks of a condition that no event announces; most conditions query the database."""


@asynccontextmanager
async def running_node(horae: Horae, **options: Any) -> AsyncGenerator[Node]:
    """Run a node that is ready when the block begins, and stop it at its end."""
    chosen: dict[str, Any] = {"grace": timedelta(seconds=5), **options}
    node = horae.node(**chosen)
    async with asyncio.TaskGroup() as group:
        group.create_task(node.run())
        try:
            async with asyncio.timeout(PATIENCE):
                await node.ready.wait()
            yield node
        finally:
            node.stop()


def signals_of(node: Node) -> Signals:
    """The signals by which the services of a running node notify each other."""
    signals: Signals = vars(node)["_incarnation"].signals
    return signals


async def until(condition: Callable[[], Any], within: float = PATIENCE) -> Any:
    """Poll until the condition returns a true value, and return that; raises TimeoutError.

    For changes in other processes. Where something announces the change, wait for that (`tests.harness.waiting`).
    """
    pause = POLL.shortest
    async with asyncio.timeout(within):
        while True:
            answer = condition()
            found = await answer if inspect.isawaitable(answer) else answer
            if found:
                return found
            await asyncio.sleep(pause)
            pause = POLL.after(pause)


async def until_set(event: threading.Event | asyncio.Event) -> None:
    """Wait for an event, which the test or a body sets on any thread; raises TimeoutError."""
    if isinstance(event, asyncio.Event):
        async with asyncio.timeout(PATIENCE):
            await event.wait()
    elif not await asyncio.to_thread(event.wait, PATIENCE):
        raise TimeoutError


async def until_state(horae: Horae, job_id: int, *states: str, within: float = PATIENCE) -> Job:
    """Wait until the job is in one of these states."""

    async def reached() -> Job | None:
        job = await horae.aio.jobs.get(job_id)
        return job if job.state in states else None

    found: Job = await until(reached, within)
    return found


async def until_released(horae: Horae, job_id: int, within: float = PATIENCE) -> Job:
    """Wait until the job has ended and its body has stopped."""

    async def stopped() -> Job | None:
        job = await horae.aio.jobs.get(job_id)
        return None if job.occupied else job

    found: Job = await until(stopped, within)
    return found


async def statements_a_second(horae: Horae, seconds: float) -> float:
    """Return how many statements this application sends in a second; without the beginnings and ends of transactions."""
    began = time.monotonic()
    with counted_statements(horae) as statements:
        await until(lambda: time.monotonic() > began + seconds)
    # On a busy machine the wait takes longer, and the node sends statements all the time.
    lasted = time.monotonic() - began
    return sum(not each.startswith(("BEGIN", "COMMIT")) for each in statements) / lasted
