"""How many streams of events there may be: in all, and of one actor."""

import threading
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

from horae.api.problems import Refused


class TooManyStreams(Refused):
    """Each stream keeps a connection; whoever has this many may poll."""

    status, code = 429, "ERROR_TOO_MANY_STREAMS"


class Places:
    """The places of all who listen. Thread-safe."""

    def __init__(self, most: int, most_each: int) -> None:
        self._most, self._most_each = most, most_each
        self._lock = threading.Lock()
        self._taken: Counter[str] = Counter()

    @contextmanager
    def taken_by(self, actor_id: str) -> Generator[None]:
        """Keep a place for as long as the block runs; raises `TooManyStreams`."""
        with self._lock:
            if self._taken[actor_id] >= self._most_each:
                raise TooManyStreams(f"you listen {self._most_each} times already; see HORAE_MAX_STREAMS_EACH")
            if self._taken.total() >= self._most:
                raise TooManyStreams(f"{self._most} listen already; see HORAE_MAX_STREAMS")
            self._taken[actor_id] += 1
        try:
            yield
        finally:
            with self._lock:
                self._taken[actor_id] -= 1
                self._taken += Counter()  # forgets who has gone
