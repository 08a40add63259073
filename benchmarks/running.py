"""Nodes under measurement: in this thread until something is done, or in a separate process."""

import asyncio
import contextlib
import multiprocessing
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from multiprocessing.connection import Connection
from typing import Any

from benchmarks.application import Measured
from benchmarks.ground import Ground
from horae.cli.serving.process import tune_garbage_collector
from horae.runtime.node.node import Node

PAUSE = 0.002
"""Seconds between two checks whether all jobs have ended."""


def run_until(ground: Ground, done: Callable[[], Awaitable[float]], concurrency: int) -> float:
    """Run a node in this process until `done` returns the figure."""
    return asyncio.run(run_node_until(ground.application.horae.node(concurrency=concurrency), done))


async def run_node_until(node: Node, done: Callable[[], Awaitable[float]]) -> float:
    tune_garbage_collector()  # as `horae run` does
    async with asyncio.TaskGroup() as group:
        group.create_task(node.run())
        await node.ready.wait()
        try:
            return await done()
        finally:
            node.stop()


def drain(ground: Ground, jobs: int, concurrency: int) -> float:
    """Run the pending jobs. Return the jobs per second, from the readiness of the node to the commit of the last end."""
    application = ground.application
    application.reset()

    async def all_ended() -> float:
        began = time.perf_counter()
        # Query the database only when all may have ended. An event would make each body check whether it is the last.
        while application.begun < jobs or ground.raw.held():  # noqa: ASYNC110
            await asyncio.sleep(PAUSE)
        return jobs / (time.perf_counter() - began)

    return run_until(ground, all_ended, concurrency)


@contextlib.contextmanager
def node_process(url: str, **settings: Any) -> Generator[Connection]:
    """Run a node in a separate process; the connection delivers the times of its `stamp` bodies, in nanoseconds."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(url, theirs, settings), daemon=True)
    process.start()
    try:
        ours.recv()  # ready
        yield ours
    finally:
        ours.send(None)
        process.join(10)
        process.kill()


def _serve(url: str, connection: Connection, settings: Mapping[str, Any]) -> None:
    application = Measured(url, **settings)
    application.stamped = connection.send
    with contextlib.closing(application.horae):
        asyncio.run(_live(application.horae.node(), connection))


async def _live(node: Node, connection: Connection) -> None:
    asyncio.get_running_loop().add_reader(connection.fileno(), node.stop)
    async with asyncio.TaskGroup() as group:
        group.create_task(node.run())
        await node.ready.wait()
        connection.send(None)
