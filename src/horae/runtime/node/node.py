"""A node: one process that claims and runs jobs, fires schedules, and rescues jobs of dead nodes.

A node registers first and unregisters last. To end, it stops claiming, gives running bodies time
and writes their results. A node that was declared dead by others stops its bodies at once and
starts again as a new incarnation.
"""

import asyncio
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Collection, Generator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from typing import Final, Self

from horae.domain.jobs import NodeId
from horae.resource_shortage import lacks_resource
from horae.runtime.backends import check_backends
from horae.runtime.claims import Slots
from horae.runtime.components import Components, NodeOptions
from horae.runtime.node import own_loop
from horae.runtime.node.contact import post
from horae.runtime.node.deploying import Deploy
from horae.runtime.node.incarnation import Incarnation
from horae.runtime.node.process_hooks import call_start_hooks, call_stop_hooks
from horae.runtime.throttled_warning import ThrottledWarning
from horae.runtime.timing import Pauses
from horae.storage.engine import first_of, is_transient

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class Node:
    """Runs jobs until it is stopped."""

    def __init__(
        self,
        components: Components,
        options: NodeOptions,
        deploy: Deploy = tuple[int, ...],
        slots: Slots | None = None,
    ) -> None:
        """`deploy`: called once the node is registered; `slots`: shared within the process."""
        self._components = components
        self._options = options
        self._deploy = deploy
        self._slots = slots or Slots(options.concurrency)
        self._incarnation: Incarnation | None = None
        self._stop = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.ready = asyncio.Event()
        self.id: NodeId | None = None

    @property
    def grace(self) -> timedelta:
        """How long jobs may run on after `stop`; the node ends at most five seconds later."""
        return self._options.grace

    def stop(self) -> None:
        """Shut down: claim no more jobs, wait for the grace period, then end.

        May be called from any thread.
        """
        if self._loop is None:
            self._stop.set()
        else:
            post(self._loop, self._stop.set)

    def run_sync(self) -> None:
        """Run in this thread until `stop`.

        In the main thread, a first signal stops it, and a second one ends the program.
        """
        handled = SIGNALS if threading.current_thread() is threading.main_thread() else ()

        async def run_until_signal() -> None:
            loop = asyncio.get_running_loop()

            def stop() -> None:
                for number in handled:  # the next signal has its default effect
                    loop.remove_signal_handler(number)
                self.stop()

            for number in handled:
                loop.add_signal_handler(number, stop)
            await self.run()
            for number in handled:
                loop.remove_signal_handler(number)

        own_loop.run(run_until_signal())

    @contextmanager
    def running(self) -> Generator[Self]:
        """Run in a separate thread during a `with` block, which begins when the node is ready.

        Raises the node's error by the end of the block.
        """
        ready, ended = Future[None](), Future[None]()

        async def run_and_announce() -> None:
            async with asyncio.TaskGroup() as group:
                life = group.create_task(self.run())
                waiting = group.create_task(self.ready.wait())
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
            yield self
        finally:
            self.stop()
            # At the end of a program that has not left the block, the thread of the node is gone.
            if not sys.is_finalizing():
                ended.result()

    async def run(self) -> None:
        """Run until `stop`; start again as a new incarnation if the node is declared dead."""
        self._loop = asyncio.get_running_loop()
        await self._components.database.in_service(partial(check_backends, self._components))
        await call_start_hooks(self._components.hooks.node_start, self._stop)
        try:
            await run_incarnations(
                self._run_incarnation, self.ready, self._stop, self._options.timing.restart
            )
        finally:
            await call_stop_hooks(self._components.hooks.node_stop)

    def give_up_calls(self) -> None:
        """Let no hanging call of a service delay the process's end; called after the node's end."""
        self._components.database.give_up_calls()

    async def _run_incarnation(self) -> None:
        incarnation = self._incarnation = Incarnation(
            self._components, self._options, self._deploy, self._slots
        )
        self.id = incarnation.id
        await incarnation.run(self._stop, self.ready)
        if (error := incarnation.lost or incarnation.schema.mismatch) is not None:
            raise error

    def adopt(self, schedule_ids: Collection[int]) -> None:
        """Own schedules that were created here until the next reload.

        May be called from any thread.
        """
        if self._incarnation is not None:
            self._incarnation.adopt(schedule_ids)


async def run_incarnations(
    run_one: Callable[[], Awaitable[None]],
    ready: asyncio.Event,
    stop: asyncio.Event,
    pauses: Pauses,
) -> None:
    """Run one incarnation after another until `stop`.

    The first one raises every error to its caller, because the settings may be wrong. A later one
    begins because the node was declared dead, often during a failure of the database that is not
    over yet. So it is repeated, after growing pauses, while the database is unavailable or the
    machine lacks something.
    """
    warning, pause = ThrottledWarning(), pauses.shortest
    while not stop.is_set():
        try:
            await run_one()
        except ExceptionGroup as group:
            lasting = group.split(lambda error: is_transient(error) or lacks_resource(error))[1]
            if lasting is not None or not ready.is_set():
                raise
            warning.warn("the node cannot start again yet: %s", first_of(group))
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await stop.wait()
            pause = pauses.after(pause)
        else:
            pause = pauses.shortest
            warning.settle()
