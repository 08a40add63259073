"""Decides the nominal times in gaps: each is skipped when it has come, with the reason of its gap.

The other rules judge the times that are run, as if those in gaps did not exist. Here both are put
together, so that each nominal time up to the watermark has one decision, and no row of the ledger
stands for times of both kinds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from horae.domain.schedules.exclusion import Gap, Span, excluded_spans
from horae.domain.schedules.planning_state import OneTimeChange, Plan, ScheduleSnapshot
from horae.domain.schedules.run_times import RunTimes
from horae.domain.schedules.schedule import Rules
from horae.domain.schedules.tick import Decision, Reason, Ticks
from horae.domain.schedules.timeline import Timeline
from horae.domain.times import MICROSECOND

_EARLIEST: Final = datetime(1, 1, 2, tzinfo=UTC)


def gaps_of(rules: Rules, change: OneTimeChange | None) -> Sequence[Gap]:
    """Return the gaps of a schedule: disjoint, in order."""
    if not rules.exclude and change is None:
        return ()
    spans = spans_of(rules)
    gaps = [Gap(span.start, span.end, Reason.EXCLUDED) for span in spans]
    if change is not None:
        begin = change.skip_until if change.reason is Reason.REQUESTED else _EARLIEST
        gaps += [
            Gap(span.start, span.end, change.reason)
            for span in _without(Span(begin, change.skip_until + MICROSECOND), spans)
        ]
    return tuple(sorted(gaps))


def spans_of(rules: Rules) -> Sequence[Span]:
    """Return what the exclusion calendar of a schedule excludes."""
    if rules.exclude:
        return excluded_spans(rules.exclude, rules.calendar_days, rules.trigger.timezone)
    return ()


def reason_to_skip(rules: Rules, change: OneTimeChange | None, moment: datetime) -> Reason | None:
    """Return why no run may begin at a nominal time; None if it may."""
    return next(
        (Reason(gap.reason) for gap in gaps_of(rules, change) if gap.start <= moment < gap.end),
        None,
    )


def skipped_between(
    timeline: Timeline, gaps: Sequence[Gap], after: datetime, until: datetime
) -> Iterator[Ticks]:
    """Yield the decisions about the nominal times in gaps with `after < time <= until`."""
    for gap in gaps:
        start, end = max(after, gap.start - MICROSECOND), min(until, gap.end - MICROSECOND)
        if start < end and (count := timeline.count(start, end)):
            first = timeline.nth(start, 1, end)
            last = timeline.nth(start, count, end)
            yield Ticks(first, last, count, Decision.SKIPPED, Reason(gap.reason))


def past_gaps(snapshot: ScheduleSnapshot, plan: Plan, now: datetime) -> Plan:
    """Decide the times in gaps up to the watermark of a plan, and those after it that have come."""
    gaps, change = gaps_of(snapshot.rules, snapshot.change), plan.change
    if not gaps or plan.last_tick is None:
        return plan
    timeline, mark = Timeline.of(snapshot.rules), snapshot.last_tick or now
    # The latest nominal time that needs no run: all from the watermark to it are in gaps and over.
    following, until = RunTimes(timeline, gaps).after(plan.last_tick), plan.last_tick
    over = now if following is None or following > now else following - MICROSECOND
    if count := timeline.count(plan.last_tick, over):
        until = timeline.nth(plan.last_tick, count, over)
    ticks = [part for entry in plan.ticks for part in _split(timeline, gaps, entry)]
    ticks += skipped_between(timeline, gaps, mark, until)
    if change is not None and change.start is None and change.skip_until <= until:
        change = None
    in_order = tuple(sorted(ticks, key=lambda entry: entry.first))
    return replace(plan, ticks=in_order, last_tick=until, change=change)


def _split(timeline: Timeline, gaps: Sequence[Gap], entry: Ticks) -> Iterator[Ticks]:
    """Split a row about several times where a gap lies between them."""
    if entry.count == 1:
        yield entry
        return
    left, position = entry.count, entry.first - MICROSECOND
    for gap in gaps:
        if not position < gap.start <= entry.last:
            continue
        if count := timeline.count(position, gap.start - MICROSECOND):
            first, last = (
                timeline.nth(position, index, gap.start - MICROSECOND) for index in (1, count)
            )
            yield replace(entry, first=first, last=last, count=count)
            left -= count
        position = gap.end - MICROSECOND
    if left:
        yield replace(entry, first=timeline.nth(position, 1, entry.last), count=left)


def _without(span: Span, others: Sequence[Span]) -> Iterator[Span]:
    """Yield the parts of a span that lie in none of the others, which are disjoint and in order."""
    start = span.start
    for other in others:
        if other.end <= start:
            continue
        if other.start >= span.end:
            break
        if start < other.start:
            yield Span(start, other.start)
        start = other.end
    if start < span.end:
        yield Span(start, span.end)
