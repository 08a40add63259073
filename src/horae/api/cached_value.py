"""A costly answer that many ask for: made by one, used by all, and never for more than a share of the time."""

import threading
import time
from collections.abc import Callable
from typing import Final, Generic, TypeVar

T = TypeVar("T")

SHARE: Final = 0.1
"""The most of the time that is spent on making the answer."""


class CachedValue(Generic[T]):
    """Keeps the answer of `make` for `seconds`, and for longer if it took long to make."""

    def __init__(self, make: Callable[[], T], seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._make, self._seconds, self._clock = make, seconds, clock
        self._lock = threading.Lock()
        self._answer: tuple[float, T] | None = None

    def get(self) -> T:
        """The answer, made now unless it is fresh; whoever comes meanwhile waits and gets the same."""
        with self._lock:
            began = self._clock()
            if self._answer is not None and began < self._answer[0]:
                return self._answer[1]
            answer = self._make()
            ended = self._clock()
            self._answer = (ended + max(self._seconds, (ended - began) / SHARE), answer)
            return answer
