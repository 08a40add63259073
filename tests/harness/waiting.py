"""Waits for what a test can be notified of, without polling: signals, log lines, threads, transactions, records."""

import asyncio
import inspect
import logging
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Final, Protocol, TypeVar

import pytest
from typing_extensions import override

from horae import Horae
from horae.storage.engine import Database

PATIENCE: Final = 20.0
"""Seconds after which a wait has failed: an upper bound, not a measurement."""

T = TypeVar("T")


class Awaited(Protocol):
    """Something that happens again and again, such as a signal of a node."""

    def wait(self) -> asyncio.Future[None]:
        """Return a future that is done when it happens the next time."""
        ...


class Changes:
    """Tells the tasks that wait of a change. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[asyncio.Future[None]] = []

    def notify(self) -> None:
        """Wake all tasks that wait; called on any thread."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for future in waiting:
            with suppress(RuntimeError):  # its loop has ended, and the test with it
                future.get_loop().call_soon_threadsafe(_finish, future)

    def wait(self) -> asyncio.Future[None]:
        """Return a future that is done after the next change."""
        future = asyncio.get_running_loop().create_future()
        with self._lock:
            self._waiting.append(future)
        return future


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


async def until_after(
    changes: Awaited, condition: Callable[[], Any], within: float = PATIENCE
) -> Any:
    """Return the first true value of the condition, which is checked now and after each change; or `TimeoutError`."""
    async with asyncio.timeout(within):
        while True:
            changed = changes.wait()
            answer = condition()
            found = await answer if inspect.isawaitable(answer) else answer
            if found:
                return found
            await changed


class Record(list[T]):
    """A list to which bodies, hooks and patched functions append on any thread, and on which a test can wait."""

    def __init__(self) -> None:
        super().__init__()
        self._changes = Changes()

    @override
    def append(self, item: T, /) -> None:
        super().append(item)
        self._changes.notify()

    @override
    def extend(self, items: Iterable[T], /) -> None:
        super().extend(items)
        self._changes.notify()

    async def reaches(self, count: int, within: float = PATIENCE) -> None:
        """Wait until it has at least so many items; raises TimeoutError."""
        await until_after(self._changes, lambda: len(self) >= count, within)

    async def until(self, condition: Callable[[], Any], within: float = PATIENCE) -> None:
        """Wait until the condition on its items holds; raises TimeoutError."""
        await until_after(self._changes, condition, within)


class _Notifier(logging.Handler):
    """Notifies of each log record."""

    def __init__(self, changes: Changes) -> None:
        super().__init__()
        self._changes = changes

    @override
    def emit(self, record: logging.LogRecord) -> None:
        self._changes.notify()


async def until_logged(caplog: pytest.LogCaptureFixture, *texts: str) -> None:
    """Wait until each of these texts has been logged; raises TimeoutError."""
    changes = Changes()
    notifier = _Notifier(changes)
    logging.getLogger().addHandler(
        notifier
    )  # after the one that captures, so it notifies of what is captured already
    try:
        await until_after(changes, lambda: all(text in caplog.text for text in texts))
    finally:
        logging.getLogger().removeHandler(notifier)


async def until_stored(horae: Horae, condition: Callable[[], T], within: float = PATIENCE) -> T:
    """Return the first true value of the condition, checked after each transaction of this application.

    For changes that no signal announces. The condition queries the database on this thread, whose own statements do not
    count. A change by another process is noticed at the next statement of this application.
    """
    with _transactions(horae) as changes:
        found: T = await until_after(changes, condition, within)
        return found


@contextmanager
def _transactions(horae: Horae) -> Generator[Changes]:
    """Notify after the statements and transactions of other threads.

    The method of this one database is replaced: a listener must not be added to an engine that other threads use.
    """
    changes, own, database = Changes(), threading.get_ident(), horae.components.database
    run = vars(database).get("_run") or partial(vars(Database)["_run"], database)

    def notifying(*args: Any, **kwargs: Any) -> Any:
        try:
            return run(*args, **kwargs)
        finally:
            if threading.get_ident() != own:
                changes.notify()

    vars(database)["_run"] = notifying
    try:
        yield changes
    finally:
        vars(database)["_run"] = run


async def until_ended(thread: threading.Thread) -> None:
    """Wait until the thread has ended; raises TimeoutError."""
    await asyncio.to_thread(thread.join, PATIENCE)
    if thread.is_alive():
        raise TimeoutError


async def until_acquired(semaphore: threading.Semaphore) -> None:
    """Acquire the semaphore, which bodies release; raises TimeoutError."""
    if not await asyncio.to_thread(semaphore.acquire, timeout=PATIENCE):
        raise TimeoutError
