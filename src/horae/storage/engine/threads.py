"""Threads for calls of the database, which nobody has to wait for when a program ends.

The standard library's executor joins its threads when the interpreter ends, also those that hang in a connection on
which nothing will ever arrive.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from queue import SimpleQueue
from typing import Any, Final, ParamSpec, TypeAlias, TypeVar

from typing_extensions import override

P = ParamSpec("P")
T = TypeVar("T")
Work: TypeAlias = tuple[Future[Any], Callable[[], Any]]

PATIENCE: Final = 5.0
"""Seconds that calls have to end when the threads are closed."""


class Threads(Executor):
    """As many daemon threads as there is work for, up to a limit."""

    def __init__(self, limit: int, name: str) -> None:
        self._limit, self._name = limit, name
        self._work: SimpleQueue[Work | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._idents: set[int] = set()
        self._unfinished = 0
        self._moved = 0.0
        self._closed = False
        self._lock = threading.Lock()

    @override
    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run the call on one of the threads; raises RuntimeError once they are closed."""
        future = Future[T]()
        with self._lock:
            if self._closed:
                raise RuntimeError("these threads are closed")
            if not self._unfinished:
                self._moved = time.monotonic()
            self._unfinished += 1
            if self._unfinished > len(self._threads) < self._limit:
                self._begin_thread()
        self._work.put((future, lambda: fn(*args, **kwargs)))
        return future

    @override
    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls; `wait` for those that there are, but not for ever."""
        with self._lock:
            self._closed = True
        for _ in self._threads:
            self._work.put(None)
        deadline = time.monotonic() + PATIENCE
        for thread in self._threads if wait else ():
            if thread is not threading.current_thread():
                thread.join(max(deadline - time.monotonic(), 0.0))

    def is_here(self) -> bool:
        """Whether the caller runs on one of these threads."""
        return threading.get_ident() in self._idents

    @property
    def waiting(self) -> int:
        """How many calls have no thread yet."""
        return max(self._unfinished - self._limit, 0)

    @property
    def stalled_for(self) -> float:
        """Seconds since a call has ended, or since there was nothing to do."""
        return time.monotonic() - self._moved if self._unfinished else 0.0

    def _begin_thread(self) -> None:
        thread = threading.Thread(target=self._serve, name=f"{self._name}-{len(self._threads)}", daemon=True)
        thread.start()
        self._threads.append(thread)

    def _serve(self) -> None:
        self._idents.add(threading.get_ident())
        while (work := self._work.get()) is not None:
            future, call = work
            if future.set_running_or_notify_cancel():
                try:
                    result = call()
                except BaseException as error:  # noqa: BLE001 - it is the caller's
                    future.set_exception(error)
                else:
                    future.set_result(result)
                    del result
            with self._lock:
                self._unfinished -= 1
                self._moved = time.monotonic()
            del work, future, call  # else the last result lives until the next call
