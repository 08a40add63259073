"""Convert rows of schedules into the values that the domain decides about, and back."""

import json
from dataclasses import fields
from datetime import timedelta
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final

from horae.domain.schedules.planning_state import ScheduleSnapshot
from horae.domain.schedules.schedule import CatchUp, DisabledReason, Overlap, Rules
from horae.domain.schedules.statistics import Statistics
from horae.domain.schedules.trigger import parse_trigger
from horae.domain.times.interval import Interval
from horae.errors import InvalidRequest
from horae.storage.schedules.rows import StoredSchedule


class UnreadableSchedule(InvalidRequest):
    """A stored schedule cannot be read by this program: another version wrote it, or a time zone is missing.

    It is left alone, because another node may be able to read it, and it does not stop other schedules.
    """

    def __init__(self, row: StoredSchedule, cause: Exception) -> None:
        super().__init__(f"schedule {row.name!r} cannot be read here: {type(cause).__name__}: {cause}")
        self.schedule_id = row.id


UNREADABLE: Final = (AttributeError, LookupError, OverflowError, TypeError, ValueError)
"""The errors that reading rules of another version may raise."""
_SECONDS: Final = frozenset({"catch_up_window", "jitter", "max_runtime"})
STATISTICS: Final = tuple(field.name for field in fields(Statistics))
_statistics: Final = attrgetter(*STATISTICS)
_DURATIONS: Final = ("total_duration", "total_duration_failures")


def rules_as_json(rules: Rules) -> str:
    """Return the rules as JSON, without the trigger, which has columns of its own."""
    stored = {field.name: _json_value(getattr(rules, field.name)) for field in fields(Rules) if field.name != "trigger"}
    return json.dumps(stored)


def _json_value(value: Any) -> Any:
    if isinstance(value, timedelta):
        return value.total_seconds()
    return str(value) if isinstance(value, Interval) else value


_trigger: Final = lru_cache(maxsize=10_000)(parse_trigger)


@lru_cache(maxsize=50_000)
def rules_from(kind: str, trigger: str, timezone: str, text: str) -> Rules:
    """Return the rules from their columns. Cached: a schedule fires often and is changed rarely."""
    given: dict[str, Any] = json.loads(text)
    for name in _SECONDS & given.keys():
        given[name] = None if given[name] is None else timedelta(seconds=given[name])
    given["overlap"], given["catch_up"] = Overlap(given["overlap"]), CatchUp(given["catch_up"])
    given["retry_period"] = None if given["retry_period"] is None else Interval.parse(given["retry_period"])
    return Rules(trigger=_trigger(kind, trigger, timezone), **given)


def rules_of(row: StoredSchedule) -> Rules:
    """Return the rules of a stored schedule. Raises `UnreadableSchedule`."""
    try:
        return rules_from(row.trigger_kind, row.trigger, row.timezone, row.rules)
    except UNREADABLE as error:
        raise UnreadableSchedule(row, error) from error


def statistics_of(row: StoredSchedule) -> Statistics:
    """Return the statistics of a stored schedule."""
    values = dict(zip(STATISTICS, _statistics(row), strict=True))
    for name in _DURATIONS:
        values[name] = timedelta(seconds=values[name])
    return Statistics(**values)


def statistics_values(statistics: Statistics) -> dict[str, Any]:
    """Return statistics as the columns of a row."""
    values = dict(zip(STATISTICS, _statistics(statistics), strict=True))
    for name in _DURATIONS:
        values[name] = values[name].total_seconds()
    return values


def snapshot_of(row: StoredSchedule) -> ScheduleSnapshot:
    """Return the part of a stored schedule that the domain plans from."""
    return ScheduleSnapshot(
        rules=rules_of(row),
        statistics=statistics_of(row),
        last_tick=row.last_tick,
        next_start=row.next_start,
        started=row.started_at,
        disabled=None if row.disabled_reason is None else DisabledReason(row.disabled_reason),
    )
