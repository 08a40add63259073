"""The state of a rate limit: a token bucket or a sliding window, in whole microseconds so that
nothing is rounded.

All functions take `now`, the database's clock in microseconds since 1970, and return a new state.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from horae.domain.limits.numbers import LimitNumbers

WINDOW_STEPS: Final = 1000
"""Starts of a sliding window are kept with a resolution of this share of the period, rounded up: so
at most this many numbers are stored, and the rate is at most a thousandth too low, but never too
high.
"""


@dataclass(frozen=True, slots=True)
class TokenBucket:
    """`level`: the tokens at the moment `at`, each counted as as many units as the period has
    microseconds.
    """

    level: int
    at: int
    period: int

    @classmethod
    def full(cls, numbers: LimitNumbers, now: int) -> "TokenBucket":
        """Return a bucket from which nothing was taken yet."""
        period = numbers.period or 1
        return cls((numbers.burst or 1) * period, now, period)

    def filled(self, numbers: LimitNumbers, now: int) -> "TokenBucket":
        """Return the bucket as it is now, under these numbers, which may be new."""
        period, most = numbers.period or 1, (numbers.burst or 1) * (numbers.period or 1)
        level = self.level if self.period == period else self.level * period // self.period
        # If the clock was set back, the time until then adds nothing.
        return TokenBucket(
            min(most, level + max(0, now - self.at) * (numbers.amount or 1)), now, period
        )

    def wait(self, numbers: LimitNumbers, weight: int) -> int:
        """Return the microseconds until a job of this weight may start, from `at` on."""
        # A job that is heavier than the bucket needs all of it: its limit was lowered after the job
        # was created.
        missing = min(weight, numbers.burst or 1) * self.period - self.level
        return max(0, -(-missing // (numbers.amount or 1)))

    def taken(self, numbers: LimitNumbers, weight: int) -> "TokenBucket":
        """Return the bucket after a job starts; a job heavier than the bucket leaves a debt."""
        level = self.level - weight * (numbers.period or 1)
        return TokenBucket(level, self.at, self.period)

    def fresh_at(self, numbers: LimitNumbers) -> int:
        """Return when the bucket will be full without more starts: nothing is stored then."""
        return self.at + self.wait(numbers, numbers.burst or 1)

    def to_json(self) -> list[Any]:
        """Return the state as it is stored."""
        return [self.level, self.at, self.period]


@dataclass(frozen=True, slots=True)
class SlidingWindow:
    """The starts of the last period: moments, oldest first, with the weight started at each."""

    starts: tuple[tuple[int, int], ...]
    at: int

    def filled(self, numbers: LimitNumbers, now: int) -> "SlidingWindow":
        """Return the window as it is now.

        Starts in the future, from before the clock was set back, count as now.
        """
        begin, end = now - (numbers.period or 1), _rounded_up(now, numbers)
        weights: dict[int, int] = {}
        for moment, weight in self.starts:
            if moment > begin:
                weights[min(moment, end)] = weights.get(min(moment, end), 0) + weight
        return SlidingWindow(tuple(sorted(weights.items())), now)

    def wait(self, numbers: LimitNumbers, weight: int) -> int:
        """Return the microseconds until a job of this weight may start, from `at` on."""
        excess = sum(each for _, each in self.starts) + weight - (numbers.amount or 1)
        if excess <= 0:
            return 0
        for moment, each in self.starts:
            excess -= each
            # One that is heavier than the limit needs an empty window.
            if excess <= 0 or moment == self.starts[-1][0]:
                return moment + (numbers.period or 1) - self.at
        return 0

    def taken(self, numbers: LimitNumbers, weight: int) -> "SlidingWindow":
        """Return the window after the start of a job."""
        moment = _rounded_up(self.at, numbers)
        *rest, last = self.starts or ((moment, 0),)
        same = last[0] == moment
        starts = (*rest, (moment, last[1] + weight)) if same else (*self.starts, (moment, weight))
        return SlidingWindow(starts, self.at)

    def fresh_at(self, numbers: LimitNumbers) -> int:
        """Return when the window will be empty if no other job starts."""
        return self.starts[-1][0] + (numbers.period or 1) if self.starts else self.at

    def to_json(self) -> list[Any]:
        """Return the state as it is stored."""
        return [list(start) for start in self.starts]


RateState: TypeAlias = TokenBucket | SlidingWindow


def state_now(numbers: LimitNumbers, stored: Sequence[Any] | None, now: int) -> RateState:
    """Return the state from its stored form, as it is now.

    A state of another kind of window begins anew.
    """
    if numbers.window == "sliding":
        pairs = stored if stored and all(isinstance(item, list) for item in stored) else ()
        return SlidingWindow(tuple((moment, weight) for moment, weight in pairs), now).filled(
            numbers, now
        )
    if not stored or isinstance(stored[0], list):
        return TokenBucket.full(numbers, now)
    level, at, period = stored
    return TokenBucket(level, at, period).filled(numbers, now)


def may_gather(state: RateState, numbers: LimitNumbers, wait: int) -> int:
    """Return for how many microseconds, from `at` on, starts may gather until a claim takes them,
    so that none is lost.

    `wait`: the microseconds until the next start. A bucket keeps its tokens until it is full; a
    quarter of that time is left to them, because the next claim may be late. A sliding window keeps
    nothing: a start that comes later delays the ones of the next period.
    """
    if isinstance(state, SlidingWindow):
        return wait
    return wait + (state.wait(numbers, numbers.burst or 1) - wait) // 4


def _rounded_up(moment: int, numbers: LimitNumbers) -> int:
    step = max(1, (numbers.period or 1) // WINDOW_STEPS)
    return -(-moment // step) * step
