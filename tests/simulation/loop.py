"""An event loop that runs in a simulated thread, by the clock of its process."""

import asyncio
import contextvars
from asyncio.events import _set_running_loop as set_running_loop
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from typing_extensions import override

from tests.simulation.world import Lane, Process

RESOLUTION: Final = 1e-6
"""Seconds by which a timer is late, so that its clock shows at least the time for which it was set."""
MOST_STEPS: Final = 20_000
"""Callbacks of one loop at one moment; a loop that has more would use up a processor."""


class NumberedTask(asyncio.Task[Any]):
    """A task whose place in a set depends neither on its address in memory nor on earlier simulations."""

    def __init__(self, *args: Any, loop: Any, **options: Any) -> None:
        self._number = len(loop.tasks)
        super().__init__(*args, loop=loop, **options)
        loop.tasks.append(self)

    @override
    def __hash__(self) -> int:
        return self._number

    @override
    def __eq__(self, other: object) -> bool:
        return self is other


class SimulatedAsyncio:
    """The module `asyncio` where Horae makes tasks itself."""

    Task = NumberedTask

    def __getattr__(self, name: str) -> Any:
        """Return what is not simulated."""
        return getattr(asyncio, name)


class Handle:
    """A callback of a loop, as `asyncio.Handle`, which takes longer to make."""

    __slots__ = ("args", "callback", "context", "is_cancelled", "moment")

    def __init__(
        self,
        callback: Callable[..., object],
        args: Any,
        context: contextvars.Context | None,
        moment: float,
    ) -> None:
        """`moment`: when it is due by the monotonic clock of the process, if it is a timer."""
        self.callback, self.args, self.moment, self.is_cancelled = callback, args, moment, False
        self.context = contextvars.copy_context() if context is None else context

    def cancel(self) -> None:
        """Do not call it."""
        self.is_cancelled = True

    def cancelled(self) -> bool:
        """Return whether it is not called."""
        return self.is_cancelled

    def when(self) -> float:
        """Return the moment at which a timer is due."""
        return self.moment


class SimulatedLoop:
    """Runs callbacks in the order in which they were registered, and timers by the process's monotonic clock."""

    def __init__(self, process: Process, on_error: Callable[[dict[str, Any]], None]) -> None:
        self.process, self._on_error = process, on_error
        self._ready: deque[Handle] = deque()
        self._self: Any = self
        """For asyncio, which wants all methods of a loop; only those that Horae needs are here."""
        self._idle = False
        self._factory: Any = None
        self.tasks: list[asyncio.Task[Any]] = []
        self.lane = Lane(process, self._run, "loop")
        self.lane.loop = self
        self.lane.start()

    def _run(self) -> None:
        world, ready = self.process.world, self._ready
        agenda = world.agenda
        moment, steps = -1.0, 0
        while True:
            while ready:
                moment, steps = world.now, steps + 1 if moment == world.now else 0
                if steps > MOST_STEPS:
                    self._on_error(
                        {
                            "message": f"{MOST_STEPS} callbacks at one moment",
                            "exception": RuntimeError("spins"),
                        }
                    )
                    self.process.kill_from_within()
                handle = ready.popleft()
                if not handle.is_cancelled:
                    try:
                        handle.context.run(handle.callback, *handle.args)
                    except BaseException as error:  # noqa: BLE001 - as each event loop does
                        self.call_exception_handler(
                            {"message": f"exception in {handle.callback}", "exception": error}
                        )
                if (
                    agenda and agenda[0][0] <= world.now
                ):  # something else is to happen at this moment
                    world.wait(0.0)
            self._idle = True
            world.wait()
            self._idle = False

    def time(self) -> float:
        return self.process.clock.monotonic()

    def call_soon(
        self,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> Handle:
        handle = Handle(callback, args, context, 0.0)
        if not self.process.dead:
            self._ready.append(handle)
            if self._idle:
                self._idle = False
                self.lane.wake()
        return handle

    def _add(self, handle: Handle) -> None:
        self._ready.append(handle)
        if self._idle:
            self._idle = False
            self.lane.wake()

    call_soon_threadsafe = call_soon

    def call_later(
        self,
        delay: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> Handle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> Handle:
        handle = Handle(callback, args, context, when)
        clock = self.process.clock
        self.process.world.at(
            clock.world_time(max(when, clock.monotonic())) + RESOLUTION, partial(self._due, handle)
        )
        return handle

    def _due(self, handle: Handle) -> None:
        process = self.process
        if handle.is_cancelled or process.dead:
            return
        if process.paused_until > process.world.now:
            process.world.at(process.paused_until, partial(self._due, handle))
        elif process.clock.monotonic() < handle.moment:  # the machine has slept meanwhile
            process.world.at(
                process.clock.world_time(handle.moment) + RESOLUTION, partial(self._due, handle)
            )
        else:
            self._add(handle)

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self._self)

    def create_task(self, coro: Any, **options: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = (
            NumberedTask(coro, loop=self._self, **options)
            if self._factory is None
            else self._factory(self, coro, **options)
        )
        return task

    def set_task_factory(self, factory: Any) -> None:
        self._factory = factory

    def get_task_factory(self) -> Any:
        return self._factory

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:
        if executor is not None:
            return asyncio.wrap_future(executor.submit(func, *args), loop=self._self)
        future = self.create_future()

        def run() -> None:
            try:
                result = func(*args)
            except Exception as error:  # noqa: BLE001 - passed on to the caller
                self.call_soon_threadsafe(_settle, future, None, error)
            else:
                self.call_soon_threadsafe(_settle, future, result, None)

        Lane(self.process, run, "executor").start()
        return future

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self._on_error(context)

    get_debug = bool
    """Returns False; asked for each future, where a function in Python would take much of the time."""

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return self.process.dead

    def stop(self) -> None:
        raise RuntimeError("a simulated loop ends with its process")

    def unwind(self) -> None:
        """Close the coroutines that are left after the process was killed."""
        set_running_loop(
            self._self
        )  # for coroutines that start tasks while they are closed, which are closed as well
        for task in self.tasks:
            if not task.done():
                vars_of: Any = task
                vars_of._log_destroy_pending = False  # noqa: SLF001 - it is destroyed on purpose
                close(task.get_coro())
        set_running_loop(None)


def _settle(future: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
    if future.cancelled():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


def close(coroutine: Any) -> None:
    """Close a coroutine, also one that awaits something while it is closed."""
    for _ in range(100):
        try:
            coroutine.close()
        except BaseException:  # noqa: BLE001 - it awaits something in a `finally`; its process is dead
            continue
        return
