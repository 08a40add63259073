"""What `threading`, `queue`, `time`, `random` and `secrets` are inside the simulation."""

import threading as real_threading
import time as real_time
from collections import deque
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, Generic, TypeVar

from tests.simulation import world
from tests.simulation.world import EPOCH, Lane, entered

T = TypeVar("T")
_idents = count(1000)


class Waiters:
    """The threads that wait for one thing."""

    def __init__(self) -> None:
        self._lanes: list[Lane] = []

    def wait(self, until: Callable[[], bool], timeout: float | None = None) -> bool:
        """Suspend the running thread until the condition holds; return whether it does."""
        here = world.current()
        if until():
            return True
        if timeout is not None and timeout <= 0:
            return False
        if timeout is None:
            while True:
                self.wait_once(None)
                if until():
                    return True
        end = here.now + here.running.process.clock.duration(timeout)
        while (left := end - here.now) > 0:
            self.wait_once(left)
            if until():
                return True
        return False

    def wait_once(self, seconds: float | None) -> None:
        """Suspend the running thread until the next `wake`, or for some virtual seconds."""
        here = entered[0]
        lane = here.running
        self._lanes.append(lane)
        try:
            here.wait(seconds)
        finally:
            if lane in self._lanes:
                self._lanes.remove(lane)

    def wake(self) -> None:
        """Let all of them check their conditions."""
        if self._lanes:
            lanes, self._lanes = self._lanes, []
            for lane in lanes:
                lane.wake()


class Event:
    """`threading.Event`."""

    def __init__(self) -> None:
        self._set = False
        self._waiters = Waiters()

    def is_set(self) -> bool:
        """Return whether it is set."""
        return self._set

    def set(self) -> None:
        """Wake the threads that wait."""
        self._set = True
        self._waiters.wake()

    def clear(self) -> None:
        """Let threads wait again."""
        self._set = False

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set."""
        return self._waiters.wait(self.is_set, timeout)


class Lock:
    """`threading.Lock` and `threading.RLock`."""

    reentrant = False

    def __init__(self) -> None:
        self._owner: Lane | None = None
        self._depth = 0
        self._waiters = Waiters()

    def _is_free(self) -> bool:
        return self._owner is None

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Acquire the lock."""
        lane = world.current().lane
        if self.reentrant and self._owner is lane and lane is not None:
            self._depth += 1
            return True
        if not self._is_free() and (
            not blocking or not self._waiters.wait(self._is_free, None if timeout < 0 else timeout)
        ):
            return False
        self._owner, self._depth = lane or _OUTSIDE, 1
        return True

    def release(self) -> None:
        """Release the lock."""
        self._depth -= 1
        if self._depth == 0:
            self._owner = None
            self._waiters.wake()

    def locked(self) -> bool:
        """Return whether some thread holds it."""
        return self._owner is not None

    def __enter__(self) -> bool:
        """Acquire the lock."""
        if self._owner is not None:
            return self.acquire()
        self._owner, self._depth = entered[0].lane or _OUTSIDE, 1
        return True

    def __exit__(self, *_: object) -> None:
        """Release the lock."""
        self.release()


class RLock(Lock):
    """`threading.RLock`."""

    reentrant = True

    def _is_owned(self) -> bool:
        return self._owner is not None and self._owner is world.current().lane


_OUTSIDE: Any = object()


class Condition:
    """`threading.Condition`, as far as Horae uses it."""

    def __init__(self, lock: Lock | None = None) -> None:
        self._lock = lock or RLock()
        self._waiters = Waiters()
        self._notified = 0

    def __enter__(self) -> bool:
        """Acquire the lock."""
        return self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        """Release the lock."""
        self._lock.release()

    def wait_for(self, predicate: Callable[[], Any], timeout: float | None = None) -> bool:
        """Wait until the predicate holds, without the lock meanwhile."""
        if predicate():
            return True
        self._lock.release()
        try:
            return self._waiters.wait(lambda: bool(predicate()), timeout)
        finally:
            self._lock.acquire()

    def notify(self, n: int = 1) -> None:
        """Let the threads that wait check again."""
        del n
        self._waiters.wake()

    notify_all = notify


