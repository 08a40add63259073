"""When to start again after a run that failed or crashed."""

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final

from horae.domain.backoff import Backoff, Growth, jittered, nominal_delay
from horae.domain.times import LONGEST_DURATION, Interval

_JITTER: Final = 0.125
"""The share by which a wait varies, so that schedules that failed together return apart."""

CRASH_WAIT: Final = timedelta(minutes=5)
"""The pause that lets an operator disable a schedule whose run crashes the scheduler."""


def failure_delay(
    failures: int, retry_period: Interval, interval: Interval, growth: Growth, rng: Random
) -> timedelta:
    """Draw the wait after `failures` failures in a row (n).

    Exponential: `min(retry_period x 2^(n-1), 5 x interval)`. Linear: `min(retry_period x min(n,
    20), 5 x interval)`. The jitter of ± 12.5 % also applies to the longest wait.
    """
    # The delay is capped already, so the jitter gets a cap that is too high to have an effect.
    delay = _nominal_failure_delay(failures, retry_period, interval, growth)
    return jittered(delay, _JITTER, rng, cap=2 * delay)


def longest_failure_delay(
    failures: int, retry_period: Interval, interval: Interval, growth: Growth
) -> timedelta:
    """Return the longest wait that `failure_delay` may draw."""
    return _nominal_failure_delay(failures, retry_period, interval, growth) * (1 + _JITTER)


def _nominal_failure_delay(
    failures: int, retry_period: Interval, interval: Interval, growth: Growth
) -> timedelta:
    retry = retry_period.nominal
    # A failing schedule is still tried about every fifth interval.
    longest = min(5 * interval.nominal, LONGEST_DURATION)
    if growth == "linear":
        # A linear wait stops growing after as many steps as in TimescaleDB.
        longest = min(longest, 20 * retry)
    return nominal_delay(
        failures, Backoff(base=min(retry, longest), cap=longest, factor=growth, jitter=_JITTER)
    )


def start_after_crash(planned: datetime, scheduler_started: datetime) -> datetime:
    """Return the start of a crashed schedule, at least five minutes after the scheduler's start; in
    UTC.

    The caller must compute it once and store it: otherwise a scheduler that restarts every few
    minutes would postpone it each time.
    """
    return max(planned.astimezone(UTC), scheduler_started.astimezone(UTC) + CRASH_WAIT)
