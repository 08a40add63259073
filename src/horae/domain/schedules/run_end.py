"""Plans a schedule whose run has ended: decides the times that passed during the run, and the next start."""

from dataclasses import replace
from datetime import datetime
from random import Random
from typing import Final

from horae.domain.schedules.from_finish import start_after_finish
from horae.domain.schedules.planning_state import Plan, RunEnded, ScheduleSnapshot
from horae.domain.schedules.recovery import failure_delay, start_after_crash
from horae.domain.schedules.schedule import DisabledReason, Overlap, Rules
from horae.domain.schedules.statistics import RunOutcome, Statistics
from horae.domain.schedules.tick import Judgement, judge_late, judge_overlapped
from horae.domain.schedules.timeline import Timeline
from horae.domain.schedules.trigger import IntervalTrigger
from horae.domain.times.interval import Interval

_BAD_ENDS: Final = frozenset({RunOutcome.FAILED, RunOutcome.CRASHED})

_NO_BOUND: Final = Interval.parse("100 years")
"""For cron, whose back-off needs no bound: the next nominal time comes first."""


def end_run(snapshot: ScheduleSnapshot, end: RunEnded, now: datetime, rng: Random) -> Plan:
    """Count the run, decide the times that passed during it, and find the next start."""
    statistics = _counted(snapshot.statistics, end, now)
    after = replace(snapshot, statistics=statistics)
    if snapshot.disabled is not None:
        return replace(Plan.unchanged(after), next_start=None)
    ended = replace(Plan.unchanged(after), next_start=None)
    if snapshot.rules.finish_trigger is None:
        mark = snapshot.last_tick or now
        judgement = _judgement(snapshot.rules, end, mark, now)
        ended = replace(ended, ticks=judgement.dropped, last_tick=judgement.mark_after(mark))
    if _retries_used_up(after, end):
        return replace(ended, disabled=DisabledReason.RETRIES_USED_UP)
    return replace(ended, next_start=_next_start(after, ended, end, now, rng)).unless_exhausted()


def _counted(statistics: Statistics, end: RunEnded, now: datetime) -> Statistics:
    """Count the run; the time it waited for a slot does not count as duration."""
    began = end.started if end.took is None else now - end.took
    return statistics.ended(end.outcome, now, began=began, others=end.others)


def leaves_plan_alone(rules: Rules, last_tick: datetime, next_start: datetime, now: datetime) -> bool:
    """Return whether a run that succeeds now changes only the statistics: no time came due since, and none waits.

    Where many schedules end at the same moment, most of them need no plan then.
    """
    if rules.finish_trigger is not None or rules.overlap is Overlap.ALLOW_ALL or next_start <= now:
        return False
    return Timeline.of(rules).next_start(last_tick) == next_start


def _judgement(rules: Rules, end: RunEnded, mark: datetime, now: datetime) -> Judgement:
    """Judge the times by `overlap`; after a crash by `catch_up` as well, and take the judgement that keeps more times.

    Part of the time nothing was running: if a nightly run crashed with its machine and is found a day and a half later,
    `overlap` alone would skip the following night as well.
    """
    timeline = Timeline.of(rules)
    overlapped = judge_overlapped(rules, timeline, mark, end.started, now)
    if end.outcome is not RunOutcome.CRASHED:
        return overlapped
    return max(judge_late(rules, timeline, mark, now), overlapped, key=_kept)


def _kept(judgement: Judgement) -> int:
    return judgement.kept


def _retries_used_up(after: ScheduleSnapshot, end: RunEnded) -> bool:
    retries = after.rules.max_retries
    return retries is not None and end.outcome in _BAD_ENDS and after.statistics.streak(end.others) > retries


def _next_start(after: ScheduleSnapshot, ended: Plan, end: RunEnded, now: datetime, rng: Random) -> datetime | None:
    start = _planned(after, ended, end, now, rng)
    held = end.outcome is RunOutcome.CRASHED and isinstance(after.rules.trigger, IntervalTrigger)
    if held and start is not None and end.scheduler_started is not None:
        return start_after_crash(start, end.scheduler_started)
    return start


def _planned(after: ScheduleSnapshot, ended: Plan, end: RunEnded, now: datetime, rng: Random) -> datetime | None:
    """Find the next start, before a crash holds it back."""
    rules, trigger, planned = after.rules, after.rules.finish_trigger, after.next_start
    # A run by hand leaves the next start alone, unless a nominal time passed during the run.
    if end.by_hand and planned is not None and (trigger is not None or planned > now):
        return max(planned, now)
    retry = None if end.by_hand or end.outcome not in _BAD_ENDS else _retry(after, end, now, rng)
    if trigger is not None:
        return retry or _after_interval(after, trigger, end, now, rng)
    start = Timeline.of(rules).first_start(ended.last_tick or now, now)
    return min((moment for moment in (start, retry) if moment is not None), default=None)


def _after_interval(
    after: ScheduleSnapshot, trigger: IntervalTrigger, end: RunEnded, now: datetime, rng: Random
) -> datetime:
    """Count the interval from now; a run that never began keeps the back-off of the runs before it."""
    start = start_after_finish(after.rules, trigger, now)
    if end.outcome is not RunOutcome.NEVER_BEGUN or not after.statistics.streak(end.others):
        return start
    return max(start, _retry(after, end, now, rng) or start)


def _retry(after: ScheduleSnapshot, end: RunEnded, now: datetime, rng: Random) -> datetime | None:
    """Return now plus the back-off; None if the rules have no back-off."""
    rules = after.rules
    if rules.retry_after is None:
        return None
    bound = rules.trigger.interval if isinstance(rules.trigger, IntervalTrigger) else _NO_BOUND
    failures = max(after.statistics.streak(end.others), 1)
    return now + failure_delay(failures, rules.retry_after, bound, rules.backoff, rng)
