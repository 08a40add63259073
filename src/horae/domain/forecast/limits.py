"""The limits by key of a simulation: what they allow at a moment, and when they allow the next
start.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from horae.domain.limits.choosing import Bucket
from horae.domain.limits.numbers import LimitNumbers
from horae.domain.limits.rate import state_now

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class ForecastLimit:
    """A limit that the jobs of a schedule have: its name, their key, and the numbers that are in
    force.
    """

    name: str
    key: str
    numbers: LimitNumbers


class Buckets:
    """The state of each limit for each key. A job counts one, as the runs of schedules do."""

    def __init__(self) -> None:
        self._buckets: dict[ForecastLimit, Bucket] = {}
        self._stored: dict[ForecastLimit, list[object] | None] = {}

    def wait(self, limits: Iterable[ForecastLimit], now: datetime) -> timedelta | None:
        """Return how long the next job under these limits must wait; None: until another one has
        ended.
        """
        longest = 0
        for limit in limits:
            wait = self._now(limit, now).wait(1)
            if wait is None:
                return None
            longest = max(longest, wait)
        return longest * _MICROSECOND

    def take(self, limits: Iterable[ForecastLimit], now: datetime) -> None:
        """Count the start of a job."""
        for limit in limits:
            bucket = self._now(limit, now)
            bucket.take(1)
            if bucket.rate is not None:
                self._stored[limit] = bucket.rate.to_json()

    def release(self, limits: Iterable[ForecastLimit], jobs: int) -> None:
        """Count the end of jobs."""
        for limit in limits:
            if not limit.numbers.is_rate:
                self._buckets[limit].running -= jobs

    def _now(self, limit: ForecastLimit, now: datetime) -> Bucket:
        bucket = self._buckets.setdefault(limit, Bucket(len(self._buckets), limit.numbers))
        if limit.numbers.is_rate:
            bucket.rate = state_now(
                limit.numbers, self._stored.get(limit), (now - _EPOCH) // _MICROSECOND
            )
        return bucket


def in_force(
    limits: Iterable[ForecastLimit], changed: Mapping[str, LimitNumbers]
) -> tuple[ForecastLimit, ...]:
    """Return limits with the numbers that were set at run time in place of those that code
    declares.
    """
    return tuple(replace(limit, numbers=changed.get(limit.name, limit.numbers)) for limit in limits)
