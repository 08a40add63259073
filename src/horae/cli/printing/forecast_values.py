"""Forecasts and comparisons as `--json` prints them; the fields are documented and stable."""

from datetime import timedelta
from typing import Any

from horae.domain.forecast.comparison import Comparison, Effect, RunChange, ScheduleComparison
from horae.domain.forecast.result import Forecast, PlannedRun, ScheduleForecast, Storm
from horae.domain.schedules.tick import Ticks


def forecast_values(forecast: Forecast, limit: int) -> dict[str, Any]:
    """Return a forecast; lists of runs and decisions are the first ones, all are counted."""
    return {
        "start": forecast.start,
        "end": forecast.end,
        "seed": forecast.seed,
        "nodes": forecast.nodes,
        "slots": forecast.slots,
        "slots_needed": forecast.slots_needed,
        "most_running": forecast.running.count,
        "most_running_at": forecast.running.at,
        "most_waiting": forecast.waiting.count,
        "most_waiting_at": forecast.waiting.at,
        "other_jobs": forecast.other_jobs,
        "other_jobs_waited": forecast.others_waited,
        "runs": forecast.fired,
        "schedules": [schedule_values(schedule, limit) for schedule in forecast.schedules],
        "down_since": forecast.down_since,
        "outages": [_storm(storm) for storm in forecast.storms],
        "clock_changes": [
            {
                "schedule": surprise.schedule,
                "at": surprise.at,
                "timezone": surprise.zone,
                "change": surprise.change,
                "local_times": surprise.wall,
                "times": surprise.times,
                "runs": surprise.fires,
                "text": surprise.text,
            }
            for surprise in forecast.surprises
        ],
    }


def schedule_values(schedule: ScheduleForecast, limit: int) -> dict[str, Any]:
    """Return the forecast of one schedule; durations in seconds."""
    decisions: dict[str, dict[str, int]] = {}
    for (decision, reason), count in schedule.decisions.items():
        decisions.setdefault(decision.value, {})[reason.value] = count
    return {
        "name": schedule.name,
        "runs": schedule.fired,
        "decisions": decisions,
        "late": schedule.late,
        "latest": _seconds(schedule.latest),
        "waited": schedule.waited,
        "longest_wait": _seconds(schedule.longest_wait),
        "failures": schedule.failures,
        "crashes": schedule.crashes,
        "cancelled": schedule.cancelled,
        "unfinished": schedule.unfinished,
        "most_open": schedule.most_open,
        "disabled": schedule.disabled,
        "disabled_at": schedule.disabled_at,
        "first_runs": [_run(run) for run in schedule.runs[:limit]],
        "first_not_run": [_ticks(ticks) for ticks in schedule.dropped[:limit]],
    }


def comparison_values(comparison: Comparison, limit: int) -> dict[str, Any]:
    """Return a comparison; each list of changed runs has at most `limit` entries."""
    return {
        "start": comparison.after.start,
        "end": comparison.after.end,
        "different": comparison.different,
        **{effect.value: comparison.count(effect) for effect in Effect},
        "slots_needed": {
            "before": comparison.before.slots_needed,
            "after": comparison.after.slots_needed,
        },
        "schedules": [_schedule_comparison(schedule, limit) for schedule in comparison.schedules],
    }


def _schedule_comparison(schedule: ScheduleComparison, limit: int) -> dict[str, Any]:
    return {
        "name": schedule.name,
        "definition": schedule.texts,
        **{effect.value: schedule.count(effect) for effect in Effect},
        "same": schedule.same,
        "changes": [_change(change) for change in schedule.changes[:limit]],
    }


def _change(change: RunChange) -> dict[str, Any]:
    return {"effect": change.effect, "before": change.before, "after": change.after}


def _storm(storm: Storm) -> dict[str, Any]:
    return {
        "start": storm.start,
        "end": storm.back,
        "late_runs": storm.late,
        "not_run": storm.dropped,
        "most_waiting": storm.most_waiting,
        "over": storm.over,
    }


def _run(run: PlannedRun) -> dict[str, Any]:
    return {"nominal_time": run.nominal, "due": run.due, "fired": run.fired, "reason": run.reason}


def _ticks(ticks: Ticks) -> dict[str, Any]:
    return {
        "first": ticks.first,
        "last": ticks.last,
        "count": ticks.count,
        "decision": ticks.decision,
        "reason": ticks.reason,
    }


def _seconds(length: timedelta) -> float:
    return length.total_seconds()
