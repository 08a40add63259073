"""The live store on a Redis server, beside that of the database.

Redis may lose everything at any moment, or not answer. So:

- A cancel request goes to the database, where nodes look every two seconds, and then to Redis,
  where they look ten times a second. An entry there only makes a node look in the database at once:
  else whoever can write to Redis could cancel jobs, in any name.
- While Redis does not answer, or refuses writes, the database's store takes over. Every process
  checks that Redis does both, so that those that write and those that read change over together.
- A process remembers the reports that it has published. Each time it reads cancel requests it asks
  whether they are still there, and writes all of them again if one is not.

Entries expire, so what a killed process leaves behind needs no clean-up. A report is `lease
percentage label`, with the label as JSON. Whether it may be written depends on the old one, so a
script decides, because Redis runs one script at a time. Another program may have written an entry
of any type and content: readers ignore what no body can have reported, and the script overwrites
it.
"""

import json
import re
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING, Any, Final

from redis.client import Pipeline

from horae.domain.backoff import Backoff, retry_delay
from horae.domain.jobs import JobId, Wait
from horae.forking import BuiltAnewInChild
from horae.listeners import Listeners
from horae.live.database import latest
from horae.live.store import CancelRequest, LiveReport, LiveStore, checked_report
from horae.redis_access.access import UNUSABLE, RedisAccess, reason
from horae.redis_access.subscription import Subscription

PART: Final = "live state"
"""What the log calls this use of Redis."""
PROGRESS: Final = "progress"
"""The channel on which publishers announce new reports."""
KEYS_AT_ONCE: Final = 500
"""Maximum number of keys in one command: Redis serves nobody else meanwhile."""
PUBLISH: Final = """
for number, key in ipairs(KEYS) do
  local new, old = ARGV[number + 1], redis.pcall('GET', key)
  local lease, percentage = string.match(new, '^(%d+) (%d+)')
  local readable_old = type(old) == 'string' and old or ''
  local old_lease, old_percentage = string.match(readable_old, '^(%d+) (%d+) ["n]')
  lease, old_lease = tonumber(lease), tonumber(old_lease)
  old_percentage = tonumber(old_percentage)
  if not old_lease or old_percentage > 100 or lease > old_lease
      or lease == old_lease and tonumber(percentage) >= old_percentage then
    redis.call('SET', key, new, 'EX', ARGV[1])
  end
end
"""
"""The script's keys are those of the reports. Its arguments are the seconds until they expire, and
then the reports.
"""
LONGEST: Final = 2_000
"""Maximum length of a report in characters; the longest possible label, escaped, fits."""
REQUESTED: Final = "1"
"""The entry of a cancel request."""
_REPORT: Final = re.compile(r'(\d{1,19}) (\d{1,3}) (?:null|(".*"))', re.DOTALL | re.ASCII)


@dataclass(frozen=True, kw_only=True, slots=True)
class RedisLiveTiming:
    """The timing of the store, in seconds unless stated otherwise."""

    expires_after: int = 3600
    """How long an entry is kept that nobody writes again."""
    refresh_every: float = 900.0
    """Time after which reports of running jobs are written again, so that they do not expire."""
    check_writes_every: float = 1.0
    """Time after which a process checks again that Redis accepts writes, even if it only reads."""
    # `Backoff` is immutable.
    retry: Backoff = Backoff(base=timedelta(milliseconds=200), cap=timedelta(seconds=5), jitter=0.5)
    """How long Redis is left alone after a failure: each attempt may keep one caller waiting."""
    read_both_for: float = 15.0
    """Time after a failure in which other processes may still use the database's store."""


USUAL: Final = RedisLiveTiming()


