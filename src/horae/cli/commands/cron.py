"""`horae cron`: when an expression fires, and what it says. Needs no database."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Annotated

import typer

from horae.client.schedules.cron_words import daylight_saving_in_words, in_words
from horae.domain.cron.expression import CronExpression
from horae.domain.cron.wall_clock import DstFold, DstGap
from horae.domain.times.zone import load_zone
from horae.errors import InvalidRequest, quoted

cron_app = typer.Typer(help="Try out cron expressions.", no_args_is_help=True)

Expression = Annotated[str, typer.Argument(metavar="EXPR", help="5, 6 or 7 fields, in quotes: '0 3 * * *'.")]
Timezone = Annotated[str, typer.Option(metavar="ZONE", help="IANA name of the zone of the wall clock.")]
Gap = Annotated[DstGap, typer.Option(help="A time that the zone leaves out: after the gap, or not.")]
Fold = Annotated[DstFold, typer.Option(help="A time that comes twice: the pass that fires.")]
After = Annotated[
    str | None,
    typer.Option(metavar="ISO", help="Moment to start from; without an offset in ZONE. [now]"),
]
Count = Annotated[int, typer.Option(min=1, max=10_000, help="Number of fires.")]
Inclusive = Annotated[bool, typer.Option("--inclusive", help="Count a fire at that very moment.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print a JSON list; shorter at the end.")]


@cron_app.command("next")
def next_fires(  # noqa: PLR0913 - one argument for each option
    expression: Expression,
    *,
    after: After = None,
    count: Count = 5,
    timezone: Timezone = "UTC",
    dst_gap: Gap = "shift",
    dst_fold: Fold = "first",
    inclusive: Inclusive = False,
    as_json: AsJson = False,
) -> None:
    """Print the next fires, one a line, with their offset from UTC."""
    with refusals_on_stderr():
        cron = CronExpression.parse(expression, timezone=timezone, dst_gap=dst_gap, dst_fold=dst_fold)
        listed = cron.upcoming(_moment(after, timezone), count, inclusive=inclusive)
    fires = [fire.isoformat() for fire in listed]
    if as_json:
        typer.echo(json.dumps(fires))
        return
    for fire in fires:
        typer.echo(fire)
    if len(fires) < count:
        typer.echo("No more fires: the years of the expression are over.", err=True)


@cron_app.command()
def explain(
    expression: Expression,
    *,
    timezone: Timezone = "UTC",
    dst_gap: Gap = "shift",
    dst_fold: Fold = "first",
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object.")] = False,
) -> None:
    """Say in words when an expression fires."""
    with refusals_on_stderr():
        cron = CronExpression.parse(expression, timezone=timezone, dst_gap=dst_gap, dst_fold=dst_fold)
    words, changes = in_words(cron), None if timezone == "UTC" else daylight_saving_in_words(cron)
    if as_json:
        said = {"expression": expression, "words": words, "timezone": timezone, "daylight_saving": changes}
        typer.echo(json.dumps(said))
        return
    typer.echo(words)
    if changes is not None:
        typer.echo(f"The wall clock is that of {timezone}. {changes}")


@contextmanager
def refusals_on_stderr() -> Generator[None]:
    """Turn an error in what was typed into one line and exit code 2."""
    try:
        yield
    except InvalidRequest as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(2) from error


def _moment(text: str | None, timezone: str) -> datetime:
    """Read the moment to start from; this command is the only one to look at a clock."""
    if text is None:
        return datetime.now(UTC)  # noqa: TID251 - whoever types the command means their own now
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        example = "2026-03-29T01:30 or 2026-03-29T01:30+01:00"
        raise InvalidRequest(f"--after {quoted(text)}: expected an ISO time such as {example}") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=load_zone(timezone))
