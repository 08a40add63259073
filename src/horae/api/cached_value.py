"""An expensive value that is computed once for all callers, for a bounded share of the time."""

import threading
import time
from collections.abc import Callable
from typing import Final, Generic, TypeVar

T = TypeVar("T")

SHARE: Final = 0.1
"""Maximum share of the time that is spent on computing the value."""


class CachedValue(Generic[T]):
    """Caches the result of `make` for `seconds`, or longer if computing it took long.

    Thread-safe.
    """

    def __init__(
        self, make: Callable[[], T], seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._make, self._seconds, self._clock = make, seconds, clock
        self._lock = threading.Lock()
        self._answer: tuple[float, T] | None = None

    def get(self) -> T:
        """Return the value, computed now unless it is fresh; concurrent callers share one
        computation.
        """
        with self._lock:
            began = self._clock()
            if self._answer is not None and began < self._answer[0]:
                return self._answer[1]
            answer = self._make()
            ended = self._clock()
            self._answer = (ended + max(self._seconds, (ended - began) / SHARE), answer)
            return answer
