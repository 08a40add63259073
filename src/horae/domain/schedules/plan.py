"""Decides what happens to a schedule now, and when it runs next.

Nothing else computes a next start.

    plan(snapshot, event, now, rng) -> Plan

`ScheduleSnapshot` is the stored state of a schedule, `Plan` the state to store in its place, in one
transaction: the ticks, the job to create (`fire`), `last_tick`, `next_start`, the statistics. They
and the events are in `planning_state.py`.

What always holds:

- `next_start` is None only if no run follows: the schedule is disabled, or executes the last run of
  an exhausted expression. Otherwise it is never before `now`; a start that is due is `now`.
- While a run executes (not with `allow_all`) `next_start` is the next time that comes due, in the
  future: `cancel_other` and `terminate_other` act then. The end of the run sets it again.
- Every nominal time after the old `last_tick` and up to the new one has exactly one decision.
- `next_start` after a retry, a crash or an interval counted from the finish is a nominal time of
  its own. A retry that a nominal time overtakes is dropped: it never was a tick, and has no
  decision.
- A schedule that fails more than `max_retries` times in a row is disabled; failures and crashes
  count alike, cancelled runs do not.
- A run by hand changes neither `next_start` nor `last_tick`, and nor does a retry of an ended run.
- A nominal time that is excluded by a calendar, or skipped once on request, gets its decision when
  it comes: the schedule wakes up at it, but does not run.
- Past times that are to be run (a backfill) begin one by one when nothing executes and no nominal
  time is due.

How the next start is found:

- cron, and fixed intervals: the start of the first nominal time after `last_tick`. After a failure
  or crash the back-off, if it is earlier; cron has one only if `retry_period` is set.
- intervals counted from the finish: `finish + interval`; after a failure or crash the back-off; or
  the moment that a caller set while the schedule was idle.
- after a crash an interval waits at least until five minutes after the scheduler's start.
- an interval counted from a finish that is to come, as the clock was set back, counts from now.
  Nominal times that the clock shows a second time have their decision already, so cron and fixed
  intervals wait until it has caught up.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final, assert_never

from horae.domain.schedules.exclusion import is_excluded
from horae.domain.schedules.planning_state import (
    Activated,
    Altered,
    BackfillChanged,
    ChangeWithdrawn,
    ClockSetBack,
    Due,
    Event,
    NextStartSet,
    Plan,
    Resumed,
    RunByHand,
    RunEnded,
    RunRetried,
    ScheduleSnapshot,
    SkipRequested,
    Stop,
)
from horae.domain.schedules.recovery import (
    CRASH_WAIT,
    failure_delay,
    longest_failure_delay,
    start_after_crash,
)
from horae.domain.schedules.run_times import run_times
from horae.domain.schedules.schedule import CatchUp, DisabledReason, Overlap, Rules
from horae.domain.schedules.skipping import gaps_of, past_gaps, reason_to_skip, spans_of
from horae.domain.schedules.start_changes import change_start
from horae.domain.schedules.statistics import RunOutcome
from horae.domain.schedules.tick import (
    ON_TIME_WITHIN,
    Decision,
    Judgement,
    Reason,
    Ticks,
    backlog,
    judge_late,
    judge_overlapped,
    passed_over,
)
from horae.domain.schedules.timeline import Timeline, hashed_delay
from horae.domain.schedules.trigger import IntervalTrigger
from horae.domain.times import MICROSECOND, Interval
from horae.errors import InvalidRequest

MAX_CLOCK_STEP_BACK: Final = timedelta(seconds=1)
"""If the clock was set back further than this, a run by hand uses the current time, not the latest
decision.
"""

_BAD_ENDS: Final = frozenset({RunOutcome.FAILED, RunOutcome.CRASHED})
_STOPS: Final = {Overlap.CANCEL_OTHER: Stop.CANCEL, Overlap.TERMINATE_OTHER: Stop.TERMINATE}
_NO_BOUND: Final = Interval.parse("100 years")
"""For cron, whose back-off needs no bound: the next nominal time comes first."""


def plan(snapshot: ScheduleSnapshot, event: Event, now: datetime, rng: Random) -> Plan:
    """Return the plan for a schedule after an event at `now`; `rng` draws the jitter of a back-off.

    All moments are aware, and returned in UTC. Raises `InvalidRequest` for a naive `now`, and for a
    next start that cannot be set.
    """
    if now.utcoffset() is None:
        raise InvalidRequest(f"{now!r}: expected a datetime with a time zone")
    now = now.astimezone(UTC)
    unchanged = Plan.unchanged(snapshot)
    match event:
        case Activated() | Resumed():
            return _enable(snapshot, unchanged, event, now)
        case Altered(before):
            return _alter(snapshot, unchanged, before, now)
        case NextStartSet() | SkipRequested() | ChangeWithdrawn() | BackfillChanged():
            return change_start(snapshot, unchanged, event, now)
        case Due() | ClockSetBack():
            act = _act_when_due if isinstance(event, Due) else _pull_in
            return act(snapshot, unchanged, now)
        case RunByHand() | RunRetried():
            return (
                unchanged if snapshot.executing else _start_by_hand(snapshot, unchanged, event, now)
            )
        case RunEnded():
            return _end_run(snapshot, unchanged, event, now, rng)
        case _:
            assert_never(event)


def leaves_plan_alone(
    rules: Rules, last_tick: datetime, next_start: datetime, now: datetime
) -> bool:
    """Return whether a run that succeeds now changes only the statistics: no time came due since,
    and none waits.

    Where many schedules end at the same moment, most of them need no plan then.
    """
    if rules.finish_trigger is not None or rules.overlap is Overlap.ALLOW_ALL or next_start <= now:
        return False
    return Timeline.of(rules).next_start(last_tick) == next_start


# Finding the next start


def _by_trigger(
    snapshot: ScheduleSnapshot, mark: datetime, now: datetime, *, executing: bool
) -> datetime | None:
    """Return the next start by the trigger alone: now if it is overdue, but while a run executes
    one in the future.

    Nominal times count from `mark`. An interval counted from the finish takes the last finish, or
    now while a run executes; before the first run its initial start, or now. Its jitter is less
    than one interval.
    """
    rules, trigger = snapshot.rules, snapshot.rules.finish_trigger
    if trigger is None:
        timeline = Timeline.of(rules)
        return timeline.next_start_past(mark, now) if executing else timeline.first_start(mark, now)
    finish = now if executing else snapshot.statistics.last_finish
    if finish is not None:
        finish = min(finish, now)  # later only if the clock was set back
    if finish is None:
        start = max(trigger.initial_start or now, now).astimezone(UTC)
    else:
        start = trigger.interval.after(finish, trigger.timezone)
    return max(
        start + hashed_delay(rules.key, start, min(rules.jitter, trigger.interval.nominal)), now
    )


def _after_run(
    ended: ScheduleSnapshot, mark: datetime, end: RunEnded, now: datetime, rng: Random
) -> datetime | None:
    """Return the next start after a run: by the trigger, by the back-off, and not too soon after a
    crash.
    """
    rules, planned = ended.rules, ended.next_start
    # A run by hand leaves the next start alone, unless a nominal time passed during the run.
    if end.by_hand and planned is not None and (rules.finish_trigger is not None or planned > now):
        start: datetime | None = max(planned, now)
    else:
        start = _by_trigger(ended, mark, now, executing=False)
        if not end.by_hand and rules.retry_after is not None:
            start = _with_back_off(ended, start, rules.retry_after, end, now, rng)
    held = end.outcome is RunOutcome.CRASHED and isinstance(rules.trigger, IntervalTrigger)
    if held and start is not None and end.scheduler_started is not None:
        return start_after_crash(start, end.scheduler_started)
    return start


def _with_back_off(
    ended: ScheduleSnapshot,
    start: datetime | None,
    retry_after: Interval,
    end: RunEnded,
    now: datetime,
    rng: Random,
) -> datetime | None:
    """Return the start after a bad end: the back-off, or a nominal time that comes before it.

    A run that never began keeps the back-off of the runs before it, if the interval is counted from
    the finish.
    """
    trigger, streak = ended.rules.trigger, ended.statistics.streak(end.others)
    from_finish, bad = ended.rules.finish_trigger is not None, end.outcome in _BAD_ENDS
    if not bad and not (end.outcome is RunOutcome.UNCOUNTED and from_finish and streak):
        return start
    bound = trigger.interval if isinstance(trigger, IntervalTrigger) else _NO_BOUND
    retry = now + failure_delay(streak, retry_after, bound, ended.rules.backoff, rng)
    if start is None or (bad and from_finish):
        return retry
    return min(start, retry) if bad else max(start, retry)


def _pull_in(snapshot: ScheduleSnapshot, unchanged: Plan, now: datetime) -> Plan:
    """Correct a next start that was counted from a finish in the future, because the clock was set
    back: the schedule waits no longer than if its run had finished now.
    """
    finish, planned = snapshot.statistics.last_finish, snapshot.next_start
    if finish is None or planned is None or not now < finish <= planned:
        return unchanged
    rules, trigger = snapshot.rules, snapshot.rules.finish_trigger
    if trigger is None or rules.retry_after is None:
        return unchanged
    interval = trigger.interval
    waits = [
        interval.after(finish, trigger.timezone) - finish + min(rules.jitter, interval.nominal)
    ]
    if streak := snapshot.statistics.streak(int(snapshot.executing)):
        waits += [
            longest_failure_delay(streak, rules.retry_after, interval, rules.backoff),
            CRASH_WAIT,
        ]
    possible = [wait for wait in waits if planned - finish <= wait]
    if not possible:  # a caller has set the next start
        return unchanged
    return replace(unchanged, next_start=min(planned, now + min(possible)))


def _with_next_start(plan: Plan, start: datetime | None, now: datetime, *, executing: bool) -> Plan:
    """Set the next start; without one a schedule that does not execute is exhausted.

    A start that was moved once may come first, and past times that are to be run wait only for a
    run that executes.
    """
    moved = None if plan.change is None else plan.change.start
    if not executing and plan.backfill:
        start = now
    elif not executing and moved is not None:
        start = max(moved if start is None else min(start, moved), now)
    exhausted = DisabledReason.EXHAUSTED if start is None and not executing else None
    return replace(plan, next_start=start, disabled=plan.disabled or exhausted)


# Changes by a caller


def _enable(
    snapshot: ScheduleSnapshot, unchanged: Plan, event: Activated | Resumed, now: datetime
) -> Plan:
    """Start from now: the times that passed are skipped, not caught up."""
    gone, executing = snapshot.disabled is DisabledReason.DEPLOYMENT_GONE, snapshot.executing
    if isinstance(event, Resumed):
        unchanged = replace(unchanged, statistics=snapshot.statistics.resumed())
    elif snapshot.disabled is not None and not gone:
        return unchanged
    reason = Reason.PAUSED if isinstance(event, Resumed) and not gone else Reason.DEPLOYMENT_GONE
    passed = passed_over(Timeline.of(snapshot.rules), snapshot.last_tick or now, now, reason)
    enabled = replace(unchanged, disabled=None, ticks=passed, last_tick=now, change=None)
    return _with_next_start(
        enabled, _by_trigger(snapshot, now, now, executing=executing), now, executing=executing
    )


def _alter(snapshot: ScheduleSnapshot, plan: Plan, before: Rules, now: datetime) -> Plan:
    """Apply new rules; if they decide the same times, the next start stays."""
    rules, mark, executing = snapshot.rules, snapshot.last_tick, snapshot.executing
    if rules.trigger != before.trigger:
        plan = replace(plan, backfill=())  # the new trigger has other nominal times
    same = (rules.trigger, rules.jitter, rules.key) == (before.trigger, before.jitter, before.key)
    new, old = rules.finish_trigger, before.finish_trigger
    awaits_initial_start = (
        new is not None
        and old is not None
        and new.initial_start == old.initial_start
        and not executing
        and snapshot.statistics.last_finish is None
    )
    if snapshot.disabled or mark is None or same or awaits_initial_start:
        return plan
    plan = replace(plan, change=None)
    if rules.finish_trigger is None and rules.trigger != before.trigger:
        passed = passed_over(Timeline.of(before), mark, now, Reason.ALTERED)
        plan, mark = replace(plan, ticks=passed, last_tick=now), now
    start, held = _by_trigger(snapshot, mark, now, executing=executing), snapshot.next_start
    crashed = not executing and _waits_after_crash(snapshot)
    if crashed and start is not None and held is not None:
        start = max(start, held)  # a change of the rules must not shorten the wait after a crash
    return _with_next_start(plan, start, now, executing=executing)


def _waits_after_crash(idle: ScheduleSnapshot) -> bool:
    """Return whether the last run of an idle schedule crashed, so that its next start waits."""
    return idle.statistics.consecutive_crashes > 0 and isinstance(
        idle.rules.trigger, IntervalTrigger
    )


# A schedule that is due, or is run by hand


def _act_when_due(snapshot: ScheduleSnapshot, unchanged: Plan, now: datetime) -> Plan:
    """Fire the time that is due, or stop the run that blocks it; unchanged if nothing is due."""
    rules, planned = snapshot.rules, snapshot.next_start
    if snapshot.disabled or planned is None or planned > now:
        return unchanged
    if rules.finish_trigger is not None:
        if snapshot.executing:
            return unchanged
        return _fire_after_finish(snapshot, unchanged, planned, now)
    if snapshot.started is None or not snapshot.executing:
        return _fire_nominal(snapshot, unchanged, now)
    timeline, mark, change = Timeline.of(rules), snapshot.last_tick or now, snapshot.change
    runs = run_times(timeline, gaps_of(rules, change))
    due = (
        runs.due(mark, now)
        - backlog(rules, runs, mark, snapshot.started)
        + (change is not None and change.start is not None and change.start <= now)
    )
    stop = _STOPS.get(rules.overlap) if due > 0 else None
    return replace(unchanged, stop=stop, next_start=timeline.next_start_past(mark, now))


def _fire_nominal(snapshot: ScheduleSnapshot, unchanged: Plan, now: datetime) -> Plan:
    """Decide the times due on a timeline: waiting ones, new ones, or a run besides them."""
    rules, mark = snapshot.rules, snapshot.last_tick or now
    timeline = Timeline.of(rules)
    runs = run_times(timeline, gaps_of(rules, snapshot.change))
    # Times that came due before the last run ended were judged then, and left to be fired.
    finish, waiting = snapshot.statistics.last_finish, 0
    if finish is not None and rules.overlap is not Overlap.ALLOW_ALL:
        waiting = runs.due(mark, min(finish, now))
    judgement = judge_late(rules, runs, mark, now)
    # Those that come during the wait after a crash are late as well, and so judged together.
    waited = waiting > (judgement.kept if _waits_after_crash(snapshot) else 0)
    if waited:
        judgement = Judgement((), waiting)
    mark = judgement.mark_after(mark)
    plan = replace(unchanged, ticks=judgement.dropped, last_tick=mark)
    if judgement.kept:
        mark = runs.nth(mark, 1, now)
        late = waited or now - timeline.start_of(mark) > ON_TIME_WITHIN
        if waited and rules.overlap is not Overlap.SKIP:
            reason = Reason.BUFFERED
        elif rules.catch_up is CatchUp.ALL and (late or judgement.kept > 1):
            reason = Reason.CATCH_UP
        else:
            reason = Reason.LATE if late else Reason.ON_TIME
        plan = _fire(replace(plan, last_tick=mark), mark, reason)
    else:
        plan = _fire_beside(snapshot, plan, mark, now)
    plan = past_gaps(snapshot, plan, now)
    executing = plan.fired is not None and rules.overlap is not Overlap.ALLOW_ALL
    start = _by_trigger(snapshot, plan.last_tick or now, now, executing=executing)
    return _with_next_start(plan, start, now, executing=executing)


def _fire_beside(snapshot: ScheduleSnapshot, plan: Plan, mark: datetime, now: datetime) -> Plan:
    """Fire at a time other than the next nominal one: a moved start, a past time, or a retry."""
    change, planned, timeline = snapshot.change, snapshot.next_start, Timeline.of(snapshot.rules)
    if change is not None and change.start is not None and change.start <= now:
        begun = replace(plan, change=replace(change, start=None))
        return _fire(begun, timeline.beside(change.start), Reason.MOVED)
    if snapshot.backfill:
        return _fire(
            replace(plan, backfill=snapshot.backfill[1:]), snapshot.backfill[0], Reason.BACKFILL
        )
    if planned is None or not snapshot.statistics.streak() or planned <= timeline.start_of(mark):
        return plan  # nothing failed, or a nominal time has overtaken the retry
    if planned == timeline.next_start(snapshot.last_tick or now) or is_excluded(
        spans_of(snapshot.rules), planned
    ):
        return plan  # the time will be skipped, or a retry then is excluded
    return _fire(plan, timeline.beside(planned), Reason.RETRY)


def _fire_after_finish(
    snapshot: ScheduleSnapshot, unchanged: Plan, nominal: datetime, now: datetime
) -> Plan:
    """Fire at the planned start, however late: there is no other time to catch up."""
    if (skipped := reason_to_skip(snapshot.rules, snapshot.change, nominal)) is not None:
        # The next time is counted from the one that is skipped.
        counted = replace(snapshot, statistics=replace(snapshot.statistics, last_finish=nominal))
        return replace(
            unchanged,
            ticks=(Ticks(nominal, nominal, 1, Decision.SKIPPED, skipped),),
            last_tick=nominal,
            next_start=_by_trigger(counted, nominal, now, executing=False),
            change=snapshot.change if skipped is Reason.EXCLUDED else None,
        )
    reason = Reason.LATE if now - nominal > ON_TIME_WITHIN else Reason.ON_TIME
    if snapshot.statistics.streak():
        reason = Reason.RETRY
    start = _by_trigger(snapshot, nominal, now, executing=True)
    return replace(_fire(unchanged, nominal, reason), last_tick=nominal, next_start=start)


def _start_by_hand(
    snapshot: ScheduleSnapshot, unchanged: Plan, event: RunByHand | RunRetried, now: datetime
) -> Plan:
    """Fire at a moment that is no nominal time, or count a run for one that has its decision;
    nothing else changes.
    """
    if isinstance(event, RunRetried):
        return replace(unchanged, statistics=unchanged.statistics.started())
    decided = event.decided
    # Two runs by hand within a microsecond need two times.
    nominal = (
        decided + MICROSECOND
        if decided and timedelta(0) <= decided - now < MAX_CLOCK_STEP_BACK
        else now
    )
    if snapshot.rules.finish_trigger is None:
        nominal = Timeline.of(snapshot.rules).beside(nominal)
    else:
        while nominal in {snapshot.last_tick, snapshot.next_start}:
            nominal += MICROSECOND
    return _fire(unchanged, nominal, Reason.MANUAL)


def _fire(plan: Plan, nominal: datetime, reason: Reason) -> Plan:
    ticks = (*plan.ticks, Ticks.fired(nominal, reason))
    return replace(plan, ticks=ticks, statistics=plan.statistics.started())


# The end of a run


def _end_run(
    snapshot: ScheduleSnapshot, unchanged: Plan, end: RunEnded, now: datetime, rng: Random
) -> Plan:
    """Count the run, decide the times that passed during it, and find the next start."""
    # The time for which it waited for a slot is not a part of its duration.
    began = end.started if end.took is None else now - end.took
    statistics = snapshot.statistics.ended(end.outcome, now, began=began, others=end.others)
    counted, rules = replace(snapshot, statistics=statistics), snapshot.rules
    ended = replace(unchanged, statistics=statistics, next_start=None)
    if snapshot.disabled is not None:
        return ended
    mark = snapshot.last_tick or now
    judgement = _judge_end(snapshot, end, mark, now)
    ended = replace(ended, ticks=judgement.dropped, last_tick=judgement.mark_after(mark))
    ended = past_gaps(snapshot, ended, now)
    failed_too_often = (
        rules.max_retries is not None and statistics.streak(end.others) > rules.max_retries
    )
    if failed_too_often and end.outcome in _BAD_ENDS:
        return replace(ended, disabled=DisabledReason.RETRIES_USED_UP)
    return _with_next_start(
        ended, _after_run(counted, ended.last_tick or now, end, now, rng), now, executing=False
    )


def _judge_end(
    snapshot: ScheduleSnapshot, end: RunEnded, mark: datetime, now: datetime
) -> Judgement:
    """Judge the times by `overlap`; after a crash by `catch_up` as well, and take the judgement
    that keeps more times.

    Part of the time nothing was running: if a nightly run crashed with its machine and is found a
    day and a half later, `overlap` alone would skip the following night as well. A run for a past
    time leaves the newest time to be run: it was not meant to take the place of a present one.
    """
    rules = snapshot.rules
    runs = run_times(Timeline.of(rules), gaps_of(rules, snapshot.change))
    overlapped = judge_overlapped(rules, runs, mark, end.started, now, least=int(end.backfill))
    if end.outcome is not RunOutcome.CRASHED:
        return overlapped
    late = judge_late(rules, runs, mark, now)
    return late if late.kept >= overlapped.kept else overlapped
