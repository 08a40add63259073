"""When a schedule is due, in one English sentence."""

from functools import lru_cache
from typing import Final

from horae.client.schedules.cron_words import in_words
from horae.domain.schedules.trigger import CronTrigger, IntervalTrigger, Trigger
from horae.domain.times.interval import Interval
from horae.domain.times.zone import load_zone

_MICROSECONDS: Final = {"day": 86_400_000_000, "hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}


@lru_cache(maxsize=10_000)
def trigger_in_words(trigger: Trigger) -> str:
    """Describe when a trigger is due. Cached, as lists show it often and many schedules have the same."""
    if isinstance(trigger, CronTrigger):
        zone = "" if trigger.timezone == "UTC" else f" ({trigger.timezone})"
        return f"{in_words(trigger.expression).removesuffix('.')}{zone}."
    if not trigger.fixed:
        return f"{_length(trigger.interval).capitalize()} after the end of each run."
    length = _length(trigger.interval)
    every = length if " and " in length else length.removeprefix("1 ")
    return f"Every {every}, {_anchor(trigger)}."


def _anchor(trigger: IntervalTrigger) -> str:
    if trigger.initial_start is not None:
        local = trigger.initial_start.astimezone(load_zone(trigger.timezone))
        return f"counted from {local:%Y-%m-%d %H:%M} ({trigger.timezone})"
    return f"by the clock of {trigger.timezone}"


def _length(interval: Interval) -> str:
    """Describe an interval, as in `1 hour and 30 minutes`."""
    if interval.months:
        years, months = divmod(interval.months, 12)
        return _joined([(years, "year"), (months, "month")])
    if interval.days:
        weeks, days = divmod(interval.days, 7)
        return _joined([(interval.days, "day")] if days else [(weeks, "week")])
    parts: list[tuple[float, str]] = []
    left = interval.microseconds
    for name, size in _MICROSECONDS.items():
        count, left = divmod(left, size)
        parts.append((count, name))
    parts[-1] = (parts[-1][0] + left / _MICROSECONDS["second"], "second")
    return _joined(parts)


def _joined(parts: list[tuple[float, str]]) -> str:
    named = [f"{count:g} {name}{'' if count == 1 else 's'}" for count, name in parts if count]
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"
