"""A node of the shop in a process of its own: `python -m tests.contrib.django.shop.node`."""

import asyncio
import threading

from horae.contrib.django import horae
from tests.harness.node_process import end_with_the_parent, shrunk


async def run() -> None:
    """Run a node until it is killed: one body at a time, and it judges others soon."""
    await horae.node(concurrency=1, liveness=shrunk(1.0)).run()


if __name__ == "__main__":
    threading.Thread(target=end_with_the_parent, daemon=True).start()
    asyncio.run(run())
