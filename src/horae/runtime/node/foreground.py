"""Runs a node for a program without an event loop, in the calling thread or in another one."""

import asyncio
import signal
import threading
from collections.abc import Generator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Final, Protocol, TypeVar

from horae.runtime.node import own_loop

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class Runnable(Protocol):
    """What this module needs of a node."""

    @property
    def ready(self) -> asyncio.Event:
        """Set once the node claims jobs."""
        ...

    def stop(self) -> None:
        """Shut down; may be called from any thread."""
        ...

    async def run(self) -> None:
        """Run until `stop`."""
        ...


NodeT = TypeVar("NodeT", bound=Runnable)


def run_in_foreground(node: Runnable) -> None:
    """Run in this thread until `stop`. In the main thread, a first signal stops it, and a second
    one ends the program.
    """
    own_loop.run(_run_until_signal(node))


@contextmanager
def running_beside(node: NodeT) -> Generator[NodeT]:
    """Run in a separate thread during the block; raise the node's error by the end of the block."""
    ready, ended = Future[None](), Future[None]()

    async def run_and_announce() -> None:
        async with asyncio.TaskGroup() as group:
            life = group.create_task(node.run())
            waiting = group.create_task(node.ready.wait())
            await asyncio.wait((life, waiting), return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            if not life.done() or life.exception() is None:
                ready.set_result(None)

    def live() -> None:
        try:
            own_loop.run(run_and_announce())
        except BaseException as error:  # noqa: BLE001 - raised in the thread that waits for it
            for future in (ready, ended):
                if not future.done():
                    future.set_exception(error)
        else:
            ended.set_result(None)

    threading.Thread(target=live, name="horae-node", daemon=True).start()
    ready.result()
    try:
        yield node
    finally:
        node.stop()
        ended.result()


async def _run_until_signal(node: Runnable) -> None:
    loop = asyncio.get_running_loop()
    handled = SIGNALS if threading.current_thread() is threading.main_thread() else ()

    def stop() -> None:
        for number in handled:  # the next signal has its default effect
            loop.remove_signal_handler(number)
        node.stop()

    for number in handled:
        loop.add_signal_handler(number, stop)
    await node.run()
    for number in handled:
        loop.remove_signal_handler(number)
