"""Forecasts and comparisons: tables for people, and the documented values for `--json`."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final, TypeVar

import typer

from horae.cli.escaping import printable
from horae.cli.printing.output import brief, print_table
from horae.domain.forecast import Comparison, Forecast, Peak, ScheduleForecast
from horae.domain.schedules import Decision
from horae.domain.times import load_zone
from horae.sentences import counted

NAMES_OF_PEAK: Final = 8
"""Maximum number of schedules that a line about a peak names; further ones are only counted."""
Item = TypeVar("Item")


def print_forecast(forecast: Forecast, zone: str, limit: int) -> None:
    """Print the schedules, those with times that are not run first, then peaks and clocks."""
    _print(f"{at(forecast.start, zone)} to {at(forecast.end, zone)} ({zone})\n")
    shown = sorted(forecast.schedules, key=_trouble)
    print_table(
        {
            "SCHEDULE": "name",
            "RUNS": lambda schedule: f"{len(schedule.runs):,}",
            "EACH TAKES": lambda schedule: brief(schedule.took),
            "COALESCED": lambda schedule: _number(schedule.count(Decision.COALESCED)),
            "SKIPPED": lambda schedule: _number(schedule.count(Decision.SKIPPED)),
            "MISSED": lambda schedule: _number(schedule.count(Decision.MISSED)),
            "NOTE": lambda schedule: _note(schedule, zone),
        },
        shown[:limit],
        empty="The application declares no schedules.",
    )
    _print_rest(len(shown), limit, "schedule")
    _print_part("Runs at a time", forecast.peaks(), lambda peak: _peak(peak, zone), limit, "line")
    _print_part(
        "Changes of the clocks",
        forecast.surprises,
        lambda found: f"{found.schedule}, {found.at:%a %Y-%m-%d}, {found.zone}: {found.text}",
        limit,
        "time",
    )
    _print_part(
        "Runs",
        forecast.runs,
        lambda run: f"{at(run.start, zone)}  {run.schedule}",
        limit,
        "run",
    )


def print_comparison(comparison: Comparison, zone: str, limit: int) -> None:
    """Print the schedules that differ, with the starts that are added (+) or dropped (-)."""
    after = comparison.after
    _print(
        f"{at(after.start, zone)} to {at(after.end, zone)} ({zone}), deployed schedules against"
        " this code"
    )
    for schedule in comparison.schedules:
        _print(
            f"\n{schedule.name}: {'; '.join(schedule.texts) or 'same definition, but other runs'}"
        )
        changes = sorted(
            [(moment, "-") for moment in schedule.dropped]
            + [(moment, "+") for moment in schedule.added]
        )
        for moment, sign in changes[:limit]:
            _print(f"  {sign} {at(moment, zone)}")
        if not changes:
            _print("  no run differs")
        _print_rest(len(changes), limit, "run", indent="  ")
    if comparison.different:
        counts = {"added": comparison.added, "dropped": comparison.dropped}
        parts = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
        _print(f"\nRuns that would change: {parts}.")
    else:
        _print("\nNo run would be added or dropped.")


def forecast_values(forecast: Forecast, limit: int) -> dict[str, Any]:
    """Return a forecast; lists of runs and decisions are cut to `limit`, but all entries are
    counted.
    """
    runs = forecast.runs
    return {
        "start": forecast.start,
        "end": forecast.end,
        "runs": len(runs),
        "schedules": [_schedule_values(schedule, limit) for schedule in forecast.schedules],
        "peaks": [peak._asdict() for peak in forecast.peaks()],
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
        "first_runs": [run._asdict() for run in runs[:limit]],
    }


def comparison_values(comparison: Comparison, limit: int) -> dict[str, Any]:
    """Return a comparison; each list of changed runs has at most `limit` entries."""
    return {
        "start": comparison.after.start,
        "end": comparison.after.end,
        "different": comparison.different,
        "added": comparison.added,
        "dropped": comparison.dropped,
        "schedules": [
            {
                "name": schedule.name,
                "definition": schedule.texts,
                "added": len(schedule.added),
                "dropped": len(schedule.dropped),
                "same": schedule.same,
                "added_runs": schedule.added[:limit],
                "dropped_runs": schedule.dropped[:limit],
            }
            for schedule in comparison.schedules
        ],
    }


def at(moment: datetime | None, zone: str) -> str:
    """Return a time in the zone, such as `Sun 2026-03-29 03:00`."""
    if moment is None:
        return ""
    local = moment.astimezone(load_zone(zone))
    return f"{local:%a %Y-%m-%d %H:%M}" + (f":{local:%S}" if local.second else "")


def _trouble(schedule: ScheduleForecast) -> tuple[int, bool, int, str]:
    """Return a key that sorts schedules with trouble first."""
    return (
        -schedule.count(Decision.MISSED),
        schedule.disabled is None,
        -schedule.count(Decision.SKIPPED),
        schedule.name,
    )


def _note(schedule: ScheduleForecast, zone: str) -> str:
    notes: list[str] = []
    if schedule.disabled is not None:
        notes.append(f"disabled ({schedule.disabled}) since {at(schedule.disabled_at, zone)}")
    if cancelled := sum(run.cancelled for run in schedule.runs):
        notes.append(f"{counted(cancelled, 'run')} cancelled for the next one")
    return "; ".join(notes)


def _peak(peak: Peak, zone: str) -> str:
    names, more = peak.schedules[:NAMES_OF_PEAK], len(peak.schedules) - NAMES_OF_PEAK
    listed = ", ".join(names) + (f" and {counted(more, 'other')}" if more > 0 else "")
    return f"{peak.running:,}, {counted(peak.times, 'time')}, first {at(peak.at, zone)}: {listed}"


def _schedule_values(schedule: ScheduleForecast, limit: int) -> dict[str, Any]:
    decisions: dict[str, dict[str, int]] = {}
    for (decision, reason), count in schedule.decisions.items():
        decisions.setdefault(decision.value, {})[reason.value] = count
    return {
        "name": schedule.name,
        "runs": len(schedule.runs),
        "duration": schedule.took.total_seconds(),
        "decisions": decisions,
        "cancelled": sum(run.cancelled for run in schedule.runs),
        "disabled": schedule.disabled,
        "disabled_at": schedule.disabled_at,
        "first_not_run": schedule.not_run[:limit],
    }


def _print_part(
    title: str, items: Sequence[Item], text: Callable[[Item], str], limit: int, noun: str
) -> None:
    if not items:
        return
    _print(f"\n{title}")
    for item in items[:limit]:
        _print(f"  {text(item)}")
    _print_rest(len(items), limit, noun, indent="  ")


def _print_rest(count: int, limit: int, noun: str, indent: str = "") -> None:
    if count > limit:
        _print(f"{indent}… and {counted(count - limit, f'more {noun}')} (--limit shows more)")


def _number(count: int) -> str:
    return f"{count:,}" if count else ""


def _print(text: str) -> None:
    typer.echo(printable(text))
