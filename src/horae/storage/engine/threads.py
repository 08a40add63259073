"""A thread pool for database calls, which does not keep a program from ending.

The standard library's executor joins its threads when the interpreter exits, even those that wait
for a reply that will never arrive.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Any, Final, ParamSpec, TypeVar

from typing_extensions import override

P = ParamSpec("P")
T = TypeVar("T")

SHUTDOWN_TIMEOUT: Final = 5.0
"""Seconds after which a program that ends no longer waits for a call.

They count from when the last call ended or the first began: a call that hung while a node stopped
is not waited for once more, in this pool or in the next one.
"""


class Threads(Executor):
    """A pool of daemon threads, which are started as work arrives, up to a limit."""

    def __init__(self, limit: int, name: str, shutdown_timeout: float = SHUTDOWN_TIMEOUT) -> None:
        self._limit, self._name, self._shutdown_timeout = limit, name, shutdown_timeout
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._idents: set[int] = set()
        self._unfinished = 0
        self._last_progress = 0.0
        self._closed = False
        self._lock = threading.Lock()

    @override
    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run the call on a thread; raises RuntimeError after `shutdown`, or if none can start."""
        future = Future[T]()
        self._accept(partial(_run_for_future, future, partial(fn, *args, **kwargs)))
        return future

    async def run(self, call: Callable[[], T]) -> T:
        """Run the call on one of the threads for a coroutine; raises what `submit` raises.

        Does the same as the event loop's `run_in_executor`, but quicker, because it needs one
        future instead of two.
        """
        # Not held here: the traceback of its error has this frame, so the two would form a cycle.
        return await self._begin(asyncio.get_running_loop(), call)

    def _begin(self, loop: asyncio.AbstractEventLoop, call: Callable[[], T]) -> "asyncio.Future[T]":
        future: asyncio.Future[T] = loop.create_future()
        self._accept(partial(_run_for_loop, loop, future, call))
        return future

    def _accept(self, work: Callable[[], None]) -> None:
        with self._lock:
            if self._closed:
                raise RuntimeError("this thread pool is shut down")
            if not self._unfinished:
                self._last_progress = time.monotonic()
            if self._unfinished >= len(self._threads) < self._limit:
                self._begin_thread()
            self._unfinished += 1
        self._work.put(work)

    @override
    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept no more calls; with `wait`, wait for the accepted ones, up to the timeout."""
        with self._lock:
            self._closed = True
        for _ in self._threads:
            self._work.put(None)
        deadline = time.monotonic() + self._shutdown_timeout - self.stalled_for
        for thread in self._threads if wait else ():
            if thread is not threading.current_thread():
                thread.join(max(deadline - time.monotonic(), 0.0))

    def is_here(self) -> bool:
        """Return whether the caller runs on one of these threads."""
        return threading.get_ident() in self._idents

    @property
    def waiting(self) -> int:
        """The number of calls that are waiting for a thread."""
        return max(self._unfinished - self._limit, 0)

    @property
    def stalled_for(self) -> float:
        """Seconds since the last call ended, or the pool was last idle; 0 while it is idle."""
        return time.monotonic() - self._last_progress if self._unfinished else 0.0

    def _begin_thread(self) -> None:
        thread = threading.Thread(
            target=self._serve, name=f"{self._name}-{len(self._threads)}", daemon=True
        )
        try:
            thread.start()
        except (RuntimeError, MemoryError):
            # The system has no threads left: the existing ones run the call when they are free.
            if not self._threads:
                raise
        else:
            self._threads.append(thread)

    def _serve(self) -> None:
        self._idents.add(threading.get_ident())
        while (work := self._work.get()) is not None:
            work()
            with self._lock:
                self._unfinished -= 1
                self._last_progress = time.monotonic()
            del work  # the variable would keep the last result until the next call


def _run_for_future(future: Future[T], call: Callable[[], T]) -> None:
    """Run a call on a thread, and pass its result on."""
    if future.set_running_or_notify_cancel():
        try:
            result = call()
        except BaseException as error:  # noqa: BLE001 - passed on to the caller
            future.set_exception(error)
        else:
            future.set_result(result)
    del future  # an error would refer to itself, by its traceback and this frame


def _run_for_loop(
    loop: asyncio.AbstractEventLoop, future: "asyncio.Future[T]", call: Callable[[], T]
) -> None:
    """Run a call on a thread, unless its caller was cancelled, and pass its result to the loop."""
    if future.cancelled():
        return
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001 - passed on to the caller
        settle: Callable[[], None] = partial(set_error, future, error)
    else:
        settle = partial(set_result, future, result)
    with suppress(RuntimeError):  # the loop has been closed, so nothing waits for the result
        loop.call_soon_threadsafe(settle)
    del future, settle  # an error would refer to itself, by its traceback and this frame


def set_result(future: "asyncio.Future[T]", result: T) -> None:
    """Set the result of a future, unless its coroutine was cancelled."""
    if not future.done():
        future.set_result(result)


def set_error(future: "asyncio.Future[Any]", error: BaseException) -> None:
    """Let the coroutine of a future raise this error, unless it was cancelled."""
    if future.done():
        return
    # No coroutine may raise it (PEP 479), and no future accepts it before Python 3.12.
    if isinstance(error, StopIteration):
        refused = RuntimeError("a call for a coroutine raised StopIteration")
        refused.__cause__ = error
        error = refused
    future.set_exception(error)