class SimpleQueue(Generic[T]):
    """`queue.SimpleQueue`."""

    def __init__(self) -> None:
        self._items: deque[T] = deque()
        self._waiters = Waiters()

    def put(self, item: T) -> None:
        """Add an item."""
        self._items.append(item)
        self._waiters.wake()

    put_nowait = put

    def get(self) -> T:
        """Wait for an item and remove it."""
        while not self._items:
            self._waiters.wait_once(None)
        return self._items.popleft()


class Thread:
    """`threading.Thread`."""

    def __init__(
        self,
        group: None = None,
        target: Callable[..., object] | None = None,
        name: str | None = None,
        args: Any = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        daemon: bool | None = None,
    ) -> None:
        del group
        self.name, self.daemon = name or "thread", daemon
        self.ident = next(_idents)
        self._target, self._args, self._kwargs = target, args, kwargs or {}
        self._lane: Lane | None = None
        self._over = Event()

    def run(self) -> None:
        """Call the target."""
        if self._target is not None:
            self._target(*self._args, **self._kwargs)

    def start(self) -> None:
        """Start the thread in the process of the running one."""
        process = world.current_process()
        if process is None:
            raise RuntimeError("can't start new thread outside of a simulated process")
        self._lane = Lane(process, self.run, self.name)
        self._lane.when_over.append(self._over.set)
        self._lane.start()

    def is_alive(self) -> bool:
        """Return whether it runs."""
        return self._lane is not None and not self._lane.over

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end."""
        self._over.wait(timeout)


class SimulatedThreading:
    """The module `threading`."""

    Thread, Event, Lock, RLock, Condition = Thread, Event, Lock, RLock, Condition

    def get_ident(self) -> int:
        """Return a number of the running thread."""
        lane = entered[0].lane
        return real_threading.get_ident() if lane is None else id(lane)

    def __getattr__(self, name: str) -> Any:
        """Return what is not simulated."""
        return getattr(real_threading, name)


class SimulatedTime:
    """The module `time`, by the clocks of the running process."""

    def monotonic(self) -> float:
        """Return the process's monotonic clock."""
        here = entered[0]
        return here.now if here.lane is None else here.lane.process.clock.monotonic()

    perf_counter = monotonic

    def time(self) -> float:
        """Return the process's wall clock."""
        process = world.current_process()
        return EPOCH + world.current().now if process is None else process.clock.wall()

    def time_ns(self) -> int:
        """Return the process's wall clock in nanoseconds."""
        return int(self.time() * 1e9)

    def sleep(self, seconds: float) -> None:
        """Suspend the running thread."""
        here = world.current()
        here.wait(here.running.process.clock.duration(seconds))

    def __getattr__(self, name: str) -> Any:
        """Return what is not simulated."""
        return getattr(real_time, name)


def boot_time() -> float:
    """Return the process's clock that continues while the machine sleeps."""
    process = world.current_process()
    return world.current().now if process is None else process.clock.boot_time()


class SimulatedRandom:
    """The module `random`: the random numbers of the running process."""

    def uniform(self, low: float, high: float) -> float:
        """Return a random number."""
        process = world.current_process()
        return (world.current().order if process is None else process.random).uniform(low, high)


class SimulatedSecrets:
    """The module `secrets`, which keeps no secrets here."""

    def token_hex(self, count: int) -> str:
        """Return random hexadecimal digits."""
        return f"{self.randbits(count * 8):0{count * 2}x}"

    def randbits(self, count: int) -> int:
        """Return a random number."""
        process = world.current_process()
        return (world.current().order if process is None else process.random).getrandbits(count)
