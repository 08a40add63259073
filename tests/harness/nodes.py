"""Nodes inside the test's own loop, and waits that end with what they wait for."""

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, Final

from horae import Horae, Job
from horae.runtime.node.node import Node
from horae.runtime.signals import Signal, Signals

PATIENCE: Final = 20.0
"""Seconds after which a wait has failed: a bound, never a measure."""

PAUSE: Final = 0.01
"""Seconds between two looks at what nobody announces."""


@asynccontextmanager
async def running_node(horae: Horae, **options: Any) -> AsyncGenerator[Node]:
    """A node that is ready when the block begins, and has left when it is over."""
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


async def until(condition: Callable[[], Any], within: float = PATIENCE, after: Signal[...] | None = None) -> Any:
    """Look until the condition is true, and return what it said; raises TimeoutError.

    `after`: the signal that announces the change, so that the condition is checked then and not again and again.
    """
    async with asyncio.timeout(within):
        while True:
            changed = None if after is None else after.wait()
            answer = condition()
            found = await answer if inspect.isawaitable(answer) else answer
            if found:
                return found
            await (asyncio.sleep(PAUSE) if changed is None else changed)


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
