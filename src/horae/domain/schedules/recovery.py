"""When to start again after a run that failed or crashed."""

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final

from horae.domain.backoff import Backoff, Growth, jittered, nominal_delay
from horae.domain.times.duration import LONGEST_DURATION
from horae.domain.times.interval import Interval

# However far a streak grows, a failing schedule is tried about every fifth period.
_LONGEST_IN_INTERVALS: Final = 5
_LINEAR_STEPS: Final = 20
_JITTER: Final = 0.125

# Time for an operator to disable a schedule that takes its scheduler down whenever it runs.
CRASH_WAIT: Final = timedelta(minutes=5)


def failure_delay(failures: int, retry_period: Interval, interval: Interval, growth: Growth, rng: Random) -> timedelta:
    """Draw the wait after the n-th failure in a row.

    Exponential: `min(retry_period x 2^(n-1), 5 x interval)`; linear: `x min(n, 20)`; ± 12.5 % in
    either case, also of the longest wait.
    """
    retry = retry_period.nominal
    longest = min(_LONGEST_IN_INTERVALS * interval.nominal, LONGEST_DURATION)
    if growth == "linear":
        longest = min(longest, _LINEAR_STEPS * retry)
    backoff = Backoff(base=min(retry, longest), cap=longest, factor=growth, jitter=_JITTER)
    # Jitter comes after the cap: with the cap of a delay twice itself nothing is cut off.
    delay = nominal_delay(failures, backoff)
    return jittered(delay, _JITTER, rng, cap=2 * delay)


def start_after_crash(planned: datetime, scheduler_started: datetime) -> datetime:
    """Hold a crashed schedule back until five minutes after the scheduler's start; in UTC.

    To be computed once and stored: computed at every start, a scheduler that restarts every few
    minutes would put it off for ever.
    """
    return max(planned.astimezone(UTC), scheduler_started.astimezone(UTC) + CRASH_WAIT)
