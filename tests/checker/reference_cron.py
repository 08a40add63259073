"""The times of a cron expression, by a library that is not ours."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from tests.checker.tables import EPOCH, MICROSECOND, moment

COMPARABLE: Final = re.compile(r"(\*|\d+(-\d+)?)(/\d+)?(,(\*|\d+(-\d+)?)(/\d+)?)*")
"""A field that means the same for both; not `x/y`, which the library reads otherwise."""


def fires_after(kind: str, trigger: str, timezone: str, after: int) -> Iterator[int] | None:
    """Return the times after a moment; None for a trigger that the library reads otherwise than Horae."""
    if kind != "cron" or not _comparable(trigger):
        return None
    start = (EPOCH + after * MICROSECOND).astimezone(ZoneInfo(timezone))
    try:
        fires = CronSim(trigger, start.replace(microsecond=0))
    except CronSimError:
        return None
    return _as_moments(fires)


def _as_moments(fires: Iterator[datetime]) -> Iterator[int]:
    return (moment(fire) for fire in fires)


def _comparable(trigger: str) -> bool:
    fields = trigger.split()
    if len(fields) not in (5, 6) or not all(COMPARABLE.fullmatch(field) for field in fields):
        return False
    return not any(re.search(r"(^|,)\d+/", field) for field in fields)
