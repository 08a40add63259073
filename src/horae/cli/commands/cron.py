"""`horae cron`: evaluates and explains cron expressions. Needs no database."""

import json
from datetime import UTC, datetime
from typing import Annotated

import typer

from horae.cli.moments import parse_moment
from horae.cli.options import AsJson
from horae.client.schedule_words import daylight_saving_in_words, in_words
from horae.domain.cron import CronExpression, DstFold, DstGap
from horae.errors import CronSyntaxError

cron_app = typer.Typer()

Expression = Annotated[
    str,
    typer.Argument(
        metavar="EXPR", help="Cron expression of 5, 6 or 7 fields, in quotes: '0 3 * * *'."
    ),
]
Timezone = Annotated[str, typer.Option(metavar="ZONE", help="IANA time zone.")]
Gap = Annotated[
    DstGap, typer.Option(help="Times skipped when clocks go forward: shift past the gap, or skip.")
]
Fold = Annotated[DstFold, typer.Option(help="Times repeated when clocks go back: which one fires.")]


@cron_app.command("next")
def next_fires(
    expression: Expression,
    *,
    after: Annotated[
        str | None,
        typer.Option(metavar="ISO", help="Start time; without an offset it is in ZONE. [now]"),
    ] = None,
    count: Annotated[int, typer.Option(min=1, max=10_000, help="Number of times.")] = 5,
    timezone: Timezone = "UTC",
    dst_gap: Gap = "shift",
    dst_fold: Fold = "first",
    inclusive: Annotated[
        bool, typer.Option("--inclusive", help="Include the start time itself.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print the next times an expression fires, one per line, with their offset from UTC."""
    cron = CronExpression.parse(expression, timezone=timezone, dst_gap=dst_gap, dst_fold=dst_fold)
    start = (
        datetime.now(UTC)  # noqa: TID251 - "now" is when the command is typed
        if after is None
        else parse_moment(after, "--after", timezone)
    )
    fires = [fire.isoformat() for fire in cron.upcoming(start, count, inclusive=inclusive)]
    if as_json:
        typer.echo(json.dumps(fires))
        return
    for fire in fires:
        typer.echo(fire)
    if len(fires) < count:
        typer.echo("No more times: the years of the expression have passed.", err=True)


@cron_app.command()
def explain(
    expression: Expression,
    *,
    timezone: Timezone = "UTC",
    dst_gap: Gap = "shift",
    dst_fold: Fold = "first",
    as_json: AsJson = False,
) -> None:
    """Describe in words when an expression fires.

    Names such as MON and words such as @daily are translated into the expression to write.
    """

    def parse(text: str) -> CronExpression:
        return CronExpression.parse(text, timezone=timezone, dst_gap=dst_gap, dst_fold=dst_fold)

    instead: str | None = None
    try:
        cron = parse(expression)
    except CronSyntaxError as error:
        if error.instead is None:
            raise
        instead = error.instead
        cron = parse(instead)
    words, changes = in_words(cron), None if timezone == "UTC" else daylight_saving_in_words(cron)
    if as_json:
        said = {
            "expression": expression,
            "instead": instead,
            "words": words,
            "timezone": timezone,
            "daylight_saving": changes,
        }
        typer.echo(json.dumps(said))
        return
    if instead is not None:
        typer.echo(f"Write {instead}")
    typer.echo(words)
    if changes is not None:
        typer.echo(f"Time zone: {timezone}. {changes}")
