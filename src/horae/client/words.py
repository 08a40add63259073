"""A schedule in words.

Cron expressions are put into words by cron-descriptor. It combines days by other rules than Horae,
and describes a step that does not divide its field as if it were even; so it gets each field as a
list of values, and day and weekday separately.
"""

from functools import lru_cache
from itertools import groupby
from typing import Final

# cron-descriptor has no type hints
from cron_descriptor import (  # type: ignore[import-untyped] # pyright: ignore[reportMissingTypeStubs]
    CasingTypeEnum,
    ExpressionDescriptor,
    Options,
)

from horae.domain.cron import CronExpression, CronField
from horae.domain.schedules import CronTrigger, Trigger
from horae.domain.times import Interval, load_zone

_MICROSECONDS: Final = {
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
}


@lru_cache(maxsize=10_000)
def trigger_in_words(trigger: Trigger) -> str:
    """Describe when a trigger is due.

    The result is cached, because lists show it often and many schedules have the same trigger.
    """
    if isinstance(trigger, CronTrigger):
        zone = "" if trigger.timezone == "UTC" else f" ({trigger.timezone})"
        return f"{in_words(trigger.expression).removesuffix('.')}{zone}."
    if not trigger.fixed:
        return f"{_length(trigger.interval).capitalize()} after the end of each run."
    length = _length(trigger.interval)
    every = length if " and " in length else length.removeprefix("1 ")
    if trigger.initial_start is None:
        return f"Every {every}, by the clock of {trigger.timezone}."
    local = trigger.initial_start.astimezone(load_zone(trigger.timezone))
    return f"Every {every}, counted from {local:%Y-%m-%d %H:%M} ({trigger.timezone})."


def _length(interval: Interval) -> str:
    """Describe an interval, as in `1 hour and 30 minutes`."""
    if interval.months:
        years, months = divmod(interval.months, 12)
        return _join([(years, "year"), (months, "month")])
    if interval.days:
        weeks, days = divmod(interval.days, 7)
        return _join([(interval.days, "day")] if days else [(weeks, "week")])
    parts: list[tuple[float, str]] = []
    left = interval.microseconds
    for name, size in _MICROSECONDS.items():
        count, left = divmod(left, size)
        parts.append((count, name))
    parts[-1] = (parts[-1][0] + left / _MICROSECONDS["second"], "second")
    return _join(parts)


def _join(parts: list[tuple[float, str]]) -> str:
    named = [f"{count:g} {name}{'' if count == 1 else 's'}" for count, name in parts if count]
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"


_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_SHORTEST_RANGE = 3


def in_words(cron: CronExpression) -> str:
    """Describe when an expression fires, in one English sentence."""
    second, minute, hour, day, month, weekday, year = cron.fields
    either = not (day.starts_with_star or weekday.starts_with_star)
    days, weekdays = _spell(day), _spell(weekday)
    condition = ""
    if either and "*" in (days, weekdays):
        days = weekdays = "*"
    elif not either and "*" not in (days, weekdays):
        *others, last = [_WEEKDAYS[each] for each in weekday.values]
        named = f"{', '.join(others)} or {last}" if others else last
        condition = f", but only if it is a {named}"
        weekdays = "*"
    times = " ".join(map(_rhythm, (second, minute, hour)))
    text = f"{times} {days} {_spell(month)} {weekdays} {_spell(year)}"
    options = Options()
    options.casing_type = CasingTypeEnum.Sentence
    options.locale_code = "en_US"
    options.use_24hour_time_format = True
    description: str = ExpressionDescriptor(text, options).get_full_description()
    return f"{description}{condition}."


def daylight_saving_in_words(cron: CronExpression) -> str:
    """Describe what happens to times that daylight saving skips or repeats."""
    if cron.follows_wall_clock:
        return "It follows the wall clock: nothing in a gap, both passes of a fold."
    gap = "at the first moment after the gap" if cron.dst_gap == "shift" else "not at all"
    passes = "in both passes" if cron.dst_fold == "both" else f"in the {cron.dst_fold} pass"
    return f"A time in a gap fires {gap}, a time in a fold {passes}."


def _rhythm(field: CronField) -> str:
    """Keep a step that divides its field evenly; list the values of everything else."""
    step = field.text.removeprefix("*/")
    even = step != field.text and step.isdigit() and field.range.size % int(step) == 0
    several = field.mask.bit_count() > 1
    return field.text if even and several else _spell(field)


def _spell(field: CronField) -> str:
    """List the values of a field, with ranges for three and more in a row."""
    if field.is_full:
        return "*"
    items: list[str] = []
    for _, run in groupby(enumerate(field.values), key=lambda pair: pair[1] - pair[0]):
        row = [value for _, value in run]
        together = len(row) >= _SHORTEST_RANGE
        items.extend([f"{row[0]}-{row[-1]}"] if together else map(str, row))
    return ",".join(items)
