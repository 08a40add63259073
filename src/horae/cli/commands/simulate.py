"""`horae simulate`: forecasts the schedules of an application, and what a change of them would
change.
"""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from horae.cli import scenarios
from horae.cli.context import target_of
from horae.cli.failures import FAILED
from horae.cli.moments import moment
from horae.cli.options import AsJson
from horae.cli.printing.forecast_tables import print_comparison, print_forecast
from horae.cli.printing.forecast_values import comparison_values, forecast_values
from horae.cli.printing.output import print_json
from horae.client.forecast.forecasting import Forecasting
from horae.domain.forecast.simulation import Progress
from horae.domain.times.zone import load_zone
from horae.errors import ConfigurationError, InvalidRequest


class Against(StrEnum):
    """What a forecast is compared with."""

    DEPLOYED = "deployed"


App = Annotated[
    str | None,
    typer.Argument(
        metavar="MODULE:APP",
        help="The application, such as app:horae. Default: that of --app or HORAE_APP.",
    ),
]
Days = Annotated[int, typer.Option(min=1, max=3_660, help="Length of the simulated period.")]
Start = Annotated[
    str | None, typer.Option(metavar="ISO", help="Begin of the period. Default: now.")
]
Zone = Annotated[
    str,
    typer.Option(metavar="NAME", help="Time zone of times without an offset, and of the output."),
]
Outages = Annotated[
    list[str] | None,
    typer.Option(
        "--outage",
        metavar="START/LENGTH",
        help="All nodes are down: 02:00/3h each day, 2026-12-01T02:00/3h once. Repeatable.",
    ),
]
Nodes = Annotated[int, typer.Option(min=1, max=1_000, help="Number of nodes.")]
Kills = Annotated[
    list[str] | None,
    typer.Option(
        "--kill",
        metavar="TIME/NODE[/LENGTH]",
        help=(
            "A node is killed, such as 2026-12-01T03:00/node-2; with /10m it comes back."
            " Repeatable."
        ),
    ),
]
Loads = Annotated[
    list[str] | None,
    typer.Option(
        "--load",
        metavar="[QUEUE=]JOBS/PERIOD:LENGTH",
        help=(
            "Other jobs that share the slots: 20/1m:5s is 20 jobs of 5 s in each minute."
            " Repeatable."
        ),
    ),
]
Slots = Annotated[
    int | None,
    typer.Option(min=1, max=100_000, help="Slots of each node. Default: HORAE_CONCURRENCY, or 10."),
]
Durations = Annotated[
    list[str] | None,
    typer.Option(
        "--duration",
        metavar="[NAME=]LENGTH",
        help=(
            "How long runs of a schedule take, instead of what was measured; without a name: runs"
            " of all schedules of which nothing is known. Repeatable. [1s]"
        ),
    ),
]
Seed = Annotated[int, typer.Option(help="Chooses among measured durations and moments of --load.")]
AgainstOption = Annotated[
    Against | None,
    typer.Option(
        help=(
            "Compare with the deployed schedules: list the runs that this code would add, move or"
            " drop."
        )
    ),
]
Html = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", dir_okay=False, help="Write a page with charts, which loads nothing."
    ),
]
Limit = Annotated[
    int,
    typer.Option(
        min=1, max=100_000, help="Maximum number of lines of each list; others are counted."
    ),
]
NoDatabase = Annotated[
    bool,
    typer.Option("--no-database", help="Use no measured durations, pauses and limits of queues."),
]


def simulate(  # noqa: PLR0913 - one argument for each option
    context: typer.Context,
    app: App = None,
    *,
    days: Days = 30,
    start: Start = None,
    timezone: Zone = "UTC",
    outage: Outages = None,
    nodes: Nodes = 1,
    kill: Kills = None,
    load: Loads = None,
    slots: Slots = None,
    duration: Durations = None,
    seed: Seed = 0,
    against: AgainstOption = None,
    html: Html = None,
    limit: Limit = 20,
    no_database: NoDatabase = False,
    as_json: AsJson = False,
) -> None:
    """Forecast what the schedules of an application will do.

    Runs them through the planner of Horae in virtual time, with the durations that the database has
    measured: what runs, is skipped, waits or is late, what changes of the clocks and outages do,
    and how many slots are needed. Changes nothing. Exits with 1 if --against finds a run that is
    added, moved or dropped.
    """
    if against is not None and no_database:
        raise InvalidRequest("--against deployed needs the database; leave out --no-database")
    period = _period(start, days, timezone)
    given = scenarios.durations(duration or ())
    options: dict[str, Any] = {
        "start": period.start,
        "days": days,
        "nodes": nodes,
        "seed": seed,
        "keep": limit,
        "outages": [*scenarios.outages(outage or (), period), *scenarios.kills(kill or (), period)],
        "loads": scenarios.loads(load or ()),
        "durations": given.by_name,
    }
    options |= {"slots": slots} if slots is not None else {}
    options |= {"default_duration": given.default} if given.default is not None else {}
    horae = target_of(context).chosen(app)
    try:
        forecasting = horae.forecasting(with_database=not no_database, **options)
    finally:
        horae.close()
    different = _report(
        forecasting, period, html, limit, compares=against is not None, as_json=as_json
    )
    if different:
        raise typer.Exit(FAILED)


def _report(
    forecasting: Forecasting,
    period: scenarios.Period,
    html: Path | None,
    limit: int,
    *,
    compares: bool,
    as_json: bool,
) -> bool:
    """Simulate and print; return whether a comparison found a difference."""
    with _progress(period) as progress:
        comparison = forecasting.changes(progress) if compares else None
        forecast = comparison.after if comparison is not None else forecasting.forecast(progress)
    if as_json:
        print_json(
            forecast_values(forecast, limit)
            if comparison is None
            else comparison_values(comparison, limit)
        )
    elif comparison is None:
        print_forecast(forecast, period.zone, limit, measured=forecasting.measured)
    else:
        print_comparison(comparison, period.zone, limit)
    if html is not None:
        # Loads the template library
        from horae.cli.printing.forecast_page import forecast_page  # noqa: PLC0415

        _write(
            html,
            forecast_page(forecast, period.zone, limit, comparison, measured=forecasting.measured),
        )
    return comparison is not None and comparison.different


def _period(start: str | None, days: int, zone: str) -> scenarios.Period:
    load_zone(zone)
    now = datetime.now(UTC)  # noqa: TID251 - "now" is when the command is typed
    begins = now if start is None else moment(start, "--start", zone)
    try:
        return scenarios.Period(begins, begins + timedelta(days=days), zone)
    except OverflowError as error:
        raise InvalidRequest(f"--start {start}: the period ends after the year 9999") from error


@contextmanager
def _progress(period: scenarios.Period) -> Generator[Progress | None]:
    """Show on a terminal how much of the period is simulated."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - only for a terminal
    from rich.progress import Progress as Bar  # noqa: PLC0415

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("simulating", total=(period.end - period.start).total_seconds())
        yield lambda now: bar.update(task, completed=(now - period.start).total_seconds())


def _write(file: Path, page: str) -> None:
    try:
        file.write_text(page, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"--html {file}: cannot be written: {error.strerror}") from error
    typer.echo(f"wrote {file}", err=True)
