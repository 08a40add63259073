"""Stored schedules, and their conversion into the domain's values and back.

Rows are tuples, because thousands may be copied with small changes at once, which takes a dataclass
five times as long.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import date, datetime, timedelta
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final, NamedTuple

from horae.domain.schedules import (
    RULE_OPTIONS,
    DisabledReason,
    OneTimeChange,
    Reason,
    Rules,
    ScheduleSnapshot,
    Statistics,
    ValueKind,
    parse_trigger,
)
from horae.domain.times import Interval
from horae.errors import InvalidRequest
from horae.storage.engine import ROW_ERRORS


class StoredSchedule(NamedTuple):
    """A stored schedule with its statistics.

    `params`, `rules`, `overrides`, `calendar_days`, `limits` and `tags` are JSON text. `now` is the
    database's clock when it was read.
    """

    id: int
    name: str
    module: str
    deployment_id: int | None
    job_type: str
    params: str | None
    trigger_kind: str
    trigger: str
    timezone: str
    queue: str
    priority: int
    rules: str
    enabled: bool
    disabled_reason: str | None
    pause_note: str | None
    partition: int
    state: str
    run_token: int | None
    started_at: datetime | None
    next_start: datetime | None
    last_tick: datetime | None
    created_at: datetime
    version: int
    overrides: str | None
    calendar_days: str | None
    skip_until: datetime | None
    skip_reason: str | None
    moved_start: datetime | None
    backfill_next: datetime | None
    limits: str | None
    tags: str | None
    max_attempts: int | None
    last_start: datetime | None
    last_finish: datetime | None
    last_successful_finish: datetime | None
    last_run_success: bool | None
    total_runs: int
    total_successes: int
    total_failures: int
    total_crashes: int
    total_duration: float
    total_duration_failures: float
    consecutive_failures: int
    consecutive_crashes: int
    now: datetime


class DueSchedule(NamedTuple):
    """What a controller remembers of a schedule.

    `due_in`: seconds by the database's clock; negative if it is late.
    """

    id: int
    partition: int
    priority: int
    due_in: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedRun:
    """An attempt at a run that failed, exceeded its time limit or crashed."""

    schedule_id: int
    job_id: int
    nominal_time: datetime | None
    started_at: datetime
    finished_at: datetime
    outcome: str
    error: str | None
    traceback: str | None


class UnreadableSchedule(InvalidRequest):
    """A stored schedule that this program cannot read, because of its version or time zone.

    It is left alone, because another node may be able to read it, and it does not stop other
    schedules.
    """

    def __init__(self, row: StoredSchedule, cause: Exception) -> None:
        super().__init__(
            f"schedule {row.name!r} cannot be read here: {type(cause).__name__}: {cause}"
        )
        self.schedule_id = row.id


STATISTICS: Final = tuple(field.name for field in fields(Statistics))
_statistics: Final = attrgetter(*STATISTICS)
_DURATIONS: Final = ("total_duration", "total_duration_failures")


_FORMS: Final[Mapping[ValueKind, tuple[Callable[[Any], Any], Callable[[Any], Any]]]] = {
    ValueKind.LENGTH: (timedelta.total_seconds, lambda seconds: timedelta(seconds=seconds)),
    ValueKind.INTERVAL: (str, Interval.parse),
    ValueKind.EXCLUSIONS: (list, tuple),
}
"""How values are stored and read again; others are JSON, and `Rules` reads choices itself."""


def rules_as_values(rules: Rules) -> dict[str, Any]:
    """Return the rules as JSON values, without trigger and calendar days, which have columns."""
    values: dict[str, Any] = {"key": rules.key}
    for name, option in RULE_OPTIONS.items():
        value = getattr(rules, name)
        if value is not None and option.kind in _FORMS:
            value = _FORMS[option.kind][0](value)
        if value != []:  # nothing is excluded
            values[name] = value
    return values


_trigger: Final = lru_cache(maxsize=10_000)(parse_trigger)


@lru_cache(maxsize=50_000)
def rules_from(
    kind: str, trigger: str, timezone: str, text: str, calendar_days: str | None = None
) -> Rules:
    """Return the rules from their columns. Cached: a schedule fires often and is changed rarely."""
    given: dict[str, Any] = json.loads(text)
    for name, option in RULE_OPTIONS.items():
        if given.get(name) is not None and option.kind in _FORMS:
            given[name] = _FORMS[option.kind][1](given[name])
    days = [] if calendar_days is None else json.loads(calendar_days)
    return Rules(
        trigger=_trigger(kind, trigger, timezone),
        calendar_days=tuple(map(date.fromisoformat, days)),
        **given,
    )


def rules_of(row: StoredSchedule) -> Rules:
    """Return the rules of a stored schedule. Raises `UnreadableSchedule`."""
    try:
        return rules_from(row.trigger_kind, row.trigger, row.timezone, row.rules, row.calendar_days)
    except ROW_ERRORS as error:
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
        change=change_of(row),
        backfill=() if row.backfill_next is None else (row.backfill_next,),
    )


def change_of(row: StoredSchedule) -> OneTimeChange | None:
    """Return the one-time change of the next start, if any."""
    if row.skip_until is None:
        return None
    return OneTimeChange(
        skip_until=row.skip_until, reason=Reason(row.skip_reason or ""), start=row.moved_start
    )
