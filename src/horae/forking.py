"""Builds locks, threads and connections anew in a forked child.

The child has only the thread that forked: a lock that another thread held at that moment would stay
locked for ever. Its connections are the parent's: to close one, even as garbage, would end the
parent's session.
"""

import gc
import os
import sys
import threading
from collections.abc import Callable
from typing import Any, Final, Generic, Protocol, Self, TypeVar, overload
from weakref import WeakSet

PATIENCE: Final = 1.0
"""Seconds that a fork waits for threads which use a SQLite file."""

H = TypeVar("H", bound="HasLock")
M = TypeVar("M")
_of_the_parent: Final[list[object]] = []
_known_process: Final = [os.getpid()]
"""The process for which everything was built, or has begun again."""
_noticing: Final = threading.Lock()


class BuiltAnewInChild:
    """An object that begins again in a forked child, because of its locks, threads or connections.

    Its constructor runs again on the same object, with the same arguments, so that everybody who
    holds it can go on using it.
    """

    def __new__(cls, *given: Any, **named: Any) -> Self:
        """Remember the arguments for the constructor."""
        made = super().__new__(cls)
        made._given, made._named = given, named
        _in_this_process.add(made)
        return made

    def begin_in_child(self) -> None:
        """Begin again, before any other code runs in the child; nothing of the parent is closed."""
        of_the_parent = dict(vars(self))
        _of_the_parent.append(of_the_parent)
        vars(self).clear()
        self._given, self._named = of_the_parent["_given"], of_the_parent["_named"]
        # Sound, because these are the arguments that the same class was called with.
        self.__init__(*self._given, **self._named)  # type: ignore[misc]


_in_this_process: Final = WeakSet[BuiltAnewInChild]()


class ForkSafeLock(BuiltAnewInChild):
    """A lock that is free in a forked child."""

    def __init__(self, *, reentrant: bool = False) -> None:
        self._lock = threading.RLock() if reentrant else threading.Lock()

    def __enter__(self) -> None:
        """Acquire the lock."""
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        """Release the lock."""
        self._lock.release()


class HasLock(Protocol):
    """An object whose parts are made under one lock, which is reentrant."""

    opening: ForkSafeLock


class lazy_property(Generic[H, M]):  # noqa: N801 - reads as the decorator that it is
    """A property computed at its first use, by one thread, and kept in the instance's `__dict__`.

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
        _notice_fork()
        kept = vars(instance)
        made: M
        try:
            made = kept[self._name]
        except KeyError:
            with instance.opening:
                if self._name not in kept:
                    kept[self._name] = self._make(instance)
                made = kept[self._name]
        return made

    def __set__(self, instance: H, value: M) -> None:
        """Replace the value. With this method, Python calls `__get__` also for a kept value."""
        vars(instance)[self._name] = value


class ForkGate(BuiltAnewInChild):
    """Makes a fork wait until no thread uses a SQLite file, for at most `PATIENCE`.

    SQLite tracks the locks of a file in the memory of the process: a lock that a thread of the
    parent holds at the fork would seem held for ever in the child.
    """

    def __init__(self) -> None:
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

    def __exit__(self, *_: object) -> None:
        """Let a waiting fork proceed."""
        with self._lock:
            self._within -= 1
            if self._closed:
                self._changed.notify_all()

    def close(self) -> None:
        """Wait until no thread is inside, and let none in."""
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: not self._within, PATIENCE)

    def open(self) -> None:
        """Let threads in again."""
        with self._changed:
            self._closed = False
            self._changed.notify_all()


def _begin_in_child() -> None:
    # Garbage of the parent must not be collected here: it may hold connections, and SQLite frees
    # their memory under a lock that another thread of the parent may have held at the fork.
    gc.freeze()
    for thing in list(_in_this_process):
        try:
            thing.begin_in_child()
        except Exception as error:  # noqa: BLE001 - the other objects must be built anew as well
            sys.excepthook(type(error), error, error.__traceback__)
    _known_process[0] = os.getpid()


def _notice_fork() -> None:
    """Begin again in a child that was forked without Python's hooks, as uWSGI forks its workers."""
    if _known_process[0] != os.getpid():
        with _noticing:
            if _known_process[0] != os.getpid():  # no other thread of the child has done so
                _begin_in_child()


SQLITE_GATE: Final = ForkGate()
os.register_at_fork(
    before=SQLITE_GATE.close, after_in_parent=SQLITE_GATE.open, after_in_child=_begin_in_child
)
