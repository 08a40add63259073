"""Prints forecasts and comparisons for people, in the time zone of the simulation."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import typer

from horae.cli.escaping import printable
from horae.cli.printing.forecast_texts import (
    at,
    change_text,
    durations_sentence,
    note,
    outage_sentences,
    slots_sentence,
    trouble,
    verdict,
)
from horae.cli.printing.output import brief, counted, print_table
from horae.domain.forecast.comparison import Comparison
from horae.domain.forecast.result import Forecast, ScheduleForecast
from horae.domain.forecast.scenario import Bodies
from horae.domain.schedules.tick import Decision


def print_forecast(
    forecast: Forecast, zone: str, limit: int, *, measured: Mapping[str, Bodies]
) -> None:
    """Print the schedules, those with trouble first, then storms, changes of the clocks, and
    slots.
    """
    _print(
        f"{at(forecast.start, zone)} to {at(forecast.end, zone)} ({zone}),"
        f" {counted(forecast.nodes, 'node')}"
    )
    _print(durations_sentence(forecast, measured))
    _print("")
    shown = sorted(forecast.schedules, key=trouble)
    columns: dict[str, Callable[[ScheduleForecast], object]] = {
        "SCHEDULE": lambda schedule: schedule.name,
        "RUNS": lambda schedule: f"{schedule.fired:,}",
        "LATE": lambda schedule: _number(schedule.late),
        "LONGEST DELAY": lambda schedule: brief(schedule.latest) if schedule.late else "",
        "COALESCED": lambda schedule: _number(schedule.count(Decision.COALESCED)),
        "SKIPPED": lambda schedule: _number(schedule.count(Decision.SKIPPED)),
        "MISSED": lambda schedule: _number(schedule.count(Decision.MISSED)),
        "NOTE": lambda schedule: note(schedule, zone),
    }
    print_table(columns, shown[:limit], empty="The application declares no schedules.")
    _rest(len(shown), limit, "schedule")
    _part("Outages", outage_sentences(forecast, zone), limit, "outage")
    _part(
        "Changes of the clocks",
        [
            f"{surprise.schedule}, {surprise.at:%a %Y-%m-%d}, {surprise.zone}: {surprise.text}"
            for surprise in forecast.surprises
        ],
        limit,
        "time",
    )
    _part("Slots", [slots_sentence(forecast, zone), *_others(forecast)], limit, "line")


def print_comparison(comparison: Comparison, zone: str, limit: int) -> None:
    """Print the schedules that differ, with their runs that would be added (+), moved (~) or
    dropped (-).
    """
    after = comparison.after
    _print(
        f"{at(after.start, zone)} to {at(after.end, zone)} ({zone}), deployed schedules against"
        " this code"
    )
    for schedule in comparison.schedules:
        _print("")
        _print(f"{schedule.name}: {'; '.join(schedule.texts) or 'same definition, but other runs'}")
        changes = [change_text(change, zone) for change in schedule.changes]
        for text in changes[:limit] or ["no run differs"]:
            _print(f"  {text}")
        _rest(len(changes), limit, "run", indent="  ")
    before, now = comparison.before.slots_needed, after.slots_needed
    _print("")
    _print(verdict(comparison) + (f" Slots needed: {before} → {now}." if before != now else ""))


def _others(forecast: Forecast) -> Iterable[str]:
    if forecast.other_jobs:
        yield (
            f"{counted(forecast.other_jobs, 'other job')} in between, {forecast.others_waited:,} of"
            " which wait."
        )


def _part(title: str, lines: Sequence[str], limit: int, noun: str) -> None:
    if not lines:
        return
    _print("")
    _print(title)
    for line in lines[:limit]:
        _print(f"  {line}")
    _rest(len(lines), limit, noun, indent="  ")


def _rest(count: int, limit: int, noun: str, indent: str = "") -> None:
    if count > limit:
        _print(f"{indent}… and {counted(count - limit, f'more {noun}')} (--limit shows more)")


def _number(count: int) -> str:
    return f"{count:,}" if count else ""


def _print(text: str) -> None:
    typer.echo(printable(text))
