"""What happens when a schedule is created, resumed, altered or told when to start next."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import assert_never

from horae.domain.schedules.from_finish import delayed, start_after_finish
from horae.domain.schedules.planning_state import Activated, Altered, Change, Moved, Plan, Resumed, Standing
from horae.domain.schedules.schedule import DisabledReason, Rules
from horae.domain.schedules.tick import Reason, passed_over
from horae.domain.schedules.timeline import Timeline
from horae.domain.schedules.trigger import IntervalTrigger
from horae.errors import InvalidRequest


def change(standing: Standing, event: Change, now: datetime) -> Plan:
    """Say what becomes of a schedule that somebody has changed."""
    match event:
        case Activated():
            return activate(standing, now)
        case Resumed():
            return resume(standing, now)
        case Altered(before):
            return alter(standing, before, now)
        case Moved(next_start):
            return move(standing, next_start, now)
        case _:
            assert_never(event)


def activate(standing: Standing, now: datetime) -> Plan:
    """Plan the first start after creation, or after its deployment went live again."""
    if standing.disabled not in {None, DisabledReason.DEPLOYMENT_GONE}:
        return Plan.unchanged(standing)
    return _begin(standing, now, Reason.DEPLOYMENT_GONE)


def resume(standing: Standing, now: datetime) -> Plan:
    """Enable it, with its streaks cleared."""
    gone = standing.disabled is DisabledReason.DEPLOYMENT_GONE
    fresh = replace(standing, statistics=standing.statistics.resumed())
    return _begin(fresh, now, Reason.DEPLOYMENT_GONE if gone else Reason.PAUSED)


def alter(standing: Standing, before: Rules, now: datetime) -> Plan:
    """Take over new rules; if they decide the same times, the next start stays."""
    rules = standing.rules
    unchanged = Plan.unchanged(standing)
    if standing.disabled or standing.last_tick is None or _times_of(rules) == _times_of(before):
        return unchanged
    if (trigger := rules.drifting) is not None:
        return replace(unchanged, next_start=_drifting_after_change(standing, trigger, before, now))
    if rules.trigger == before.trigger:  # only the jitter is another
        changed = replace(unchanged, next_start=_upcoming(standing, standing.last_tick, now))
    else:
        ticks = () if before.drifting else passed_over(Timeline.of(before), standing.last_tick, now, Reason.ALTERED)
        start = _held_after_crash(standing, _upcoming(standing, now, now))
        changed = replace(unchanged, ticks=ticks, last_tick=now, next_start=start)
    return changed if standing.executing else changed.unless_exhausted()


def move(standing: Standing, next_start: datetime, now: datetime) -> Plan:
    """Take over a next start. Raises `InvalidRequest` where the times are the trigger's, or nothing is to start."""
    if (problem := _problem_with_moving(standing)) is not None:
        raise InvalidRequest(f"next_start {problem}")
    return replace(Plan.unchanged(standing), next_start=max(next_start.astimezone(UTC), now))


def _problem_with_moving(standing: Standing) -> str | None:
    if standing.rules.drifting is None and standing.rules.trigger.kind == "cron":
        return (
            "does not go with cron, whose times are those of the expression: "
            "to start later, pause it until then; to run it once more, run it by hand"
        )
    if standing.rules.drifting is None:
        return "does not go with fixed: initial_start moves the grid; to run it once more, run it by hand"
    if standing.disabled is not None:
        return f"has no effect on a schedule that is disabled ({standing.disabled}); resume it first"
    return "cannot be set while a run goes on, for its end sets it" if standing.executing else None


def _begin(standing: Standing, now: datetime, reason: Reason) -> Plan:
    """Start afresh from now: nothing that passed is made up for."""
    rules, mark = standing.rules, standing.last_tick
    begun = replace(Plan.unchanged(standing), disabled=None, last_tick=now)
    if (trigger := rules.drifting) is not None:
        executing = standing.executing
        start = start_after_finish(rules, trigger, now) if executing else _drifting_start(standing, trigger, now)
        return replace(begun, next_start=start)
    timeline = Timeline.of(rules)
    ticks = () if mark is None else passed_over(timeline, mark, now, reason)
    begun = replace(begun, ticks=ticks, next_start=timeline.next_start(now))
    return begun if standing.executing else begun.unless_exhausted()


def _drifting_start(standing: Standing, trigger: IntervalTrigger, now: datetime) -> datetime:
    """An interval after the last finish; for a schedule that never ran, its initial start, or now."""
    finish = standing.statistics.last_finish
    if finish is not None:
        return max(start_after_finish(standing.rules, trigger, finish), now)
    return delayed(standing.rules, trigger, max(trigger.initial_start or now, now).astimezone(UTC))


def _drifting_after_change(
    standing: Standing, trigger: IntervalTrigger, before: Rules, now: datetime
) -> datetime | None:
    if standing.executing:
        return start_after_finish(standing.rules, trigger, now)
    never_ran = standing.statistics.last_finish is None
    if never_ran and before.drifting and before.drifting.initial_start == trigger.initial_start:
        return standing.next_start
    return _held_after_crash(standing, _drifting_start(standing, trigger, now))


def _upcoming(standing: Standing, mark: datetime, now: datetime) -> datetime | None:
    timeline = Timeline.of(standing.rules)
    return timeline.next_start_past(mark, now) if standing.executing else timeline.first_start(mark, now)


def _held_after_crash(standing: Standing, start: datetime | None) -> datetime | None:
    """Keep the wait after a crash: a change of the times must not shorten it."""
    held = standing.next_start
    crashed = standing.statistics.consecutive_crashes and not standing.executing
    if not crashed or held is None or start is None or not isinstance(standing.rules.trigger, IntervalTrigger):
        return start
    return max(start, held)


def _times_of(rules: Rules) -> tuple[object, ...]:
    """What alone decides the nominal times and their starts."""
    return rules.trigger, rules.jitter, rules.key
