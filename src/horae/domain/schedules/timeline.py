"""The nominal times of a schedule: the fires of a cron expression, or the points of a grid.

The nominal time is the one that the trigger gives; jitter delays the start, but never to the next
nominal time, so times and starts have the same order. Long ranges are not listed: a schedule of
every second is counted over a week by arithmetic and bisection. All results are in UTC.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import blake2b
from typing import Final, Self

from horae.domain.cron import CronExpression
from horae.domain.schedules.schedule import Rules
from horae.domain.schedules.trigger import CronTrigger
from horae.domain.times import EPOCH, MICROSECOND, Grid

_SECOND: Final = timedelta(seconds=1)

_FEW: Final = 8
"""Up to this many times it is faster to find them one by one than by bisection."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """One schedule's nominal times, with jitter; a finish-based interval has none."""

    source: CronExpression | Grid | None
    jitter: timedelta
    key: str

    @classmethod
    def of(cls, rules: Rules) -> Self:
        """Return the timeline of rules."""
        trigger = rules.trigger
        if isinstance(trigger, CronTrigger):
            return cls(trigger.expression, rules.jitter, rules.key)
        return cls(trigger.grid if trigger.fixed else None, rules.jitter, rules.key)

    def after(self, moment: datetime) -> datetime | None:
        """Find the first nominal time strictly after a moment; None when the years are over."""
        if isinstance(self.source, CronExpression):
            return _fire_after(self.source, moment)
        return None if self.source is None else self.source.first_after(moment)

    def start_of(self, nominal: datetime) -> datetime:
        """Return when a nominal time is due: after its jitter, which is the same on every node."""
        if not self.jitter:
            return nominal
        following = self.after(nominal)
        room = self.jitter if following is None else min(self.jitter, following - nominal)
        return nominal + hashed_delay(self.key, nominal, room)

    def next_start(self, mark: datetime) -> datetime | None:
        """Return when the first nominal time after a mark is due."""
        nominal = self.after(mark)
        return None if nominal is None else self.start_of(nominal)

    def first_start(self, mark: datetime, now: datetime) -> datetime | None:
        """Return when the first nominal time after a mark can start: now, if it is overdue."""
        start = self.next_start(mark)
        return None if start is None else max(start, now)

    def next_start_past(self, mark: datetime, now: datetime) -> datetime | None:
        """Return the start of the first nominal time after a mark that is not due yet."""
        passed = self.due(mark, now)
        return self.next_start(self.nth(mark, passed, now) if passed else mark)

    def due(self, mark: datetime, now: datetime) -> int:
        """Count the nominal times after a mark that are due by now."""
        count = self.count(mark, now)
        # Jitter may postpone the start of the last one past now; earlier ones have started.
        waits = count and self.jitter and self.start_of(self.nth(mark, count, now)) > now
        return count - 1 if waits else count

    def count(self, after: datetime, until: datetime) -> int:
        """Count the nominal times with `after < time <= until`."""
        moment = self.after(after)
        for found in range(_FEW):
            if moment is None or moment > until:
                return found
            moment = self.after(moment)
        if isinstance(self.source, CronExpression):
            return self.source.count(after, until)
        if isinstance(self.source, Grid) and self.source.interval.microseconds:
            return _points_by(self.source, until) - _points_by(self.source, after)
        # Count on from the first few: a grid of days has at most 36,500 points in a century.
        count = _FEW
        while moment is not None and moment <= until:
            count, moment = count + 1, self.after(moment)
        return count

    def nth(self, after: datetime, index: int, until: datetime) -> datetime:
        """Find nominal time number `index` (from 1) after a moment, which must lie by `until`."""
        if isinstance(self.source, Grid) and self.source.interval.microseconds:
            return self.source.point(_points_by(self.source, after) + index - 1)
        if isinstance(self.source, CronExpression) and index > _FEW:
            return _bisect(self.source, after, index, until)
        moment = after
        for _ in range(index):
            moment = self.after(moment) or moment
        return moment

    def beside(self, moment: datetime) -> datetime:
        """Return a moment that is no nominal time, so that a run at it is not mistaken for one."""
        return moment + MICROSECOND if self.after(moment - MICROSECOND) == moment else moment


@lru_cache(maxsize=4096)
def _fire_after(expression: CronExpression, moment: datetime) -> datetime | None:
    """Return the next fire from a cache: at a full hour many schedules ask for the same."""
    fire = expression.next_after(moment)
    return None if fire is None else fire.astimezone(UTC)


def hashed_delay(key: str, moment: datetime, room: timedelta) -> timedelta:
    """Return a delay below `room`, hashed from schedule and moment, to spread equal due times."""
    micros = (moment - EPOCH) // MICROSECOND
    number = int.from_bytes(blake2b(f"{key} {micros}".encode(), digest_size=8).digest())
    return (room // MICROSECOND * number >> 64) * MICROSECOND


def _points_by(grid: Grid, moment: datetime) -> int:
    """Count the points of a grid of elapsed time up to a moment, the anchor being the first."""
    since = moment.astimezone(UTC) - grid.anchor.astimezone(UTC)
    return max(since // timedelta(microseconds=grid.interval.microseconds) + 1, 0)


def _bisect(expression: CronExpression, after: datetime, index: int, until: datetime) -> datetime:
    """Find the second by which an expression has fired `index` times; each half is counted once."""
    low, high = (after - EPOCH) // _SECOND, (until - EPOCH) // _SECOND
    while high - low > 1:
        middle = (low + high) // 2
        fires = expression.count(EPOCH + low * _SECOND, EPOCH + middle * _SECOND)
        if fires < index:
            low, index = middle, index - fires
        else:
            high = middle
    return EPOCH + high * _SECOND
