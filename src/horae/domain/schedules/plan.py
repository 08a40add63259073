"""Decides what happens to a schedule now, and when it runs next. Nothing else computes a next start.

    plan(snapshot, event, now, rng) -> Plan

`ScheduleSnapshot` is the stored state of a schedule, `Plan` the state to store in its place, in one transaction:
the ticks, the job to create (`fire`), `last_tick`, `next_start`, the statistics. They and the events are in
`planning_state.py`.

What always holds:

- `next_start` is None only if no run follows: the schedule is disabled, or executes the last run of an exhausted
  expression. Otherwise it is never before `now`; a start that is due is `now`.
- While a run executes (not with `allow_all`) `next_start` is the next time that comes due, in the future:
  `cancel_other` and `terminate_other` act then. The end of the run sets it again.
- Every nominal time after the old `last_tick` and up to the new one has exactly one decision.
- `next_start` after a retry, a crash or an interval counted from the finish is a nominal time of its own. A retry
  that a nominal time overtakes is dropped: it never was a tick, and has no decision.
- A schedule that fails more than `max_retries` times in a row is disabled; failures and crashes count alike,
  cancelled runs do not.
- A run by hand changes neither `next_start` nor `last_tick`.

How the next start is found:

- cron, and fixed intervals: the start of the first nominal time after `last_tick`. After a failure
  or crash the back-off, if it is earlier; cron has one only if `retry_period` is set.
- intervals counted from the finish: `finish + interval`; after a failure or crash the back-off; or the moment that a
  caller set while the schedule was idle.
- after a crash an interval waits at least until five minutes after the scheduler's start.
"""

from datetime import UTC, datetime
from random import Random
from typing import assert_never

from horae.domain.schedules.activation import change
from horae.domain.schedules.firing import fire_by_hand, fire_due
from horae.domain.schedules.planning_state import (
    Activated,
    Altered,
    Due,
    Event,
    NextStartSet,
    Plan,
    Resumed,
    RunByHand,
    RunEnded,
    ScheduleSnapshot,
)
from horae.domain.schedules.run_end import end_run
from horae.errors import InvalidRequest


def plan(snapshot: ScheduleSnapshot, event: Event, now: datetime, rng: Random) -> Plan:
    """Return the plan for a schedule after an event at `now`; `rng` draws the jitter of a back-off.

    All moments are aware, and returned in UTC. Raises `InvalidRequest` for a naive `now`.
    """
    if now.utcoffset() is None:
        raise InvalidRequest(f"{now!r}: expected a datetime with a time zone")
    now = now.astimezone(UTC)
    match event:
        case Activated() | Resumed() | Altered() | NextStartSet():
            return change(snapshot, event, now)
        case Due():
            return fire_due(snapshot, now)
        case RunByHand(decided):
            return fire_by_hand(snapshot, decided, now)
        case RunEnded():
            return end_run(snapshot, event, now, rng)
        case _:
            assert_never(event)
