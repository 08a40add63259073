"""Watches an application, and tells targets what is wrong with it.

A watch is a process of its own, or a thread of another program, and is scheduled by nothing that it
watches: it only reads the database. A look that does not return in time is a database that does not
answer. Targets that cannot be reached are tried again with growing pauses, each apart from the
others.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Timeout
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from horae.adapters import opened_database
from horae.alerts import state as states
from horae.alerts.checked_http import NotDelivered
from horae.alerts.course import Alerts, Notice, follow, is_reported
from horae.alerts.reading import observe
from horae.alerts.rules import AlertThresholds, FoundProblem, away, problems_of
from horae.alerts.state import State
from horae.alerts.targets import AlertTarget, Ping
from horae.client.doctor import Finding
from horae.domain.times import Duration, parse_duration
from horae.errors import InvalidRequest, NotFound
from horae.guarded_log import guarded_log
from horae.quoting import quoted
from horae.redaction import error_text
from horae.sentences import counted
from horae.storage.engine import Database, Threads, missing_file, shown

if TYPE_CHECKING:
    from horae.app import Horae

LOOK_WITHIN: Final = 15.0
"""Seconds after which a look counts as unanswered."""
DELIVER_WITHIN: Final = 2.0
"""Seconds after which a round no longer waits for the targets."""
DELIVER_ONCE_WITHIN: Final = 60.0
"""The same for a watch that looks only once."""
FIRST_PAUSE: Final = 5.0
"""Seconds before the second try at a target; each further pause doubles."""
LONGEST_PAUSE: Final = 300.0
AT_ONCE: Final = 20
"""Maximum number of notices that a target gets in one round."""
MOST_DOUBLINGS: Final = 10
SHORTEST_WAIT: Final = 0.2

log = guarded_log("horae.alerts")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How often a watch looks and tells; durations are texts such as `"15s"`, or timedeltas.

    `every`: between two looks; `repeat`: when an alert that lasts is told again; `over`: for how
    long a problem must not have been seen before it is over. Raises `InvalidRequest`.
    """

    every: Duration = "15s"
    repeat: Duration = "4h"
    over: Duration = "1m"

    def __post_init__(self) -> None:
        """Refuse durations that cannot be read, or that are too short."""
        for name, least in (("every", 1), ("repeat", 1), ("over", 0)):
            length = parse_duration(name, getattr(self, name))
            if length < timedelta(seconds=least):
                raise InvalidRequest(f"{name} is {quoted(length)}, expected at least {least} s")

    def length(self, name: str) -> timedelta:
        """Return one of them as a timedelta."""
        return parse_duration(name, getattr(self, name))


@dataclass(slots=True)
class _Delivery:
    """What goes to one target, and when it is tried next, on the monotonic clock."""

    target: AlertTarget
    notices: list[Notice]
    """Those that it has not taken yet; the list of the state."""
    failures: int = 0
    """Tries in a row that failed."""
    next_try: float = 0.0
    under_way: "Future[str | None] | None" = None
    sent: set[str] = field(default_factory=set[str])
    """The ids of notices that its thread has sent."""

    def seconds_to_wait(self) -> float:
        """Return the seconds until the target is due for a try, or may have answered."""
        if self.under_way is not None:
            return 1.0
        return max(SHORTEST_WAIT, self.next_try - time.monotonic())

    def drop_sent(self) -> None:
        """Drop what was sent so far: after a kill now, the next watch would send it again."""
        self.notices[:] = [each for each in self.notices if each.id not in self.sent]

    def end(self, problem: str | None) -> None:
        """Note that nothing more is sent for now, and why; then the next try has to wait."""
        self.drop_sent()
        self.sent.clear()
        self.under_way = None
        if problem is None:
            self.failures = 0
            return
        pause = min(FIRST_PAUSE * 2**self.failures, LONGEST_PAUSE)
        self.failures = min(self.failures + 1, MOST_DOUBLINGS)
        self.next_try = time.monotonic() + pause
        log.error(
            "%s has not taken %s, next try within %.0f s: %s",
            self.target.name,
            counted(len(self.notices), "notice"),
            pause,
            problem,
        )


def now_of_machine() -> datetime:
    """Return the time of this machine: the database, which has a better one, may be away."""
    return datetime.now(UTC)  # noqa: TID251 - the outermost place that reads a clock


