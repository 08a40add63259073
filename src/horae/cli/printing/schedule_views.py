"""Schedules as the command line reads and prints them."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final

from horae.cli.values import moment
from horae.client.schedules.schedules import ScheduleKeywords
from horae.client.schedules.views import ScheduleView
from horae.domain.schedules.trigger import Trigger

LONGEST_NUMBER: Final = 19
"""Digits of an ID that fits the column; longer numbers are names."""


def reference_of(text: str) -> int | str:
    """Return the ID if the text is a number, else the name."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER else text


def options_of(given: Mapping[str, Any]) -> Any:
    """Return the given options of a command that are options of a schedule."""
    names = ScheduleKeywords.__annotations__
    return {name: value for name, value in given.items() if name in names and value is not None}


def moments(**given: str | None) -> dict[str, datetime | None]:
    """Parse the options that are times; raises `InvalidRequest`."""
    return {name: None if text is None else moment(text, f"--{name.replace('_', '-')}") for name, text in given.items()}


def words_of(trigger: Trigger) -> str:
    """Return a trigger in one line."""
    zone = "" if trigger.timezone == "UTC" else f" ({trigger.timezone})"
    return f"{'every ' if trigger.kind == 'interval' else ''}{trigger.text}{zone}"


def as_values(schedule: ScheduleView) -> dict[str, Any]:
    """Return a schedule as `--json` prints it; the fields are documented and stable."""
    rules = schedule.rules
    return {
        "id": schedule.id,
        "name": schedule.name,
        "module": schedule.module or None,
        "job_type": schedule.job_type,
        "config": schedule.config,
        "trigger": {"kind": rules.trigger.kind, "text": rules.trigger.text, "timezone": rules.trigger.timezone},
        "overlap": rules.overlap.value,
        "catch_up": rules.catch_up.value,
        "catch_up_limit": rules.catch_up_limit,
        "catch_up_window": rules.catch_up_window.total_seconds(),
        "jitter": rules.jitter.total_seconds(),
        "max_runtime": None if rules.max_runtime is None else rules.max_runtime.total_seconds(),
        "max_retries": rules.max_retries,
        "retry_period": None if rules.retry_period is None else str(rules.retry_period),
        "backoff": rules.backoff,
        "queue": schedule.queue,
        "priority": schedule.priority,
        "state": schedule.state,
        "enabled": schedule.enabled,
        "disabled_reason": schedule.disabled_reason,
        "pause_note": schedule.pause_note,
        "job_id": schedule.job_id,
        "started_at": schedule.started_at,
        "next_start": schedule.next_start,
        "last_tick": schedule.last_tick,
        "statistics": statistics_values(schedule),
    }


def statistics_values(schedule: ScheduleView) -> dict[str, Any]:
    """Return the statistics of its ended runs and the number of open ones; durations in seconds."""
    values: dict[str, Any] = {**asdict(schedule.statistics), "open_runs": schedule.open_runs}
    for name in ("total_duration", "total_duration_failures"):
        values[name] = values[name].total_seconds()
    return values
