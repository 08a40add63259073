"""Coalescing: hints that wait become one of each kind, and leave on a thread of the outbox.

The first hint leaves at once. Whatever comes while one is leaving, or within `interval` seconds after it, waits and
merges. So a quiet system adds no latency, and a busy one sends no more often than the interval allows.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from datetime import timedelta
from random import Random
from typing import Final

from horae.domain.backoff import Backoff, retry_delay
from horae.domain.jobs.job import JobId
from horae.forking import begins_anew_after_fork
from horae.wakeup.channel import Hint, HintKind

MOST_IDS: Final = 1000
"""Past this a hint says "look for yourself": an outage must not fill the memory."""

BACKOFF: Final = Backoff(base=timedelta(milliseconds=100), cap=timedelta(seconds=5), jitter=0.5)

_log = logging.getLogger(__name__)


class Merged:
    """At most one hint of each kind, with the ids of all that were added."""

    def __init__(self) -> None:
        self._ids: dict[HintKind, dict[JobId, None] | None] = {}

    def __bool__(self) -> bool:
        """Whether there is a hint in it."""
        return bool(self._ids)

    def add(self, hint: Hint) -> None:
        """Unite the hint with what is there; without ids it swallows those of its kind."""
        ids = self._ids.setdefault(hint.kind, {})
        if ids is None:
            return
        ids.update(dict.fromkeys(hint.job_ids))
        if not hint.job_ids or len(ids) > MOST_IDS:
            self._ids[hint.kind] = None

    def take(self) -> list[Hint]:
        """Hand over all hints, and be empty."""
        taken, self._ids = self._ids, {}
        return [Hint(kind, tuple(ids or ())) for kind, ids in taken.items()]


class Outbox:
    """Calls `deliver` with merged hints, on a thread that starts with the first one.

    If `deliver` raises, the hints stay, merge with what comes, and are tried again with back-off.
    """

    def __init__(self, name: str, deliver: Callable[[Sequence[Hint]], None], *, interval: float = 0.0) -> None:
        """`interval`: the shortest time in seconds between two deliveries."""
        self._name = name
        self._deliver = deliver
        self._interval = interval
        self._random = Random()  # noqa: S311 - spreads rivals, guards nothing
        self._begin(threading.Event())
        begins_anew_after_fork(self)

    def _begin(self, closing: threading.Event) -> None:
        self._closing = closing
        self._merged = Merged()
        self._filled = threading.Condition()
        self._thread: threading.Thread | None = None
        self._failures = 0

    def begin_anew(self) -> None:
        """After a fork: what waits there, the parent sends."""
        closing = threading.Event()
        if self._closing.is_set():
            closing.set()
        self._begin(closing)

    def put(self, hint: Hint) -> None:
        """Let the hint leave soon; after `close` it is dropped. Never blocks and never raises."""
        with self._filled:
            if self._closing.is_set():
                return
            self._merged.add(hint)
            self._filled.notify()
            if self._thread is None or not self._thread.is_alive():  # not alive: after a fork made in C
                self._start()

    def close(self, patience: float = 5.0) -> bool:
        """Deliver what waits and stop; whether the thread has ended within `patience` seconds."""
        with self._filled:
            self._closing.set()
            self._filled.notify()
            thread = self._thread
        if thread is None:
            return True
        if thread is not threading.current_thread():
            thread.join(patience)
        return not thread.is_alive()

    def _start(self) -> None:
        thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # the interpreter is ending, or there are no threads left
            _log.debug("%s cannot start: %s", self._name, error)
        else:
            self._thread = thread

    def _run(self) -> None:
        while hints := self._next():
            self._attempt(hints)
            if self._failures:
                delay = retry_delay(self._failures, BACKOFF, self._random)
                self._closing.wait(delay.total_seconds())
            elif self._interval:
                self._closing.wait(self._interval)

    def _next(self) -> list[Hint]:
        """Wait for hints; none once closed."""
        with self._filled:
            self._filled.wait_for(lambda: self._merged or self._closing.is_set())
            return self._merged.take()

    def _attempt(self, hints: Sequence[Hint]) -> None:
        try:
            self._deliver(hints)
        except Exception as error:  # noqa: BLE001 - hints are never worth a thread
            if not self._failures:
                _log.warning("%s cannot pass hints on, and goes on trying: %s", self._name, error)
            self._failures += 1
            self._keep(hints)
        else:
            self._failures = 0

    def _keep(self, hints: Sequence[Hint]) -> None:
        with self._filled:
            if self._closing.is_set():  # that was the last try
                self._merged = Merged()
                return
            for hint in hints:
                self._merged.add(hint)
