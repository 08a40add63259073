"""Schedules as the command line reads and prints them."""

from dataclasses import asdict
from typing import Any, Final

from horae.cli.printing.output import local_time
from horae.client.schedules import ScheduleView
from horae.client.shown_parameters import shown_parameters
from horae.storage.schedules import rules_as_values
from horae.types import Registry, RuleKeywords

LONGEST_NUMBER: Final = 19
"""Maximum number of digits of an ID that fits the column; longer numbers are names."""
_STORED: Final = (
    "queue",
    "priority",
    "state",
    "enabled",
    "disabled_reason",
    "pause_note",
    "job_id",
    "started_at",
    "next_start",
    "last_tick",
    "overrides",
    "waiting_reason",
)


def reference_of(text: str) -> int | str:
    """Return the ID if the text is a number, and the text as a name if it is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER else text


def as_values(schedule: ScheduleView, registry: Registry) -> dict[str, Any]:
    """Return a schedule as `--json` prints it; the fields are documented and stable."""
    rules, values = schedule.rules, rules_as_values(schedule.rules)
    change = schedule.change
    return {
        "id": schedule.id,
        "name": schedule.name,
        "module": schedule.module or None,
        "job_type": schedule.job_type,
        "config": shown_parameters(registry, schedule.job_type, schedule.config),
        "trigger": {
            "kind": rules.trigger.kind,
            "text": rules.trigger.text,
            "timezone": rules.trigger.timezone,
        },
        **{name: values[name] for name in RuleKeywords.__annotations__ if name != "exclude"},
        "exclude": list(rules.exclude),
        **{name: getattr(schedule, name) for name in _STORED},
        "skip_reason": None if change is None else change.reason,
        "skip_until": None if change is None else change.skip_until,
        "moved_start": None if change is None else change.start,
        "backfill_next": schedule.backfill_next,
        "statistics": statistics_values(schedule),
    }


def note_of(schedule: ScheduleView) -> str:
    """Return what a schedule does besides its rules: its pause, or a change of its next start."""
    notes = [schedule.pause_note] if schedule.pause_note else []
    if (change := schedule.change) is not None and change.start is not None:
        notes.append("next start moved")
    elif change is not None:
        notes.append(f"skips until {local_time(change.skip_until)}")
    if schedule.backfill_next is not None:
        notes.append("backfill in progress")
    return "; ".join(notes)


def declared_in_words(schedule: ScheduleView) -> list[str]:
    """Return the fields that were changed at run time, each with its declared value."""
    declared = {
        name: f"{was['text']} ({was['timezone']})" if name == "trigger" else was
        for name, was in schedule.overrides.items()
    }
    return [f"{name} (declared: {was})" for name, was in sorted(declared.items())]


def statistics_values(schedule: ScheduleView) -> dict[str, Any]:
    """Return the statistics of ended runs and the number of open ones; durations in seconds."""
    values: dict[str, Any] = {**asdict(schedule.statistics), "open_runs": schedule.open_runs}
    for name in ("total_duration", "total_duration_failures"):
        values[name] = values[name].total_seconds()
    return values
