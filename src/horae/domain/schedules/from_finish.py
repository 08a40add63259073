"""The next start of an interval that is counted from the finish."""

from datetime import datetime

from horae.domain.schedules.schedule import Rules
from horae.domain.schedules.timeline import hashed_delay
from horae.domain.schedules.trigger import IntervalTrigger


def start_after_finish(rules: Rules, trigger: IntervalTrigger, finish: datetime) -> datetime:
    """Return the start an interval after the finish; days and months follow the calendar of the zone."""
    return delayed(rules, trigger, trigger.interval.after(finish, trigger.timezone))


def delayed(rules: Rules, trigger: IntervalTrigger, moment: datetime) -> datetime:
    """Return the moment plus the jitter, which is less than one interval."""
    return moment + hashed_delay(rules.key, moment, min(rules.jitter, trigger.interval.nominal))
