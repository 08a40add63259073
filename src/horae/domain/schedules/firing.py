"""Plans a schedule that is due, or that is run by hand."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from horae.domain.schedules.from_finish import start_after_finish
from horae.domain.schedules.planning_state import Plan, ScheduleSnapshot, Stop
from horae.domain.schedules.schedule import CatchUp, Overlap, Rules
from horae.domain.schedules.tick import ON_TIME_WITHIN, Judgement, Reason, Ticks, backlog, judge_late
from horae.domain.schedules.timeline import MICROSECOND, Timeline
from horae.domain.schedules.trigger import IntervalTrigger

MAX_CLOCK_STEP_BACK: Final = timedelta(seconds=1)
"""If the clock was set back further than this, a run by hand uses the current time, not the latest decision."""
_STOPS: Final = {Overlap.CANCEL_OTHER: Stop.CANCEL, Overlap.TERMINATE_OTHER: Stop.TERMINATE}


def fire_due(snapshot: ScheduleSnapshot, now: datetime) -> Plan:
    """Fire the time that is due, or tell the run that blocks it to stop; unchanged if nothing is due."""
    unchanged = Plan.unchanged(snapshot)
    if snapshot.disabled or snapshot.next_start is None or snapshot.next_start > now:
        return unchanged
    if (trigger := snapshot.rules.finish_trigger) is not None:
        return unchanged if snapshot.executing else _fire_from_finish(snapshot, trigger, snapshot.next_start, now)
    timeline = Timeline.of(snapshot.rules)
    mark = snapshot.last_tick or now
    if snapshot.started is not None and snapshot.executing:
        due = timeline.due(mark, now) - backlog(snapshot.rules, timeline, mark, snapshot.started)
        stop = _STOPS.get(snapshot.rules.overlap) if due > 0 else None
        return replace(unchanged, stop=stop, next_start=timeline.next_start_past(mark, now))
    return _fire_nominal(snapshot, timeline, mark, now)


def fire_by_hand(snapshot: ScheduleSnapshot, decided: datetime | None, now: datetime) -> Plan:
    """Fire at a moment that is no nominal time, and leave everything else as it is."""
    unchanged = Plan.unchanged(snapshot)
    if snapshot.executing:
        return unchanged
    nominal = _after(decided, now)
    if snapshot.rules.finish_trigger is not None:
        while nominal in {snapshot.last_tick, snapshot.next_start}:
            nominal += MICROSECOND
    else:
        nominal = Timeline.of(snapshot.rules).beside(nominal)
    return _fired(unchanged, Ticks.fired(nominal, Reason.MANUAL))


def _after(decided: datetime | None, now: datetime) -> datetime:
    """Return a time after the latest decision: two runs by hand within a microsecond need two times."""
    return decided + MICROSECOND if decided is not None and timedelta(0) <= decided - now < MAX_CLOCK_STEP_BACK else now


def _fire_nominal(snapshot: ScheduleSnapshot, timeline: Timeline, mark: datetime, now: datetime) -> Plan:
    """Decide the times that are due on a timeline: those that waited, new ones, or else a retry."""
    rules = snapshot.rules
    waiting = _waiting(snapshot, timeline, mark, now)
    judgement = Judgement((), waiting) if waiting else judge_late(rules, timeline, mark, now)
    mark = judgement.mark_after(mark)
    tick: Ticks | None
    if judgement.kept:
        mark = timeline.nth(mark, 1, now)
        late = now - timeline.start_of(mark) > ON_TIME_WITHIN
        tick = Ticks.fired(mark, _reason_of_waiting(rules) if waiting else _reason(rules, judgement, late=late))
    else:
        tick = _retry(snapshot, timeline, mark)
    plan = replace(Plan.unchanged(snapshot), ticks=judgement.dropped, last_tick=mark)
    if tick is not None:
        plan = _fired(plan, tick)
    if tick is None or rules.overlap is Overlap.ALLOW_ALL:
        return replace(plan, next_start=timeline.first_start(mark, now)).unless_exhausted()
    return replace(plan, next_start=timeline.next_start_past(mark, now))


def _fire_from_finish(snapshot: ScheduleSnapshot, trigger: IntervalTrigger, nominal: datetime, now: datetime) -> Plan:
    """Fire at the planned start, however late: there is no other time to catch up."""
    reason = Reason.LATE if now - nominal > ON_TIME_WITHIN else Reason.ON_TIME
    if snapshot.statistics.streak():
        reason = Reason.RETRY
    fired = _fired(Plan.unchanged(snapshot), Ticks.fired(nominal, reason))
    return replace(fired, last_tick=nominal, next_start=start_after_finish(snapshot.rules, trigger, now))


def _fired(plan: Plan, tick: Ticks) -> Plan:
    return replace(plan, ticks=(*plan.ticks, tick), fire=tick.first, statistics=plan.statistics.started())


def _waiting(snapshot: ScheduleSnapshot, timeline: Timeline, mark: datetime, now: datetime) -> int:
    """Count the times that the end of the last run left to be fired; they are not judged again."""
    finish = snapshot.statistics.last_finish
    if finish is None or snapshot.rules.overlap is Overlap.ALLOW_ALL:
        return 0
    return timeline.due(mark, min(finish, now))


def _retry(snapshot: ScheduleSnapshot, timeline: Timeline, mark: datetime) -> Ticks | None:
    """Fire the planned start of a retry as a time of its own, unless a nominal time has overtaken it."""
    planned = snapshot.next_start
    if planned is None or not snapshot.statistics.streak() or planned <= timeline.start_of(mark):
        return None
    return Ticks.fired(timeline.beside(planned), Reason.RETRY)


def _reason_of_waiting(rules: Rules) -> Reason:
    if rules.overlap is not Overlap.SKIP:
        return Reason.BUFFERED
    return Reason.CATCH_UP if rules.catch_up is CatchUp.ALL else Reason.LATE


def _reason(rules: Rules, judgement: Judgement, *, late: bool) -> Reason:
    if rules.catch_up is CatchUp.ALL and (late or judgement.kept > 1):
        return Reason.CATCH_UP
    return Reason.LATE if late else Reason.ON_TIME
