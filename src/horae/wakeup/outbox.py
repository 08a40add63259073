"""A queue that merges the waiting hints into one of each kind and delivers them on a thread.

The first hint is delivered at once. Hints that are added during a delivery, or within `interval`
seconds after it, wait and are merged. So a quiet system adds no latency, and a busy one sends no
more often than the interval allows.
"""

import atexit
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Final
from weakref import WeakSet

from horae.domain.backoff import retry_delay
from horae.forking import BuiltAnewInChild
from horae.guarded_log import guarded_log
from horae.receiving_thread import RECONNECT
from horae.wakeup.channel import Hint, HintKind

MOST_IDS: Final = 1000
"""Maximum number of job ids in one hint.

A hint for more jobs has no ids, which means any job: an outage must not fill the memory.
"""

CLOSE_WITHIN: Final = 5.0
"""Seconds that `close` waits for the last delivery."""
CLOSE_AT_EXIT_WITHIN: Final = 0.5
"""Seconds by which waiting hints may delay the exit of a program."""

_log = guarded_log(__name__)


class Merged:
    """At most one hint of each kind, with the ids of all hints that were added."""

    def __init__(self) -> None:
        self._hints: dict[HintKind, Hint] = {}

    def __bool__(self) -> bool:
        """Return whether there is a hint."""
        return bool(self._hints)

    def add(self, hint: Hint) -> None:
        """Merge a hint with the one of its kind; if either has no ids, the result has none."""
        if (before := self._hints.get(hint.kind)) is not None:
            ids = tuple(dict.fromkeys((*before.job_ids, *hint.job_ids)))
            # All nodes respond to the merged hint if they must to either.
            counts, seeds = (before.count, hint.count), (before.seed, hint.seed)
            hint = Hint(
                hint.kind,
                ids if before.job_ids and hint.job_ids else (),
                count=None if None in counts else sum(count or 0 for count in counts),
                seed=None if None in seeds else hint.seed,
                busy=tuple(dict.fromkeys((*before.busy, *hint.busy))),
            )
        if len(hint.job_ids) > MOST_IDS:
            hint = replace(hint, job_ids=())
        self._hints[hint.kind] = hint

    def take(self) -> list[Hint]:
        """Remove and return all hints."""
        taken, self._hints = self._hints, {}
        return list(taken.values())


class Outbox(BuiltAnewInChild):
    """Calls `deliver` with merged hints, on a thread that starts with the first one.

    If `deliver` raises, the hints are merged with later ones and tried again with back-off.
    """

    def __init__(
        self,
        name: str,
        deliver: Callable[[Sequence[Hint]], None],
        *,
        interval: float = 0.0,
        on_failure: Callable[[Exception], None] | None = None,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        """Leave at least `interval` seconds between two deliveries.

        `on_failure`: called after each failed delivery; by default the first of a series is logged.
        `on_end`: called by the thread after its last delivery, to close what it has opened.
        """
        self._name = name
        self._deliver = deliver
        self._on_failure, self._on_end = on_failure, on_end
        self._interval = interval
        # Random delays spread the retries of many processes; they protect nothing.
        self._random = Random()
        self._closing = threading.Event()
        self._merged = Merged()
        self._filled = threading.Condition()
        self._thread: threading.Thread | None = None
        self._failures = 0
        _made.add(self)

    def put(self, hint: Hint) -> None:
        """Deliver the hint soon; after `close` it is dropped. Never blocks and never raises."""
        with self._filled:
            if self._closing.is_set():
                return
            self._merged.add(hint)
            self._filled.notify()
            # After a fork made in C the thread is not alive.
            if self._thread is None or not self._thread.is_alive():
                thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                try:
                    thread.start()
                except RuntimeError as error:  # the interpreter is ending, or no thread is left
                    _log.debug("%s cannot start: %s", self._name, error)
                else:
                    self._thread = thread

    def close(self, within: float = CLOSE_WITHIN) -> bool:
        """Deliver the waiting hints and stop.

        Return whether the thread has ended within so many seconds.
        """
        with self._filled:
            self._closing.set()
            self._filled.notify()
            thread = self._thread
        if thread is None:
            return True
        if thread is not threading.current_thread():
            thread.join(within)
        return not thread.is_alive()

    def _run(self) -> None:
        try:
            while True:
                with self._filled:
                    self._filled.wait_for(lambda: self._merged or self._closing.is_set())
                    hints = self._merged.take()
                if not hints:
                    return
                try:
                    self._deliver(hints)
                except Exception as error:  # noqa: BLE001 - the thread must survive
                    if self._on_failure is not None:
                        self._on_failure(error)
                    elif not self._failures:
                        _log.warning("%s cannot send hints and keeps trying: %s", self._name, error)
                    self._failures += 1
                    with self._filled:
                        if self._closing.is_set():  # this was the last attempt
                            return
                        for hint in hints:
                            self._merged.add(hint)
                    delay = retry_delay(self._failures, RECONNECT, self._random)
                    self._closing.wait(delay.total_seconds())
                else:
                    self._failures = 0
                    if self._interval:
                        self._closing.wait(self._interval)
        finally:
            self._on_end()


_made: Final = WeakSet[Outbox]()


@atexit.register
def _close_all() -> None:
    """Deliver what waits when a program ends without closing its application.

    A lost hint would delay its job until nodes poll.
    """
    deadline = time.monotonic() + CLOSE_AT_EXIT_WITHIN
    for outbox in list(_made):
        outbox.close(max(0.0, deadline - time.monotonic()))
