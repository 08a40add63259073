"""Draws a forecast as one HTML page with charts in SVG, which loads nothing from elsewhere."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from importlib.resources import files
from typing import Final, NamedTuple

from jinja2 import Environment, StrictUndefined

from horae.cli.printing import forecast_texts as texts
from horae.cli.printing.output import brief, counted
from horae.domain.forecast.comparison import Comparison
from horae.domain.forecast.result import Colour, Forecast, ScheduleForecast
from horae.domain.forecast.scenario import Bodies
from horae.domain.schedules.tick import Decision
from horae.domain.times.zone import load_zone

TEMPLATE: Final = "forecast.html.j2"
WIDTH: Final = 1000
HEIGHT: Final = 110
"""Units of the charts' coordinates."""
MOST_ROWS: Final = 100
"""Schedules in the chart of days; a page with more would be slow to open."""
_TICKS: Final = (1, 2, 3, 7, 14, 30, 91, 182, 365)
"""Days between two dates below a chart."""
_MOST_TICKS: Final = 11


class Mark(NamedTuple):
    """A place on the time axis, with its text."""

    x: float
    text: str


class Band(NamedTuple):
    """A stretch of the time axis."""

    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Chart:
    """A step chart over the period.

    `line`: the height of the number of slots, if it is in the chart.
    """

    title: str
    kind: str
    path: str
    top: int
    line: float | None


class Cell(NamedTuple):
    """One day of one schedule."""

    kind: str
    text: str


def forecast_page(
    forecast: Forecast,
    zone: str,
    limit: int,
    comparison: Comparison | None = None,
    *,
    measured: Mapping[str, Bodies],
) -> str:
    """Return the page. It shows the first `limit` entries of each list, and counts the others."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["at"] = partial(_at, zone)
    environment.filters["brief"] = brief
    environment.filters["number"] = lambda count: f"{count:,}"
    shown = sorted(forecast.schedules, key=texts.trouble)
    source = files("horae.cli.printing").joinpath(TEMPLATE).read_text(encoding="utf-8")
    return environment.from_string(source).render(
        counted=counted,
        note=texts.note,
        outages=texts.outage_sentences(forecast, zone),
        zone=zone,
        forecast=forecast,
        comparison=comparison,
        limit=limit,
        schedules=shown[: max(limit, MOST_ROWS)],
        rows=[(schedule, list(_cells(forecast, schedule, zone))) for schedule in shown[:MOST_ROWS]],
        charts=charts_of(forecast),
        ticks=list(_ticks(forecast, zone)),
        bands=_bands(forecast),
        clock_marks=_clock_marks(forecast, zone),
        colours=[colour.value for colour in Colour if colour is not Colour.NOTHING],
        decisions=Decision,
        slots=texts.slots_sentence(forecast, zone),
        durations=texts.durations_sentence(forecast, measured),
        verdict=None if comparison is None else texts.verdict(comparison),
        change_text=lambda change: texts.change_text(change, zone),
        total=totals(forecast),
        size=(WIDTH, HEIGHT),
    )


def _at(zone: str, moment: datetime | None) -> str:
    return texts.at(moment, zone)


class Totals(NamedTuple):
    """The figures at the top of the page, of all schedules together."""

    runs: int
    late: int
    skipped: int
    missed: int
    ended_badly: int


def totals(forecast: Forecast) -> Totals:
    """Add up all schedules."""
    schedules = forecast.schedules
    return Totals(
        runs=forecast.fired,
        late=sum(schedule.late for schedule in schedules),
        skipped=sum(
            schedule.count(Decision.SKIPPED) + schedule.count(Decision.COALESCED)
            for schedule in schedules
        ),
        missed=sum(schedule.count(Decision.MISSED) for schedule in schedules),
        ended_badly=sum(schedule.failures + schedule.crashes for schedule in schedules),
    )


def charts_of(forecast: Forecast) -> list[Chart]:
    """Return the charts of running and of waiting jobs; that of waiting ones only if any wait."""
    running = [level.running for level in forecast.levels]
    waiting = [level.waiting for level in forecast.levels]
    top = max(*running, 1)
    slots = forecast.slots if forecast.slots is not None and forecast.slots <= 2 * top else None
    charts = [_chart("Jobs that run at a time", "running", running, max(top, slots or 0), slots)]
    return (
        [*charts, _chart("Jobs that wait for a slot", "waiting", waiting, max(waiting), None)]
        if any(waiting)
        else charts
    )


def _chart(title: str, kind: str, values: Sequence[int], top: int, slots: int | None) -> Chart:
    step = WIDTH / len(values)
    points = " ".join(
        f"V{_height(value, top):g}H{(index + 1) * step:g}" for index, value in enumerate(values)
    )
    line = None if slots is None else _height(slots, top)
    return Chart(title, kind, f"M0 {HEIGHT} {points} V{HEIGHT}Z", top, line)


def _height(value: int, top: int) -> float:
    return round(HEIGHT - value / top * (HEIGHT - 4), 2)


def _cells(forecast: Forecast, schedule: ScheduleForecast, zone: str) -> Iterator[Cell]:
    for index, stretch in enumerate(schedule.stretches):
        moment = (forecast.start + index * forecast.column).astimezone(load_zone(zone))
        parts = [counted(stretch.runs, "run")]
        if stretch.dropped:
            parts.append(f"{stretch.dropped:,} not run")
        shown = (
            ""
            if stretch.colour in {Colour.ON_TIME, Colour.NOTHING}
            else f" ({stretch.colour.value})"
        )
        kind = stretch.colour.value.replace(" ", "-")
        yield Cell(kind, f"{schedule.name}, {moment:%a %Y-%m-%d %H:%M}: {', '.join(parts)}{shown}")


def _ticks(forecast: Forecast, zone: str) -> Iterator[Mark]:
    days = (forecast.end - forecast.start).days
    every = next((step for step in _TICKS if days / step <= _MOST_TICKS), _TICKS[-1])
    for number in range(0, max(days, 1), every):
        moment = forecast.start + timedelta(days=number)
        yield Mark(_x(forecast, moment), f"{moment.astimezone(load_zone(zone)):%d %b}")


def _clock_marks(forecast: Forecast, zone: str) -> list[Mark]:
    moments = sorted({(surprise.at, surprise.zone) for surprise in forecast.surprises})
    return [
        Mark(_x(forecast, moment), f"{texts.at(moment, zone)}: the clocks of {place} change")
        for moment, place in moments
    ]


def _bands(forecast: Forecast) -> list[Band]:
    bands = [_band(forecast, storm.start, storm.back) for storm in forecast.storms]
    down = forecast.down_since
    return bands if down is None else [*bands, _band(forecast, down, forecast.end)]


def _band(forecast: Forecast, start: datetime, end: datetime) -> Band:
    return Band(_x(forecast, start), max(_x(forecast, end) - _x(forecast, start), 1))


def _x(forecast: Forecast, moment: datetime) -> float:
    return round((moment - forecast.start) / (forecast.end - forecast.start) * WIDTH, 2)
