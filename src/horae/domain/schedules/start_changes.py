"""Changes of the next start by a caller, each made once: after it the schedule goes on by its
rules.
"""

from dataclasses import replace
from datetime import UTC, datetime
from typing import assert_never

from horae.domain.schedules.planning_state import (
    BackfillChanged,
    ChangeWithdrawn,
    NextStartSet,
    OneTimeChange,
    Plan,
    ScheduleSnapshot,
    SkipRequested,
    StartChange,
)
from horae.domain.schedules.run_times import RunTimes
from horae.domain.schedules.schedule import Rules
from horae.domain.schedules.skipping import gaps_of
from horae.domain.schedules.tick import Reason
from horae.domain.schedules.timeline import Timeline
from horae.errors import InvalidRequest
from horae.sentences import SentenceCode


def change_start(
    snapshot: ScheduleSnapshot, unchanged: Plan, event: StartChange, now: datetime
) -> Plan:
    """Return the plan after a change of the next start.

    Raises `InvalidRequest` for one that has no effect.
    """
    match event:
        case NextStartSet(next_start):
            return _set_next_start(snapshot, unchanged, next_start.astimezone(UTC), now)
        case SkipRequested():
            return _request_skip(snapshot, unchanged, now)
        case ChangeWithdrawn():
            # The nominal times that it has skipped so far stay skipped.
            return _without_moved_start(snapshot, replace(unchanged, change=None), now)
        case BackfillChanged():
            return _change_backfill(snapshot, unchanged, now)
        case _:
            assert_never(event)


def _set_next_start(
    snapshot: ScheduleSnapshot, unchanged: Plan, wanted: datetime, now: datetime
) -> Plan:
    """Move the next start; a moment in the past means now.

    Raises `InvalidRequest` if no run can begin then.
    """
    _refuse_if_disabled(snapshot, "next_start")
    if snapshot.executing:
        raise InvalidRequest(
            "next_start cannot be set while a run executes: its end sets it",
            SentenceCode.VALUE_WHILE_RUNNING,
        )
    start = max(wanted, now)
    if snapshot.rules.finish_trigger is not None:
        return replace(unchanged, next_start=start)
    nominal = _next_run(snapshot.rules, snapshot.last_tick or now)
    change = OneTimeChange(skip_until=max(nominal, start), reason=Reason.REPLACED, start=start)
    # The times until then are skipped as they come, so the schedule wakes up for them as well.
    return replace(
        unchanged, change=change, next_start=min(start, _by_timeline(snapshot, now) or start)
    )


def _request_skip(snapshot: ScheduleSnapshot, unchanged: Plan, now: datetime) -> Plan:
    """Skip the next nominal time; one that is skipped already stays the only one.

    Raises `InvalidRequest`.
    """
    _refuse_if_disabled(snapshot, "skip_next")
    if snapshot.rules.finish_trigger is not None:
        if snapshot.executing or snapshot.next_start is None:
            raise InvalidRequest(
                "skip_next cannot be set while a run executes: the next time is counted from"
                " its end",
                SentenceCode.VALUE_WHILE_RUNNING,
            )
        nominal = max(snapshot.next_start, now)
        requested = OneTimeChange(skip_until=nominal, reason=Reason.REQUESTED)
        return replace(unchanged, change=requested, next_start=nominal)
    mark, change = snapshot.last_tick or now, snapshot.change
    if change is not None and change.reason is Reason.REQUESTED and change.skip_until > mark:
        return unchanged
    timeline = Timeline.of(snapshot.rules)
    due = timeline.due(mark, now)
    nominal = _next_run(snapshot.rules, timeline.nth(mark, due, now) if due else mark)
    skipped = replace(unchanged, change=OneTimeChange(skip_until=nominal, reason=Reason.REQUESTED))
    return _without_moved_start(snapshot, skipped, now)


def _change_backfill(snapshot: ScheduleSnapshot, unchanged: Plan, now: datetime) -> Plan:
    """Start now for the first of the past times; without one return to the start by the rules."""
    if snapshot.backfill:
        _refuse_if_disabled(snapshot, "backfill")
    if (
        snapshot.executing
        or snapshot.disabled is not None
        or snapshot.rules.finish_trigger is not None
    ):
        return unchanged
    moved = None if snapshot.change is None else snapshot.change.start
    by_rules = min(filter(None, (_by_timeline(snapshot, now), moved)), default=None)
    return replace(unchanged, next_start=now if snapshot.backfill else by_rules)


def _without_moved_start(snapshot: ScheduleSnapshot, plan: Plan, now: datetime) -> Plan:
    """Return to the start by the rules if the start was moved; a start that waits for something
    else stays.
    """
    moved = snapshot.change is not None and snapshot.change.start is not None
    if moved and not snapshot.executing:
        return replace(plan, next_start=_by_timeline(snapshot, now))
    return plan


def _by_timeline(snapshot: ScheduleSnapshot, now: datetime) -> datetime | None:
    return Timeline.of(snapshot.rules).first_start(snapshot.last_tick or now, now)


def _next_run(rules: Rules, mark: datetime) -> datetime:
    nominal = RunTimes(Timeline.of(rules), gaps_of(rules, None)).after(mark)
    if nominal is None:
        raise InvalidRequest(
            "there is no next run: the schedule's times are over, or all are excluded",
            SentenceCode.VALUE_NO_NEXT_RUN,
        )
    return nominal


def _refuse_if_disabled(snapshot: ScheduleSnapshot, what: str) -> None:
    if snapshot.disabled is not None:
        raise InvalidRequest(
            f"{what} has no effect on a schedule that is disabled ({snapshot.disabled}); resume"
            " it first",
            SentenceCode.VALUE_WHILE_DISABLED,
        )
