"""Limits the number of event streams, in total and per actor."""

import threading
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

from horae.api.problems import Refused


class TooManyStreams(Refused):
    """The limit of event streams is reached; the client can poll instead."""

    status, code = 429, "ERROR_TOO_MANY_STREAMS"


class StreamLimit:
    """Counts the open event streams. Thread-safe."""

    def __init__(self, most: int, most_each: int) -> None:
        self._most, self._most_each = most, most_each
        self._lock = threading.Lock()
        self._taken: Counter[str] = Counter()

    @contextmanager
    def taken_by(self, actor_id: str) -> Generator[None]:
        """Count a stream within the block; raises `TooManyStreams`."""
        with self._lock:
            if self._taken[actor_id] >= self._most_each:
                raise TooManyStreams(
                    f"limit of {self._most_each} event streams per user reached; see"
                    " HORAE_MAX_STREAMS_EACH"
                )
            if self._taken.total() >= self._most:
                raise TooManyStreams(
                    f"limit of {self._most} event streams reached; see HORAE_MAX_STREAMS"
                )
            self._taken[actor_id] += 1
        try:
            yield
        finally:
            with self._lock:
                self._taken[actor_id] -= 1
                self._taken += Counter()  # the addition drops actors without a stream
