"""`horae forecast`: what schedules will do, and what a change of them would change."""

import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import Annotated, Any, Literal

import typer

from horae.cli.command import Answer, printed
from horae.cli.context import target_of
from horae.cli.failures import DONE, FAILED
from horae.cli.moments import parse_moment
from horae.cli.options import Application
from horae.cli.printing import (
    comparison_values,
    forecast_values,
    print_comparison,
    print_forecast,
)
from horae.cli.values import duration
from horae.domain.forecast import Forecast, Progress
from horae.domain.times import load_zone
from horae.errors import InvalidRequest

Start = Annotated[
    str | None, typer.Option(metavar="ISO", help="Start of the period. Default: now.")
]


@printed
def forecast(
    context: typer.Context,
    app: Application = None,
    *,
    days: Annotated[int, typer.Option(min=1, max=3_660, help="Length of the period.")] = 30,
    start: Start = None,
    timezone: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Time zone of times without an offset, and of the output."
        ),
    ] = "UTC",
    duration: Annotated[
        list[str] | None,
        typer.Option(
            "--duration",
            metavar="[NAME=]LENGTH",
            help=(
                "How long runs of a schedule take, instead of the mean of"
                " those that succeeded; without"
                " a name: runs of schedules of which none has succeeded. Repeatable. [1s]"
            ),
        ),
    ] = None,
    against: Annotated[
        Literal["deployed"] | None,
        typer.Option(
            help=(
                "Compare with the deployed schedules: list the runs that"
                " this code would add or drop."
            )
        ),
    ] = None,
    limit: Annotated[
        int,
        typer.Option(
            min=1, max=100_000, help="Maximum number of lines of each list; others are counted."
        ),
    ] = 20,
    no_database: Annotated[
        bool, typer.Option("--no-database", help="Use no measured durations, pauses and changes.")
    ] = False,
) -> Answer:
    """Forecast what the schedules of an application will do.

    Plans them as nodes do, with the durations that the database has measured: what runs, which
    times are skipped, what overlaps, and what changes of the clocks do. Changes nothing. Exits with
    1 if --against finds a run that is added or dropped.
    """
    if against is not None and no_database:
        raise InvalidRequest("--against deployed needs the database; leave out --no-database")
    load_zone(timezone)
    options: dict[str, Any] = _durations(duration or ())
    if start is not None:
        options["start"] = parse_moment(start, "--start", timezone)
    horae = target_of(context).chosen(app)
    try:
        forecasting = horae.forecasting(days=days, with_database=not no_database, **options)
    finally:
        horae.close()
    with _progress() as progress:
        found = forecasting.forecast(progress) if against is None else forecasting.changes(progress)
    if isinstance(found, Forecast):
        shown = partial(print_forecast, found, timezone, limit)
        return Answer(forecast_values(found, limit), shown)
    shown = partial(print_comparison, found, timezone, limit)
    code = FAILED if found.different else DONE
    return Answer(comparison_values(found, limit), shown, code)


def _durations(texts: Sequence[str]) -> dict[str, Any]:
    """Parse `name=30s`, and `30s` for all schedules that have no successful run."""
    by_name: dict[str, timedelta] = {}
    options: dict[str, Any] = {"durations": by_name}
    for text in texts:
        name, _, length = text.rpartition("=")
        if name:
            by_name[name] = duration(length)
        else:
            options["default_duration"] = duration(length)
    return options


@contextmanager
def _progress() -> Generator[Progress | None]:
    """Show the progress of the forecast on a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("forecasting", total=1)
        yield lambda share: bar.update(task, completed=share)