class Watch:
    """Watches the database of an application.

    `targets`: where notices go; `pings`: what is pinged while nothing is wrong; `state`: a file
    in which the state is kept, so that a watch that starts again repeats nothing; without one, it
    tells every alert anew. `name`: what notices call the application; by default its database.
    """

    def __init__(
        self,
        horae: "Horae",
        *,
        targets: Sequence[AlertTarget] = (),
        pings: Sequence[Ping] = (),
        thresholds: AlertThresholds | None = None,
        pace: Pace | None = None,
        state: Path | str | None = None,
        name: str | None = None,
        clock: Callable[[], datetime] = now_of_machine,
    ) -> None:
        self._horae, self._pings, self._clock = horae, tuple(pings), clock
        self._thresholds, self._pace = thresholds or AlertThresholds(), pace or Pace()
        self._file = None if state is None else Path(state)
        self._source = name or shown(horae.settings.database)
        self._database: Database | None = None
        self._looking: Future[list[Finding]] | None = None
        self._is_away = True  # nothing is known yet
        self._threads = Threads(1, "horae-watch")
        self._senders = Threads(max(1, len(targets) + len(pings)), "horae-watch-send")
        self._state = State() if self._file is None else states.load(self._file)
        self._deliveries: list[_Delivery] = []
        times_named = Counter[str]()
        for target in targets:
            times_named[target.name] += 1
            number = times_named[target.name]
            # The stored state names the target by this key, so it must be the same after a restart.
            key = target.name if number == 1 else f"{target.name} #{number}"
            self._deliveries.append(_Delivery(target, self._state.waiting.setdefault(key, [])))
        self._pinging: dict[int, Future[None]] = {}

    @property
    def alerts(self) -> Alerts:
        """The alerts that go on, by key."""
        return {alert.key: alert for alert in self._state.alerts}

    @property
    def is_well(self) -> bool:
        """Whether nothing is wrong that was told."""
        return not is_reported(self.alerts)

    def run(self, stop: threading.Event, told: Callable[[Notice], object] | None = None) -> None:
        """Look, tell and wait until stopped. `told`: gets each notice as well."""
        every = self._pace.length("every").total_seconds()
        while not stop.is_set():
            next_look = time.monotonic() + every
            for notice in self.look():
                if told is not None:
                    told(notice)
            self.deliver()
            while (left := next_look - time.monotonic()) > 0:
                waits = [each.seconds_to_wait() for each in self._deliveries if each.notices]
                if stop.wait(min(left, *waits, LONGEST_PAUSE)):
                    break
                self.deliver(with_pings=False)

    def look(self, *, at_once: bool = False) -> Sequence[Notice]:
        """Look once, and return what is to be told; `deliver` sends it.

        `at_once`: tell also what has not lasted long enough, and end what is not seen any more.
        """
        problems = self._observe()
        if at_once:
            problems = [replace(problem, hold=0.0) for problem in problems]
        alerts, notices = follow(
            self.alerts,
            problems,
            self._clock(),
            repeat_after=self._pace.length("repeat"),
            over_after=timedelta(0) if at_once else self._pace.length("over"),
        )
        self._state.alerts = [*alerts.values()]
        for notice in notices:
            log.warning("%s: %s", notice.happening.value, notice.alert.summary)
        for delivery in self._deliveries:
            if dropped := states.add(delivery.notices, notices):
                log.error("%d notices for %s are dropped", dropped, delivery.target.name)
        self._save()
        return notices

    def deliver(self, *, with_pings: bool = True, at_once: bool = False) -> bool:
        """Send what waits for targets that are due for a try; return whether nothing waits, and all
        pings were answered.

        `at_once`: try also those that are not due for one. A target that is slow is left to its
        thread, and holds up no other.
        """
        end = time.monotonic() + (DELIVER_ONCE_WITHIN if at_once else DELIVER_WITHIN)
        for delivery in self._deliveries:
            if at_once:
                delivery.next_try = 0.0
            waiting = delivery.notices[:AT_ONCE]
            if waiting and delivery.under_way is None and time.monotonic() >= delivery.next_try:
                delivery.under_way = self._senders.submit(self._send, delivery, waiting)

        pinging = dict[int, Future[None]]()
        # Not while something is wrong, not even if it has not lasted long enough.
        if with_pings and self.is_well and not self._is_away:
            pinging = self._pinging
            for number, ping in enumerate(self._pings):
                if number not in pinging or pinging[number].done():
                    pinging[number] = self._senders.submit(ping.ping)

        for delivery in self._deliveries:
            if delivery.under_way is not None:
                try:
                    delivery.end(delivery.under_way.result(max(0.0, end - time.monotonic())))
                except Timeout:
                    delivery.drop_sent()
        answered = 0
        for number, future in pinging.items():
            name = self._pings[number].name
            with (
                log.guard("%s has failed: %s", name, level=logging.ERROR),
                suppress(Timeout),
            ):
                future.result(max(0.0, end - time.monotonic()))
                answered += 1
        self._save()
        return answered == len(pinging) and not any(each.notices for each in self._deliveries)

    def close(self) -> None:
        """Close the connection to the database."""
        self._threads.shutdown(wait=False)
        self._senders.shutdown(wait=False)
        if self._database is not None:
            self._database.close()

    def _observe(self) -> list[FoundProblem]:
        try:
            if self._looking is None:
                keys = tuple(self.alerts)
                self._looking = self._threads.submit(self._read, keys)
            found = self._looking.result(LOOK_WITHIN)
        except Timeout:  # the next look waits for this one
            why = "it has not answered in time"
        except Exception as error:  # noqa: BLE001 - whatever is wrong, it cannot be read
            self._looking = None
            why = error_text(error).partition("\n")[0]
        else:
            self._looking, self._is_away = None, False
            return problems_of(found)
        self._is_away = True
        return [away(why, self._thresholds)]

    def _read(self, keys: Sequence[str]) -> list[Finding]:
        file = missing_file(self._horae.settings.database)
        if file is not None:  # else a new one would be made
            raise NotFound(f"there is no file {file}")
        if self._database is None:
            self._database = opened_database(self._horae.settings, threads=1)
        return observe(self._database, self._thresholds, keys)

    def _send(self, delivery: _Delivery, notices: Sequence[Notice]) -> str | None:
        """Send notices in their order up to the first that fails; return why it has failed."""
        for notice in notices:
            try:
                delivery.target.deliver(notice, self._source, self._clock())
            except NotDelivered as error:
                return str(error)
            except Exception as error:  # noqa: BLE001 - a target may be code of the application
                return error_text(error)
            delivery.sent.add(notice.id)
        return None

    def _save(self) -> None:
        if self._file is not None:
            states.save(self._file, self._state)