class RedisLiveStore(BuiltAnewInChild):
    """A `LiveStore` for all processes on one Redis server and one database."""

    def __init__(
        self, access: RedisAccess, database: LiveStore, timing: RedisLiveTiming = USUAL
    ) -> None:
        """`database`: the database's store, which is closed with this one."""
        self._access, self._database, self._timing = access, database, timing
        self._lock = threading.Lock()
        # Random delays spread the retries of many processes; they protect nothing.
        self._random = Random()
        self._published: dict[JobId, LiveReport] = {}
        self._in_database = set[JobId]()
        self._failures = 0
        self._unused_until = self._read_both_until = self._check_at = 0.0
        self._refresh_at = time.monotonic() + self._timing.refresh_every
        self._subscription: Subscription | None = None
        self._listeners = Listeners[[]]()

    def publish(self, reports: Sequence[LiveReport]) -> None:
        """Write the reports, except those that are older than the stored ones."""
        if not reports:
            return
        new = latest(reports)
        with self._lock:
            self._published = {
                report.job_id: report for report in latest([*self._published.values(), *new])
            }
        self._write(new)

    def _write(self, new: Sequence[LiveReport]) -> None:
        if not new:
            return

        def write(pipeline: Pipeline) -> None:
            for part in _parts(new):
                keys = [self._key("report", report.job_id) for report in part]
                texts = map(report_text, part)
                pipeline.eval(PUBLISH, len(keys), *keys, self._timing.expires_after, *texts)
            pipeline.publish(self._access.name(PROGRESS), len(new))

        if self._commands(write) is None:
            self._publish_in_database(new)

    def read(self, job_ids: Collection[JobId]) -> Mapping[JobId, LiveReport]:
        """Return the latest reports of these jobs."""
        if not job_ids:
            return {}
        texts = self._read_texts("report", list(job_ids))
        if texts is None:
            return self._database.read(job_ids)
        entries = {job_id: text for job_id, text in texts.items() if text is not None}
        found = [
            report
            for job_id, text in entries.items()
            if (report := read_report(job_id, text)) is not None
        ]
        if len(found) < len(entries):
            self._access.log.note_foreign_entries(PART)
        if time.monotonic() < self._read_both_until:
            found += self._database.read(job_ids).values()
        return {report.job_id: report for report in latest(found)}

    def request_cancel(self, job_id: JobId, request: CancelRequest) -> None:
        """Ask the body of this job to stop.

        The first name is kept; one forced request makes all of them forced.
        """
        self._database.request_cancel(job_id, request)
        key, seconds = self._key("cancel", job_id), self._timing.expires_after
        self._commands(lambda pipeline: pipeline.set(key, REQUESTED, ex=seconds))

    def cancel_requests(
        self, job_ids: Collection[JobId], *, thorough: bool = False
    ) -> Mapping[JobId, CancelRequest]:
        """Return the cancel requests for these jobs; `thorough`: also those that Redis has lost."""
        if not job_ids:
            return {}
        self._keep_published()
        texts = self._read_texts("cancel", list(job_ids))
        if texts is None or thorough or time.monotonic() < self._read_both_until:
            asked = job_ids
        else:
            asked = [job_id for job_id, text in texts.items() if text is not None]
        requests = self._database.cancel_requests(asked)
        with self._lock:
            self._in_database |= requests.keys()
        return requests

    def begin_wait(self, wait: Wait) -> None:
        """Record for what a body waits, in the database: it is written rarely and must not get
        lost.
        """
        with self._lock:
            self._in_database.add(wait.job_id)  # so that `forget` deletes it there
        self._database.begin_wait(wait)

    def end_wait(self, wait: Wait) -> None:
        """Record that this wait is over."""
        self._database.end_wait(wait)

    def waits(self) -> Sequence[Wait]:
        """Return the waits of all bodies, also some of attempts that have ended."""
        return self._database.waits()

    def reported(self, after: JobId, limit: int) -> Sequence[JobId]:
        """Return the jobs after this id in the database's store; Redis's entries expire by
        themselves.
        """
        found = self._database.reported(after, limit)
        with self._lock:
            self._in_database.update(found)
        return found

    def forget(self, job_ids: Collection[JobId]) -> None:
        """Delete the reports and requests of these jobs."""
        if not job_ids:
            return
        ids = list(job_ids)
        with self._lock:
            for job_id in ids:
                self._published.pop(job_id, None)

        def delete(pipeline: Pipeline) -> None:
            for part in _parts(ids):
                pipeline.delete(
                    *(self._key(kind, job_id) for kind in ("report", "cancel") for job_id in part)
                )

        requested = self._read_texts("cancel", ids, delete)
        with self._lock:
            if requested is None or time.monotonic() < self._read_both_until:
                stored = set(ids)
            else:  # each request is in both stores
                stored = {
                    id_ for id_ in ids if requested[id_] is not None or id_ in self._in_database
                }
        if stored:
            self._database.forget(stored)
            with self._lock:
                self._in_database -= stored

    def follow(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` on a thread of the store after reports were published.

        Return a function that ends this.
        """
        remove = self._listeners.add(listener)
        with self._lock:
            if self._subscription is None:
                self._subscription = Subscription(
                    self._access, PROGRESS, "progress events", lambda _: self._listeners.call()
                )

        def end() -> None:
            remove()
            with self._lock:
                unused = None if self._listeners else self._subscription
                if unused is not None:
                    self._subscription = None
            if unused is not None:
                unused.close()

        return end

    def close(self) -> None:
        """Close the connections, and the database's store."""
        with self._lock:
            subscription, self._subscription = self._subscription, None
            self._listeners = Listeners()
        if subscription is not None:
            subscription.close()
        self._access.close()
        self._database.close()

    def _keep_published(self) -> None:
        """Write the published reports again, to Redis if it lost one, to the database while Redis
        is away.
        """
        with self._lock:
            published = list(self._published.values())
        if not published:
            return
        keys = [self._key("report", report.job_id) for report in published]
        counts = self._commands(lambda pipeline: [pipeline.exists(*part) for part in _parts(keys)])
        with self._lock:
            # Redis may have taken a second, and jobs that are forgotten since have no reports.
            published = list(self._published.values())
        if counts is None:
            self._publish_in_database(
                [each for each in published if each.job_id not in self._in_database]
            )
        elif time.monotonic() >= self._refresh_at or sum(counts) < len(keys):
            with self._lock:
                self._refresh_at = time.monotonic() + self._timing.refresh_every
            self._write(published)

    def _publish_in_database(self, reports: Sequence[LiveReport]) -> None:
        if reports:
            self._database.publish(reports)
            with self._lock:
                self._in_database |= {report.job_id for report in reports}

    def _read_texts(
        self, kind: str, job_ids: Sequence[JobId], then: Callable[[Pipeline], object] | None = None
    ) -> dict[JobId, str | None] | None:
        """Return the entries of these jobs and execute `then`; None if Redis is unusable."""
        parts = list(_parts(job_ids))

        def fill(pipeline: Pipeline) -> None:
            for part in parts:
                pipeline.mget([self._key(kind, job_id) for job_id in part])
            if then is not None:
                then(pipeline)

        results = self._commands(fill)
        if results is None:
            return None
        texts = [text for result in results[: len(parts)] for text in result]
        return dict(zip(job_ids, texts, strict=True))

    def _key(self, kind: str, job_id: JobId) -> str:
        return self._access.name(kind, job_id)

    def _commands(self, fill: Callable[[Pipeline], object]) -> list[Any] | None:
        """Execute commands in one round trip; return None if Redis cannot be used or has just
        failed.
        """
        now = time.monotonic()
        with self._lock:
            if now < self._unused_until:
                return None
            if self._failures:  # this caller tries, while the others go on without Redis
                self._unused_until = now + self._pause()
            check = now >= self._check_at
        first = 0  # index of the first reply for `fill`; a write check may come before it

        def check_and_fill(pipeline: Pipeline) -> None:
            nonlocal first
            if check:  # if Redis accepts no writes, other processes write to the database
                self._access.check_writes(pipeline)
                first = len(pipeline)
            fill(pipeline)

        try:
            results = self._access.run_pipeline(check_and_fill)
        except UNUSABLE as error:
            with self._lock:
                self._failures += 1
                self._unused_until = time.monotonic() + self._pause()
                self._check_at = self._refresh_at = 0.0  # Redis may come back with old data
            self._access.log.note_failure(PART, reason(error))
            return None
        with self._lock:
            if self._failures:
                self._read_both_until = time.monotonic() + self._timing.read_both_for
            self._failures, self._unused_until = 0, 0.0
            if check:
                self._check_at = now + self._timing.check_writes_every
        self._access.log.note_success(PART)
        return results[first:]

    def _pause(self) -> float:
        return retry_delay(self._failures, self._timing.retry, self._random).total_seconds()


def _parts(items: Sequence[Any]) -> list[Sequence[Any]]:
    return [items[first : first + KEYS_AT_ONCE] for first in range(0, len(items), KEYS_AT_ONCE)]


def report_text(report: LiveReport) -> str:
    """Return a report as an entry."""
    return f"{report.lease} {report.progress_percentage} {json.dumps(report.label)}"


def read_report(job_id: JobId, text: str) -> LiveReport | None:
    """Read an entry; None if another program has written it."""
    found = _REPORT.fullmatch(text) if len(text) <= LONGEST else None
    if found is None:
        return None
    try:
        label = None if found[3] is None else json.loads(found[3])
    except ValueError:
        return None
    return checked_report(job_id, int(found[1]), int(found[2]), label)


if TYPE_CHECKING:
    _conforms: type[LiveStore] = RedisLiveStore
