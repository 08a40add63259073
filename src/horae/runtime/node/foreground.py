"""Runs a node from a program that has no event loop: in its own thread, or in another one beside it."""

import asyncio
import signal
import threading
from collections.abc import Generator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Final, Protocol, TypeVar

from horae.runtime.bodies import loop_guard

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class Runnable(Protocol):
    """A node, as this module sees it."""

    @property
    def ready(self) -> asyncio.Event:
        """Set when it takes on work."""
        ...

    def stop(self) -> None:
        """Shut down; may be called from any thread."""
        ...

    async def run(self) -> None:
        """Live until `stop`."""
        ...


NodeT = TypeVar("NodeT", bound=Runnable)


def run_in_foreground(node: Runnable) -> None:
    """Run in this thread until it stops; in the main thread a first signal stops it, a second one ends the program."""
    loop_guard.run(_run_until_signal(node))


@contextmanager
def running_beside(node: NodeT) -> Generator[NodeT]:
    """Run in a thread of its own while the block lasts; raises what makes the node fail, at the latest at the end."""
    ready, ended = Future[None](), Future[None]()
    threading.Thread(target=_live, args=(node, ready, ended), name="horae-node", daemon=True).start()
    ready.result()
    try:
        yield node
    finally:
        node.stop()
        ended.result()


def _live(node: Runnable, ready: Future[None], ended: Future[None]) -> None:
    try:
        loop_guard.run(_run_and_tell(node, ready))
    except BaseException as error:  # noqa: BLE001 - raised where somebody waits for it
        for future in (ready, ended):
            if not future.done():
                future.set_exception(error)
    else:
        ended.set_result(None)


async def _run_and_tell(node: Runnable, ready: Future[None]) -> None:
    async with asyncio.TaskGroup() as group:
        life = group.create_task(node.run())
        telling = group.create_task(node.ready.wait())
        await asyncio.wait((life, telling), return_when=asyncio.FIRST_COMPLETED)
        telling.cancel()
        if not life.done() or life.exception() is None:
            ready.set_result(None)


async def _run_until_signal(node: Runnable) -> None:
    loop = asyncio.get_running_loop()
    heard = SIGNALS if threading.current_thread() is threading.main_thread() else ()

    def stop() -> None:
        for number in heard:  # the next one does what it does elsewhere
            loop.remove_signal_handler(number)
        node.stop()

    for number in heard:
        loop.add_signal_handler(number, stop)
    await node.run()
    for number in heard:
        loop.remove_signal_handler(number)
