"""Resets locks and threads in a forked child, which has only the thread that forked.

A lock that another thread held at the moment of the fork would stay locked in the child for ever.
"""

import os
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Final, Generic, Protocol, Self, TypeVar, overload
from weakref import WeakSet


class ResetAfterFork(Protocol):
    """An object that a forked child has to reset before it can use it."""

    def reset_after_fork(self) -> None:
        """Drop locks, threads and connections of the parent.

        Called in the child before any other code runs.
        """
        ...


PATIENCE: Final = 1.0
"""Seconds that a fork waits for threads which use a SQLite file."""

T = TypeVar("T", bound=ResetAfterFork)
H = TypeVar("H", bound="HasLock")
M = TypeVar("M")
_in_this_process = WeakSet[ResetAfterFork]()


def register_for_reset(thing: T) -> T:
    """Register `thing` to be reset in every forked child, for as long as it lives."""
    _in_this_process.add(thing)
    return thing


class ForkSafeLock:
    """A lock that is free in a forked child."""

    def __init__(self, *, reentrant: bool = False) -> None:
        self._make = threading.RLock if reentrant else threading.Lock
        self._lock = self._make()
        register_for_reset(self)

    def __enter__(self) -> None:
        """Acquire the lock."""
        self._lock.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Release the lock."""
        self._lock.release()

    def reset_after_fork(self) -> None:
        """Replace the lock by a free one."""
        self._lock = self._make()


class HasLock(Protocol):
    """An object whose parts are made under one lock, which is reentrant."""

    opening: ForkSafeLock


class lazy_property(Generic[H, M]):  # noqa: N801 - reads as the decorator that it is
    """A property that is computed at its first use, by one thread, and kept in the instance's
    `__dict__`.

    `functools.cached_property` has a lock of its own in Python 3.11, which a fork may leave locked,
    and no lock later.
    """

    def __init__(self, make: Callable[[H], M]) -> None:
        self._make, self._name, self.__doc__ = make, make.__name__, make.__doc__

    @overload
    def __get__(self, instance: None, owner: type[H]) -> Self: ...
    @overload
    def __get__(self, instance: H, owner: type[H]) -> M: ...
    def __get__(self, instance: H | None, owner: type[H]) -> Self | M:
        """Return the value; compute it if no other thread has done so meanwhile."""
        if instance is None:
            return self
        with instance.opening:
            kept = vars(instance)
            if self._name not in kept:
                kept[self._name] = self._make(instance)
            made: M = kept[self._name]
            return made


class ForkGate:
    """Makes a fork wait until no thread uses a SQLite file, for at most `PATIENCE`.

    SQLite tracks the locks of a file in the memory of the process: a lock that a thread of the
    parent holds at the fork would seem held for ever in the child.
    """

    def __init__(self) -> None:
        self.reset_after_fork()
        register_for_reset(self)
        os.register_at_fork(before=self._close, after_in_parent=self._open)

    def reset_after_fork(self) -> None:
        """Reset the gate: no thread is inside."""
        self._within, self._closed = 0, False
        # Each statement acquires the lock directly, because `with` takes longer with a condition.
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)

    def __enter__(self) -> None:
        """Wait while a fork is in progress."""
        with self._lock:
            if self._closed:
                self._changed.wait_for(lambda: not self._closed, PATIENCE)
            self._within += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Let a waiting fork proceed."""
        with self._lock:
            self._within -= 1
            if self._closed:
                self._changed.notify_all()

    def _close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: not self._within, PATIENCE)

    def _open(self) -> None:
        with self._changed:
            self._closed = False
            self._changed.notify_all()


def _reset_all() -> None:
    for thing in list(_in_this_process):
        try:
            thing.reset_after_fork()
        except Exception as error:  # noqa: BLE001 - the others would stay as the parent had them
            sys.excepthook(type(error), error, error.__traceback__)


os.register_at_fork(after_in_child=_reset_all)  # as of a server that forks its workers
SQLITE_GATE: Final = ForkGate()
