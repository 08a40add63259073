"""The one place in a process that watches for changes, for all who listen: one thread, one look a second.

It looks at once when a hint comes, and not at all when nobody listens. What it saw lately is kept, so that a client
that lost its connection goes on where it was. Whoever cannot be told everything is told so, and reads for himself:
`hello` without `resumed`, or `reset`.
"""

import logging
import secrets
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from horae.api.stream.audience import Audience
from horae.api.stream.event import Event, News, hello, message
from horae.api.stream.listener import Listener
from horae.api.stream.sources import Source
from horae.wakeup.channel import Hint, WakeupChannel

EVERY: Final = 1.0
"""Seconds between two looks."""
PACE: Final = 0.2
"""The least of seconds between two looks, however many hints come."""
AFTER_FAILURE: Final = 3.0
KEPT: Final = 5000
"""Events that a client may have missed and still resume."""
MANY: Final = 200
"""Changes in one look that staff are told one by one; past it they are told to read for themselves."""

log = logging.getLogger("horae.api.events")


class Hub:
    """Tells every listener what it may see. Thread-safe."""

    def __init__(self, sources: Callable[[], Sequence[Source]], wakeup: WakeupChannel) -> None:
        """`sources` makes fresh ones, which begin to look from now on."""
        self._make_sources, self._wakeup = sources, wakeup
        self._lock = threading.Lock()
        self._hinted = threading.Event()
        self._audience = Audience()
        self._newcomers: list[Listener] = []
        self._kept: deque[Event] = deque(maxlen=KEPT)
        self._number = 0
        self._token = ""
        self._seeing = False
        self._lost = False
        self._closing = False
        self._thread: threading.Thread | None = None

    @property
    def listening(self) -> int:
        """How many listen now."""
        return len(self._audience.listeners)

    def join(self, listener: Listener, last_event_id: str | None) -> None:
        """Let somebody listen, from `last_event_id` on if that was not long ago. Call it on the listener's loop."""
        with self._lock:
            if self._closing:
                listener.close()
                return
            missed = self._missed(listener, last_event_id)
            self._audience.add(listener)
            if not self._seeing:  # greeted once it looks, or a change between his reading and our looking would be lost
                self._newcomers.append(listener)
            else:
                listener.offer([self._hello(missed), *(missed or ())])
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="horae-events", daemon=True)
                self._thread.start()

    def leave(self, listener: Listener) -> None:
        """Let somebody go; harmless if he has gone."""
        with self._lock:
            self._audience.remove(listener, time.monotonic())

    def close(self) -> None:
        """End all streams and the thread; who comes later is served again."""
        with self._lock:
            listeners, self._audience, self._newcomers = self._audience.listeners, Audience(), []
            thread = self._thread
            self._closing = thread is not None
            self._hinted.set()
        for listener in listeners:
            _call(listener, listener.close)
        if thread is not None:
            thread.join(AFTER_FAILURE)

    def _run(self) -> None:
        self._token = secrets.token_hex(4)
        sources = self._make_sources()

        def hear(hint: Hint) -> None:
            for source in sources:
                source.hear(hint)
            self._hinted.set()

        unsubscribe = self._wakeup.subscribe(hear)
        try:
            while not self._has_ended():
                began = time.monotonic()
                pause = EVERY if self._attempt(sources) else AFTER_FAILURE
                self._hinted.wait(pause - (time.monotonic() - began))
                self._hinted.clear()
                time.sleep(max(0.0, began + PACE - time.monotonic()))
        finally:
            unsubscribe()

    def _has_ended(self) -> bool:
        with self._lock:
            if self._audience.forget(time.monotonic()) and not self._closing:
                return False
            # What happens from now on is seen by nobody, so nobody can go on from what is kept.
            self._kept.clear()
            self._thread, self._seeing, self._closing, self._lost = None, False, False, False
            return True

    def _attempt(self, sources: Sequence[Source]) -> bool:
        try:
            found = [(source, source.look(self._audience.wants)) for source in sources]
        except Exception as error:  # noqa: BLE001 - whatever it is, those who listen are still there
            log.warning("changes cannot be seen now, and are looked for again: %s", error)
            self._lost = True  # what was found before it failed is not found again
            return False
        told = [news for _, each in found for news in each or ()]
        flooded = [source for source, each in found if each is None]
        with self._lock:
            self._publish(self._events(told))
            if self._lost or flooded:
                self._publish(self._resets(to_all=self._lost or not all(source.staff_only for source in flooded)))
            self._seeing, self._lost = True, False
            newcomers, self._newcomers = self._newcomers, []
            for listener in newcomers:
                _call(listener, partial(listener.offer, [self._hello(None)]))
        return True

    def _events(self, told: Sequence[News]) -> list[Event]:
        few = len(told) <= MANY
        events = [
            Event(number, message(each.name, each.data, self._identity(number)), each.owner, to_staff=few)
            for number, each in enumerate(told, self._number + 1)
        ]
        self._number += len(events)
        return events if few else [*events, *self._resets(to_all=False)]

    def _resets(self, *, to_all: bool) -> list[Event]:
        self._number += 1
        data = message("reset", "{}", self._identity(self._number))
        return [Event(self._number, data, to_owner=False, to_all=to_all)]

    def _publish(self, events: Sequence[Event]) -> None:
        if not events:
            return
        self._kept.extend(events)
        deliveries: defaultdict[object, list[Callable[[], None]]] = defaultdict(list)
        for listener in self._audience.listeners:
            if mine := [event for event in events if event.is_for(listener.actor)]:
                deliveries[listener.loop].append(partial(listener.offer, mine))
        for listener in {each.loop: each for each in self._audience.listeners}.values():
            _call(listener, partial(_all, deliveries[listener.loop]))

    def _missed(self, listener: Listener, last_event_id: str | None) -> list[Event] | None:
        """What came after that event for this listener; None if that can no longer be told."""
        token, _, number = (last_event_id or "").partition("-")
        if not self._seeing or token != self._token or not number.isascii() or not number.isdigit():
            return None
        if not self._audience.was_served(listener.actor) or int(number) > self._number:
            return None
        oldest = self._kept[0].number if self._kept else self._number + 1
        if int(number) < oldest - 1:
            return None
        return [event for event in self._kept if event.number > int(number) and event.is_for(listener.actor)]

    def _hello(self, missed: Sequence[Event] | None) -> Event:
        # Whoever resumes keeps the id that he came with, until the first event that he had missed.
        number = self._number if not missed else missed[0].number - 1
        return Event(number, hello(self._identity(number), resumed=missed is not None), to_all=True)

    def _identity(self, number: int) -> str:
        return f"{self._token}-{number}"


def _call(listener: Listener, call: Callable[[], None]) -> None:
    with suppress(RuntimeError):  # its loop has ended, and the listener with it
        listener.loop.call_soon_threadsafe(call)


def _all(calls: Iterable[Callable[[], None]]) -> None:
    for call in calls:
        call()
