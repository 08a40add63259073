"""Plans a schedule that was created, resumed or altered, or whose next start was set."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import assert_never

from horae.domain.schedules.from_finish import delayed, start_after_finish
from horae.domain.schedules.planning_state import (
    Activated,
    Altered,
    Change,
    NextStartSet,
    Plan,
    Resumed,
    ScheduleSnapshot,
)
from horae.domain.schedules.schedule import DisabledReason, Rules
from horae.domain.schedules.tick import Reason, passed_over
from horae.domain.schedules.timeline import Timeline
from horae.domain.schedules.trigger import IntervalTrigger
from horae.errors import InvalidRequest


def change(snapshot: ScheduleSnapshot, event: Change, now: datetime) -> Plan:
    """Return the plan of a schedule that a caller has changed."""
    match event:
        case Activated():
            return activate(snapshot, now)
        case Resumed():
            return resume(snapshot, now)
        case Altered(before):
            return alter(snapshot, before, now)
        case NextStartSet(next_start):
            return move(snapshot, next_start, now)
        case _:
            assert_never(event)


def activate(snapshot: ScheduleSnapshot, now: datetime) -> Plan:
    """Plan the first start after creation, or after its deployment went live again."""
    if snapshot.disabled not in {None, DisabledReason.DEPLOYMENT_GONE}:
        return Plan.unchanged(snapshot)
    return _begin(snapshot, now, Reason.DEPLOYMENT_GONE)


def resume(snapshot: ScheduleSnapshot, now: datetime) -> Plan:
    """Enable the schedule and clear its streaks."""
    gone = snapshot.disabled is DisabledReason.DEPLOYMENT_GONE
    fresh = replace(snapshot, statistics=snapshot.statistics.resumed())
    return _begin(fresh, now, Reason.DEPLOYMENT_GONE if gone else Reason.PAUSED)


def alter(snapshot: ScheduleSnapshot, before: Rules, now: datetime) -> Plan:
    """Apply new rules; if they decide the same times, the next start stays."""
    rules = snapshot.rules
    unchanged = Plan.unchanged(snapshot)
    if snapshot.disabled or snapshot.last_tick is None or _times_of(rules) == _times_of(before):
        return unchanged
    if (trigger := rules.finish_trigger) is not None:
        return replace(unchanged, next_start=_start_from_finish_after_change(snapshot, trigger, before, now))
    if rules.trigger == before.trigger:  # only the jitter differs
        changed = replace(unchanged, next_start=_upcoming(snapshot, snapshot.last_tick, now))
    else:
        ticks = (
            () if before.finish_trigger else passed_over(Timeline.of(before), snapshot.last_tick, now, Reason.ALTERED)
        )
        start = _held_after_crash(snapshot, _upcoming(snapshot, now, now))
        changed = replace(unchanged, ticks=ticks, last_tick=now, next_start=start)
    return changed if snapshot.executing else changed.unless_exhausted()


def move(snapshot: ScheduleSnapshot, next_start: datetime, now: datetime) -> Plan:
    """Apply a next start. Raises `InvalidRequest` if the trigger decides the times, or if no run may start."""
    if (problem := _problem_with_moving(snapshot)) is not None:
        raise InvalidRequest(f"next_start {problem}")
    return replace(Plan.unchanged(snapshot), next_start=max(next_start.astimezone(UTC), now))


def _problem_with_moving(snapshot: ScheduleSnapshot) -> str | None:
    if snapshot.rules.finish_trigger is None and snapshot.rules.trigger.kind == "cron":
        return (
            "does not go with cron, whose times are those of the expression: "
            "to start later, pause it until then; to run it once more, run it by hand"
        )
    if snapshot.rules.finish_trigger is None:
        return "does not go with fixed: initial_start moves the grid; to run it once more, run it by hand"
    if snapshot.disabled is not None:
        return f"has no effect on a schedule that is disabled ({snapshot.disabled}); resume it first"
    return "cannot be set while a run executes: its end sets it" if snapshot.executing else None


def _begin(snapshot: ScheduleSnapshot, now: datetime, reason: Reason) -> Plan:
    """Start again from now: times that passed are not caught up."""
    rules, mark = snapshot.rules, snapshot.last_tick
    begun = replace(Plan.unchanged(snapshot), disabled=None, last_tick=now)
    if (trigger := rules.finish_trigger) is not None:
        executing = snapshot.executing
        start = start_after_finish(rules, trigger, now) if executing else _start_from_finish(snapshot, trigger, now)
        return replace(begun, next_start=start)
    timeline = Timeline.of(rules)
    ticks = () if mark is None else passed_over(timeline, mark, now, reason)
    begun = replace(begun, ticks=ticks, next_start=timeline.next_start(now))
    return begun if snapshot.executing else begun.unless_exhausted()


def _start_from_finish(snapshot: ScheduleSnapshot, trigger: IntervalTrigger, now: datetime) -> datetime:
    """An interval after the last finish; for a schedule that never ran, its initial start, or now."""
    finish = snapshot.statistics.last_finish
    if finish is not None:
        return max(start_after_finish(snapshot.rules, trigger, finish), now)
    return delayed(snapshot.rules, trigger, max(trigger.initial_start or now, now).astimezone(UTC))


def _start_from_finish_after_change(
    snapshot: ScheduleSnapshot, trigger: IntervalTrigger, before: Rules, now: datetime
) -> datetime | None:
    if snapshot.executing:
        return start_after_finish(snapshot.rules, trigger, now)
    never_ran = snapshot.statistics.last_finish is None
    if never_ran and before.finish_trigger and before.finish_trigger.initial_start == trigger.initial_start:
        return snapshot.next_start
    return _held_after_crash(snapshot, _start_from_finish(snapshot, trigger, now))


def _upcoming(snapshot: ScheduleSnapshot, mark: datetime, now: datetime) -> datetime | None:
    timeline = Timeline.of(snapshot.rules)
    return timeline.next_start_past(mark, now) if snapshot.executing else timeline.first_start(mark, now)


def _held_after_crash(snapshot: ScheduleSnapshot, start: datetime | None) -> datetime | None:
    """Keep the wait after a crash: a change of the rules must not shorten it."""
    held = snapshot.next_start
    crashed = snapshot.statistics.consecutive_crashes and not snapshot.executing
    if not crashed or held is None or start is None or not isinstance(snapshot.rules.trigger, IntervalTrigger):
        return start
    return max(start, held)


def _times_of(rules: Rules) -> tuple[object, ...]:
    """Return the rules that decide the nominal times and their starts."""
    return rules.trigger, rules.jitter, rules.key
