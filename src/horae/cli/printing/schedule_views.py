"""Schedules as the command line reads and prints them."""

from dataclasses import asdict
from typing import Any, Final

from horae.client.schedules.views import ScheduleView
from horae.domain.schedules.trigger import Trigger
from horae.storage.schedules.rows import rules_as_values
from horae.types.schedule import RuleKeywords

LONGEST_NUMBER: Final = 19
"""Digits of an ID that fits the column; longer numbers are names."""
_STORED: Final = (
    "queue", "priority", "state", "enabled", "disabled_reason", "pause_note", "job_id", "started_at", "next_start",
    "last_tick", "overrides",
)  # fmt: skip


def reference_of(text: str) -> int | str:
    """Return the ID if the text is a number, else the name."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER else text


def words_of(trigger: Trigger) -> str:
    """Return a trigger in one line."""
    zone = "" if trigger.timezone == "UTC" else f" ({trigger.timezone})"
    return f"{'every ' if trigger.kind == 'interval' else ''}{trigger.text}{zone}"


def as_values(schedule: ScheduleView) -> dict[str, Any]:
    """Return a schedule as `--json` prints it; the fields are documented and stable."""
    rules, values = schedule.rules, rules_as_values(schedule.rules)
    return {
        "id": schedule.id,
        "name": schedule.name,
        "module": schedule.module or None,
        "job_type": schedule.job_type,
        "config": schedule.config,
        "trigger": {"kind": rules.trigger.kind, "text": rules.trigger.text, "timezone": rules.trigger.timezone},
        **{name: values[name] for name in RuleKeywords.__annotations__},
        **{name: getattr(schedule, name) for name in _STORED},
        "statistics": statistics_values(schedule),
    }


def declared_in_words(schedule: ScheduleView) -> list[str]:
    """Return the fields that were changed at run time, each with the value that the module declares for it."""
    declared = {
        name: f"{was['text']} ({was['timezone']})" if name == "trigger" else was
        for name, was in schedule.overrides.items()
    }
    return [f"{name} (declared: {was})" for name, was in sorted(declared.items())]


def statistics_values(schedule: ScheduleView) -> dict[str, Any]:
    """Return the statistics of its ended runs and the number of open ones; durations in seconds."""
    values: dict[str, Any] = {**asdict(schedule.statistics), "open_runs": schedule.open_runs}
    for name in ("total_duration", "total_duration_failures"):
        values[name] = values[name].total_seconds()
    return values
