"""The next starts of a schedule, as far as they are known in advance."""

from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from horae.domain.schedules.schedule import Rules
from horae.domain.schedules.timeline import Timeline


def upcoming(
    rules: Rules, next_start: datetime | None, now: datetime, count: int, *, executing: bool = False
) -> list[datetime]:
    """List up to `count` starts, in UTC; an overdue one comes first.

    An interval counted from the finish has at most one, and none while a run executes (`executing`). Later failures,
    pauses and long runs may change them.
    """
    if next_start is None:
        return []
    if rules.finish_trigger is not None:
        return [] if executing else [next_start][:count]
    return list(islice(_starts(Timeline.of(rules), next_start, now), count))


def _starts(timeline: Timeline, next_start: datetime, now: datetime) -> Iterator[datetime]:
    yield next_start
    # A start lies before the nominal time that follows its own, so the next one is the first after it.
    nominal = timeline.after(max(next_start, now))
    while nominal is not None:
        yield timeline.start_of(nominal)
        nominal = timeline.after(nominal)
