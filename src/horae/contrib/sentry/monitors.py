"""How Sentry describes a schedule, for `monitor_config` of a check-in. Pure functions."""

import re
from collections.abc import Mapping
from datetime import timedelta
from hashlib import sha256
from typing import Any, Final

from horae.domain.schedules import CronTrigger, IntervalTrigger, Rules
from horae.domain.times import Interval

LONGEST_SLUG: Final = 50
"""Maximum number of characters of a slug."""
_DIGEST: Final = 6
_LARGEST: Final = (59, 23, 31, 12, 7)
"""The largest value of minute, hour, day, month and day of the week."""
_FIELDS: Final = 5
_MINUTES: Final = {"week": 7 * 24 * 60, "day": 24 * 60, "hour": 60, "minute": 1}


def slug_of(name: str) -> str:
    """Return the slug of a schedule's monitor: its name, if Sentry allows that.

    Otherwise a digest keeps two names apart that differ only in what a slug cannot have.
    """
    slug = re.sub(r"[^a-z0-9_-]+", "-", name.lower())
    if slug == name and len(slug) <= LONGEST_SLUG:
        return slug
    digest = sha256(name.encode()).hexdigest()[:_DIGEST]
    return f"{slug[: LONGEST_SLUG - _DIGEST - 1].strip('-')}-{digest}".lstrip("-")


def config_of(rules: Rules, margin: timedelta) -> Mapping[str, Any] | None:
    """Return the monitor of a schedule; None if Sentry has no words for when it is due.

    Sentry knows minutes, and neither seconds nor years. `margin`: how late a run may begin.
    """
    trigger = rules.trigger
    if isinstance(trigger, CronTrigger):
        schedule = _crontab(trigger.expression.text)
    else:
        schedule = _interval(trigger)
    if schedule is None:
        return None
    config: dict[str, Any] = {
        "schedule": schedule,
        "timezone": trigger.timezone,
        "checkin_margin": max(1, round(margin.total_seconds() / 60)),
    }
    if rules.max_runtime is not None:
        minutes = -(-rules.max_runtime // timedelta(minutes=1))
        # Sentry waits for 28 days at most.
        config["max_runtime"] = min(max(1, minutes), 40_320)
    return config


def _crontab(text: str) -> Mapping[str, Any] | None:
    fields = text.split()
    if len(fields) > _FIELDS:
        if len(fields) > _FIELDS + 1 or fields[0] != "0":
            return None
        fields = fields[1:]
    fields = [
        # `5/15` goes to the end of the field; most other readers of cron know it only as a range.
        re.sub(r"(?<![-\d*])(\d+)/", rf"\1-{largest}/", field)
        for field, largest in zip(fields, _LARGEST, strict=True)
    ]
    return {"type": "crontab", "value": " ".join(fields)}


def _interval(trigger: IntervalTrigger) -> Mapping[str, Any] | None:
    interval: Interval = trigger.interval
    if interval.months:
        years, rest = divmod(interval.months, 12)
        value, unit = (interval.months, "month") if rest else (years, "year")
        return {"type": "interval", "value": value, "unit": unit}
    length = timedelta(days=interval.days, microseconds=interval.microseconds)
    minutes, rest_of_minute = divmod(length, timedelta(minutes=1))
    if rest_of_minute or not minutes:
        return None
    unit = next(unit for unit, size in _MINUTES.items() if minutes % size == 0)
    return {"type": "interval", "value": minutes // _MINUTES[unit], "unit": unit}
