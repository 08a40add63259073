"""Publishes changes to all event streams of a process: one thread polls the database.

It polls once a second by default, four times a second while jobs change, and at once after a hint
or after progress that the live store announces; without listeners it does not poll. Recent events
are kept, so that a client that lost its connection can resume. A client that cannot get every event
is told to read its data again: by a `hello` without `resumed`, or by a `reset`. While the database
cannot be read, clients are told so by `unavailable`, and by a `reset` when it can be read again.
"""

import secrets
import signal
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from functools import partial

from horae.api.stream.event import Event, hello, message
from horae.api.stream.listener import StreamListener, StreamListeners
from horae.api.stream.sources import Source
from horae.api.stream.timing import HubTiming
from horae.guarded_log import guarded_log
from horae.live import LiveStore
from horae.resource_shortage import try_start
from horae.wakeup import Hint, WakeupChannel

log = guarded_log("horae.api.events")


class Hub:
    """Sends every listener the events that it may see. Thread-safe."""

    def __init__(
        self,
        sources: Callable[[], Sequence[Source]],
        wakeup: WakeupChannel,
        live: LiveStore,
        timing: HubTiming,
    ) -> None:
        """`sources` makes new sources, which report the changes from then on."""
        self._make_sources, self._wakeup, self._live, self._timing = sources, wakeup, live, timing
        self._lock = threading.Lock()
        self._hinted = threading.Event()
        self._listeners = StreamListeners(timing.linger)
        self._ungreeted: list[StreamListener] = []
        self._recent: deque[Event] = deque(maxlen=timing.kept)
        self._number = 0
        self._token = ""
        self._polled = False
        self._incomplete = False
        self._closing = False
        self._thread: threading.Thread | None = None

    @property
    def listening(self) -> int:
        """The number of connected listeners."""
        return len(self._listeners.connected)

    def join(self, listener: StreamListener, last_event_id: str | None) -> None:
        """Add a listener, which resumes after `last_event_id` if those events are kept.

        Call it on its loop.
        """
        with self._lock:
            if self._thread is None and not self._closing:
                thread = threading.Thread(target=self._run, name="horae-events", daemon=True)
                if try_start(thread):
                    self._thread = thread
                else:
                    log.warning("a stream of events ends at once, because no thread can start")
            if self._thread is None or self._closing:
                listener.close()
                return
            missed = self._missed(listener, last_event_id)
            self._listeners.add(listener)
            if self._polled and not self._incomplete:
                listener.offer([self._hello(missed), *(missed or ())])
            else:
                # The greeting waits for the next poll; otherwise a change between the client's read
                # and that poll would be lost.
                self._ungreeted.append(listener)

    def leave(self, listener: StreamListener) -> None:
        """Remove a listener. Idempotent."""
        with self._lock:
            self._listeners.remove(listener, time.monotonic())

    def close(self) -> None:
        """End all streams and the thread; later listeners are served by a new one."""
        with self._lock:
            thread = self._thread
            self._closing = thread is not None
            self._hinted.set()
            self._end_streams()
        if thread is not None:
            thread.join(self._timing.after_failure)

    def _end_streams(self) -> None:
        for listener in self._listeners.connected:
            _call(listener, listener.close)
        self._listeners, self._ungreeted = StreamListeners(self._timing.linger), []

    def _run(self) -> None:
        with log.guard("the streams of events end, because nothing can be followed: %s"):
            self._follow()
            return
        with self._lock:  # the clients connect again, whatever the error
            self._end_streams()
            self._forget()

    def _forget(self) -> None:
        # Later changes are not polled, so no client can resume from those kept.
        self._recent.clear()
        self._thread, self._polled = None, False
        self._closing = self._incomplete = False

    def _follow(self) -> None:
        self._token = secrets.token_hex(4)
        sources = self._make_sources()

        def on_hint(hint: Hint) -> None:
            for source in sources:
                source.on_hint(hint)
            self._hinted.set()

        with ExitStack() as ends:
            ends.callback(self._wakeup.subscribe(on_hint))
            ends.callback(self._live.follow(self._hinted.set))
            while True:
                with self._lock:
                    if _server_is_stopping():
                        self._end_streams()
                    if self._closing or not self._listeners.forget(time.monotonic()):
                        self._forget()
                        return
                began = time.monotonic()
                number = self._number
                if not self._poll(sources):
                    pause = self._timing.after_failure
                elif self._number > number:
                    pause = self._timing.while_changing
                else:
                    pause = self._timing.every
                self._hinted.wait(pause - (time.monotonic() - began))
                self._hinted.clear()
                time.sleep(max(0.0, began + self._timing.least - time.monotonic()))

    def _poll(self, sources: Sequence[Source]) -> bool:
        """Publish what has changed; return whether the database could be read."""
        try:
            found = [(source, source.poll(self._listeners.may_see)) for source in sources]
        except Exception as error:  # noqa: BLE001 - listeners are told, whatever the error
            log.warning("cannot read what has changed, trying again: %s", error)
            with self._lock:
                if not self._incomplete:
                    self._publish([self._notice("unavailable", to_all=True)])
                # A source does not find the same changes again if another one fails afterwards.
                self._incomplete = True
            return False
        updates = [update for _, each in found for update in each or ()]
        overflowed = [source for source, each in found if each is None]
        with self._lock:
            few = len(updates) <= self._timing.most_each
            events = [
                Event(
                    number,
                    message(each.name, each.data, self._event_id(number)),
                    each.owner,
                    to_staff=few,
                    reduced=None
                    if each.reduced is None
                    else message(each.name, each.reduced, self._event_id(number)),
                )
                for number, each in enumerate(updates, self._number + 1)
            ]
            self._number += len(events)
            self._publish(events if few else [*events, self._notice("reset", to_all=False)])
            if self._incomplete or overflowed:
                to_all = self._incomplete or not all(source.staff_only for source in overflowed)
                self._publish([self._notice("reset", to_all=to_all)])
            self._polled, self._incomplete = True, False
            ungreeted, self._ungreeted = self._ungreeted, []
            for listener in ungreeted:
                _call(listener, partial(listener.offer, [self._hello(None)]))
        return True

    def _notice(self, name: str, *, to_all: bool) -> Event:
        self._number += 1
        data = message(name, "{}", self._event_id(self._number))
        return Event(self._number, data, to_owner=False, to_all=to_all)

    def _publish(self, events: Sequence[Event]) -> None:
        if not events:
            return
        self._recent.extend(events)
        deliveries: defaultdict[object, list[Callable[[], None]]] = defaultdict(list)
        for listener in self._listeners.connected:
            if own := [event for event in events if event.is_for(listener.actor)]:
                deliveries[listener.loop].append(partial(listener.offer, own))
        for listener in {each.loop: each for each in self._listeners.connected}.values():
            _call(listener, partial(_call_each, deliveries[listener.loop]))

    def _missed(self, listener: StreamListener, last_event_id: str | None) -> list[Event] | None:
        """Return the later events for this listener; None if some of them are unknown."""
        token, _, number = (last_event_id or "").partition("-")
        if not self._polled or token != self._token or not number.isascii() or not number.isdigit():
            return None
        if not self._listeners.was_served(listener.actor) or int(number) > self._number:
            return None
        oldest = self._recent[0].number if self._recent else self._number + 1
        if int(number) < oldest - 1:
            return None
        return [
            event
            for event in self._recent
            if event.number > int(number) and event.is_for(listener.actor)
        ]

    def _hello(self, missed: Sequence[Event] | None) -> Event:
        # A client that resumes keeps the id that it sent until it has received the first event that
        # it missed.
        number = self._number if not missed else missed[0].number - 1
        return Event(number, hello(self._event_id(number), resumed=missed is not None), to_all=True)

    def _event_id(self, number: int) -> str:
        return f"{self._token}-{number}"


def _server_is_stopping() -> bool:
    """Return whether a uvicorn server in this process was told to stop.

    It waits until its streams have ended, which may take an hour, and tells the application only
    then; but it handles the signal by a method of its own.
    """
    server = getattr(signal.getsignal(signal.SIGTERM), "__self__", None)
    return getattr(server, "should_exit", False) is True


def _call(listener: StreamListener, call: Callable[[], None]) -> None:
    # The loop of the listener may have ended, and the listener with it.
    with suppress(RuntimeError):
        listener.loop.call_soon_threadsafe(call)


def _call_each(calls: Iterable[Callable[[], None]]) -> None:
    for call in calls:
        call()
