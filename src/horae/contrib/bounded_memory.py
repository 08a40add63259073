"""A bounded memory of runs, for integrations that see their begin and later their result."""

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Memory(Generic[K, V]):
    """The latest values by key; the oldest is forgotten when there are too many. Thread-safe."""

    def __init__(self, most: int = 10_000) -> None:
        self._values: OrderedDict[K, V] = OrderedDict()
        self._most = most
        self._lock = threading.Lock()

    def put(self, key: K, value: V) -> None:
        """Remember a value in place of an earlier one."""
        with self._lock:
            self._values.pop(key, None)
            self._values[key] = value
            if len(self._values) > self._most:
                self._values.popitem(last=False)

    def take(self, key: K) -> V | None:
        """Return a value and forget it."""
        with self._lock:
            return self._values.pop(key, None)
