"""The next starts of a schedule and the nominal times that it will skip; failures, pauses and long
runs change them.
"""

from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from horae.domain.schedules.planning_state import OneTimeChange
from horae.domain.schedules.run_times import run_times
from horae.domain.schedules.schedule import Rules
from horae.domain.schedules.skipping import gaps_of, reason_to_skip, skipped_between
from horae.domain.schedules.tick import Decision, Ticks
from horae.domain.schedules.timeline import Timeline
from horae.domain.times import MICROSECOND


def upcoming(
    rules: Rules,
    next_start: datetime | None,
    now: datetime,
    count: int,
    *,
    executing: bool = False,
    change: OneTimeChange | None = None,
) -> list[datetime]:
    """List up to `count` of the next starts of a schedule, in UTC; an overdue one comes first.

    An interval counted from the finish has at most one, and none while a run executes
    (`executing`).
    """
    if next_start is None:
        return []
    if rules.finish_trigger is not None:
        starts = iter(()) if executing else _after_finish(rules, next_start, change)
    else:
        starts = _starts(rules, next_start, now, change)
    return list(islice(starts, count))


def skips(
    rules: Rules,
    last_tick: datetime | None,
    next_start: datetime | None,
    until: datetime | None,
    change: OneTimeChange | None = None,
) -> list[Ticks]:
    """List the nominal times that will be skipped up to a moment; with `until` None all that are
    known.
    """
    if next_start is None or last_tick is None:
        return []
    if rules.finish_trigger is not None:
        reason = reason_to_skip(rules, change, next_start)
        return (
            [] if reason is None else [Ticks(next_start, next_start, 1, Decision.SKIPPED, reason)]
        )
    gaps = gaps_of(rules, change)
    if not gaps:
        return []
    end = gaps[-1].end - MICROSECOND if until is None else until
    found = skipped_between(Timeline.of(rules), gaps, last_tick, end)
    return sorted(found, key=lambda ticks: ticks.first)


def _after_finish(
    rules: Rules, start: datetime, change: OneTimeChange | None
) -> Iterator[datetime]:
    trigger = rules.finish_trigger
    for _ in range(1_000):  # all of its times may be skipped
        if trigger is None or reason_to_skip(rules, change, start) is None:
            yield start
            return
        start = trigger.interval.after(start, trigger.timezone)


def _starts(
    rules: Rules, next_start: datetime, now: datetime, change: OneTimeChange | None
) -> Iterator[datetime]:
    timeline = Timeline.of(rules)
    runs = run_times(timeline, gaps_of(rules, change))
    if change is not None and change.start is not None:
        yield max(change.start, next_start)
    else:
        before = next_start - timeline.jitter - MICROSECOND
        count = timeline.count(before, next_start)
        nominal = timeline.nth(before, count, next_start) if count else None
        if (
            nominal is None
            or timeline.start_of(nominal) != next_start
            or reason_to_skip(rules, change, nominal) is None
        ):
            yield next_start
    # A start lies before the nominal time that follows its own, so the next one is the first after
    # it.
    nominal = runs.after(max(next_start, now))
    while nominal is not None:
        yield timeline.start_of(nominal)
        nominal = runs.after(nominal)
