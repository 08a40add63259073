"""The words for forecasts that tables and the page share."""

from collections.abc import Mapping
from datetime import datetime

from horae.cli.printing.output import brief, counted
from horae.domain.forecast.comparison import Comparison, Effect, RunChange
from horae.domain.forecast.result import Forecast, ScheduleForecast, Storm
from horae.domain.forecast.scenario import Bodies
from horae.domain.schedules.tick import Decision
from horae.domain.times.zone import load_zone


def at(moment: datetime | None, zone: str) -> str:
    """Return a time in the zone, such as `Sun 2026-03-29 03:00`."""
    if moment is None:
        return ""
    local = moment.astimezone(load_zone(zone))
    return f"{local:%a %Y-%m-%d %H:%M}" + (f":{local:%S}" if local.second else "")


def note(schedule: ScheduleForecast, zone: str) -> str:
    """Return what else is worth knowing about a schedule."""
    notes: list[str] = []
    if schedule.disabled is not None:
        notes.append(f"disabled ({schedule.disabled}) since {at(schedule.disabled_at, zone)}")
    if schedule.crashes:
        notes.append(counted(schedule.crashes, "crash", "crashes"))
    if schedule.failures:
        notes.append(counted(schedule.failures, "failure"))
    if schedule.cancelled:
        notes.append(f"{counted(schedule.cancelled, 'run')} cancelled for the next one")
    if schedule.most_open > 1:
        notes.append(f"up to {schedule.most_open:,} runs at a time")
    if schedule.unfinished:
        notes.append(f"{counted(schedule.unfinished, 'run')} not finished at the end")
    return "; ".join(notes)


def trouble(schedule: ScheduleForecast) -> tuple[int, int, int, int, str]:
    """Return a key that sorts schedules with trouble first."""
    bad = schedule.failures + schedule.crashes + (schedule.disabled is not None)
    missed, skipped = schedule.count(Decision.MISSED), schedule.count(Decision.SKIPPED)
    return -missed, -bad, -skipped, -schedule.late, schedule.name


def slots_sentence(forecast: Forecast, zone: str) -> str:
    """Return how many slots are needed, and what happens with those that there are."""
    condition = "Without outages, " if forecast.storms else ""
    enough = (
        f"{counted(forecast.slots_needed, 'slot')} would be enough for each job to start at once"
    )
    have = "unlimited slots" if forecast.slots is None else counted(forecast.slots, "slot")
    if not forecast.waiting.count:
        return f"{condition}{enough}; the nodes have {have}."
    waits = f"up to {forecast.waiting.count:,} at a time, first {at(forecast.waiting.at, zone)}"
    return f"{condition}{enough}. With {have}, jobs wait: {waits}."


def storm_sentence(storm: Storm, zone: str) -> str:
    """Return what follows an outage."""
    down = f"down {at(storm.start, zone)} for {brief(storm.back - storm.start)}"
    late = f"then {counted(storm.late, 'late run')}"
    at_once = f", which {'begins' if storm.late == 1 else 'begin'} at once"
    lasts = f", the last of which begins after {brief(storm.lasts)}" if storm.lasts else at_once
    dropped = f"; {counted(storm.dropped, 'time')} without a run" if storm.dropped else ""
    return f"{down}: {late}{lasts if storm.late else ''}{dropped}"


def outage_sentences(forecast: Forecast, zone: str) -> list[str]:
    """Return what follows each outage, and from when no node is up until the end."""
    sentences = [storm_sentence(storm, zone) for storm in forecast.storms]
    down = forecast.down_since
    return (
        sentences
        if down is None
        else [*sentences, f"no node is up from {at(down, zone)} until the end"]
    )


def change_text(change: RunChange, zone: str) -> str:
    """Return what happens to a run."""
    match change.effect:
        case Effect.ADDED:
            return f"+ {at(change.after, zone)}"
        case Effect.DROPPED:
            return f"- {at(change.before, zone)}"
        case Effect.MOVED:
            return f"~ {at(change.before, zone)} → {at(change.after, zone)}"


def verdict(comparison: Comparison) -> str:
    """Return the result of a comparison in one sentence."""
    if not comparison.different:
        return "No run would be added, moved or dropped."
    parts = [
        f"{comparison.count(effect):,} {effect.value}"
        for effect in Effect
        if comparison.count(effect)
    ]
    return f"Runs that would change: {', '.join(parts)}."


def durations_sentence(forecast: Forecast, measured: Mapping[str, Bodies]) -> str:
    """Return where the durations come from."""
    known = sum(schedule.name in measured for schedule in forecast.schedules)
    return (
        f"Durations: measured for {known} of {counted(len(forecast.schedules), 'schedule')},"
        " otherwise as given or 1s."
    )
