"""A schedule in words.

Cron expressions are put into words by cron-descriptor. It combines days by other rules than Horae,
and describes a step that does not divide its field as if it were even; so it gets each field as a
list of values, and day and weekday separately.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import groupby
from typing import Final

# cron-descriptor has no type hints
from cron_descriptor import (  # type: ignore[import-untyped] # pyright: ignore[reportMissingTypeStubs]
    CasingTypeEnum,
    ExpressionDescriptor,
    Options,
)

from horae.domain.cron import WEEKDAYS, CronExpression, CronField
from horae.domain.schedules import CronTrigger, Trigger
from horae.domain.times import Interval, load_zone
from horae.sentences import Sentence, SentenceCode

_MICROSECONDS: Final = {
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
}
GERMAN: Final = "de"
LANGUAGES: Final = (GERMAN,)
"""The tags of the languages besides English in which a schedule is put into words."""


def words_in_languages(trigger: Trigger) -> dict[str, str]:
    """Describe when a trigger is due in each language besides English, by the tags of these."""
    return {language: trigger_in_words(trigger, language) for language in LANGUAGES}


@lru_cache(maxsize=10_000)
def trigger_in_words(trigger: Trigger, language: str = "en") -> str:
    """Describe when a trigger is due, in English or in one of `LANGUAGES`.

    The result is cached, because lists show it often and many schedules have the same trigger.
    """
    if isinstance(trigger, CronTrigger):
        zone = "" if trigger.timezone == "UTC" else f" ({trigger.timezone})"
        words = in_words(trigger.expression, language)
        return f"{words.removesuffix('.')}{zone}."
    start = ""
    if trigger.fixed and trigger.initial_start is not None:
        local = trigger.initial_start.astimezone(load_zone(trigger.timezone))
        start = f"{local:%Y-%m-%d %H:%M} ({trigger.timezone})"
    if language == GERMAN:
        length = _length(trigger.interval, _GERMAN_UNITS, "und")
        counted = f", gezählt ab {start}" if start else f", nach der Uhr von {trigger.timezone}"
        end = counted if trigger.fixed else " nach dem Ende jedes Laufs"
        return f"Im Abstand von {length}{end}."
    length = _length(trigger.interval, _ENGLISH_UNITS, "and")
    if not trigger.fixed:
        return f"{length.capitalize()} after the end of each run."
    every = length if " and " in length else length.removeprefix("1 ")
    if not start:
        return f"Every {every}, by the clock of {trigger.timezone}."
    return f"Every {every}, counted from {start}."


_Units = Mapping[str, tuple[str, str]]
_ENGLISH_UNITS: Final[_Units] = {
    unit: (unit, f"{unit}s") for unit in ("year", "month", "week", *_MICROSECONDS)
}
_GERMAN_UNITS: Final[_Units] = {
    "year": ("Jahr", "Jahren"),
    "month": ("Monat", "Monaten"),
    "week": ("Woche", "Wochen"),
    "day": ("Tag", "Tagen"),
    "hour": ("Stunde", "Stunden"),
    "minute": ("Minute", "Minuten"),
    "second": ("Sekunde", "Sekunden"),
}


def _length(interval: Interval, units: _Units, conjunction: str) -> str:
    """Describe an interval, as in `1 hour and 30 minutes`."""
    counts: list[tuple[float, str]] = []
    if interval.months:
        years, months = divmod(interval.months, 12)
        counts = [(years, "year"), (months, "month")]
    elif interval.days:
        weeks, days = divmod(interval.days, 7)
        counts = [(interval.days, "day")] if days else [(weeks, "week")]
    else:
        left = interval.microseconds
        for name, size in _MICROSECONDS.items():
            count, left = divmod(left, size)
            counts.append((count, name))
        counts[-1] = (counts[-1][0] + left / _MICROSECONDS["second"], "second")
    parts = [f"{count:g} {units[unit][count != 1]}" for count, unit in counts if count]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {conjunction} {parts[-1]}"


_SHORTEST_RANGE = 3


# cron-descriptor takes the names of days and months from the locale of the process.
_GERMAN_NAMES: Final = {
    **dict(
        zip(
            WEEKDAYS,
            ("Sonntag", "Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag"),
            strict=True,
        )
    ),
    "January": "Januar",
    "February": "Februar",
    "March": "März",
    "May": "Mai",
    "June": "Juni",
    "July": "Juli",
    "October": "Oktober",
    "December": "Dezember",
}
_ONE_UNIT: Final = re.compile(r"\b(at 1 (?:minute|second))s past", re.IGNORECASE)
_GERMAN_DAYS: Final = re.compile(r"\bam [\d, undbis]+ Tag des Monats")
_NUMBER: Final = re.compile(r"\d+")
_ENGLISH_NAME: Final = re.compile(rf"\b({'|'.join(_GERMAN_NAMES)})\b")


def in_words(cron: CronExpression, language: str = "en") -> str:
    """Describe when an expression fires, in one sentence."""
    second, minute, hour, day, month, weekday, year = cron.fields
    either = not (day.starts_with_star or weekday.starts_with_star)
    days, weekdays = _spell(day), _spell(weekday)
    condition = ""
    if either and "*" in (days, weekdays):
        days = weekdays = "*"
    elif not either and "*" not in (days, weekdays):
        *others, last = [WEEKDAYS[each] for each in weekday.values]
        if language == GERMAN:
            named = f"{', '.join(others)} oder {last}" if others else last
            condition = f", aber nur, wenn es ein {named} ist"
        else:
            named = f"{', '.join(others)} or {last}" if others else last
            condition = f", but only if it is a {named}"
        weekdays = "*"
    times = " ".join(map(_rhythm, (second, minute, hour)))
    text = f"{times} {days} {_spell(month)} {weekdays} {_spell(year)}"
    options = Options()
    options.casing_type = CasingTypeEnum.Sentence
    options.locale_code = "de_DE" if language == GERMAN else "en_US"
    options.use_24hour_time_format = True
    description: str = ExpressionDescriptor(text, options).get_full_description()
    words = _ONE_UNIT.sub(r"\1 past", f"{description}{condition}.")
    if language == GERMAN:
        words = _GERMAN_DAYS.sub(lambda found: _NUMBER.sub(r"\g<0>.", found[0]), words)
        words = _ENGLISH_NAME.sub(lambda found: _GERMAN_NAMES[found[0]], words)
        words = words.replace(", und ", " und ")
    return words


def daylight_saving_in_words(cron: CronExpression) -> str:
    """Describe what happens to times that daylight saving skips or repeats."""
    if cron.follows_wall_clock:
        return Sentence(
            "It follows the wall clock: nothing in a gap, both passes of a fold.",
            SentenceCode.CLOCKS_FOLLOW_WALL,
        )
    gap = "at the first moment after the gap" if cron.dst_gap == "shift" else "not at all"
    passes = "in both passes" if cron.dst_fold == "both" else f"in the {cron.dst_fold} pass"
    return Sentence(
        f"A time in a gap fires {gap}, a time in a fold {passes}.",
        SentenceCode.CLOCKS_IN_GAP_AND_FOLD,
        gap=str(cron.dst_gap),
        fold=str(cron.dst_fold),
    )


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
