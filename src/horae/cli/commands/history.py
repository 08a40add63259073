"""`horae history`: what waited, how late it was and what ended, in equal steps of time."""

from functools import partial
from typing import Annotated

import typer

from horae.app import Horae
from horae.cli.command import Answer, on_database
from horae.cli.printing import brief, print_table
from horae.cli.values import duration
from horae.client.operations import Scope, figures_of_step, series
from horae.errors import InvalidRequest


@on_database
def history(
    horae: Horae,
    *,
    span: Annotated[
        str, typer.Option(metavar="TIME", help="How far to look back: 10m to 30d.")
    ] = "1h",
    queue: Annotated[
        str | None, typer.Option(metavar="QUEUE", help="Only the jobs of this queue.")
    ] = None,
    type_: Annotated[
        str | None, typer.Option("--type", metavar="TYPE", help="Only the jobs of this type.")
    ] = None,
) -> Answer:
    """Show what waited, how late it was, and what ended, in equal steps of time.

    Nodes record it. A step in which no node ran is empty.
    """
    if queue is not None and type_ is not None:
        raise InvalidRequest("name either a queue or a type, not both")
    scope = (
        Scope.QUEUE if queue is not None else Scope.TYPE if type_ is not None else Scope.EVERYTHING
    )
    reads = horae.components.reads
    # About as many lines as a terminal has.
    found = series(reads, scope, queue or type_, span=duration(span), points=30)
    steps = [
        {"at": each.at, "seconds": each.seconds, **figures_of_step(each)} for each in found.points
    ]
    names = ("scope", "name", "start", "until", "step_seconds")
    values = {**{name: getattr(found, name) for name in names}, "points": steps}
    return Answer(
        values,
        partial(
            print_table,
            {
                "TIME": "at",
                "WAITING": "waiting",
                "LATE BY": lambda step: brief(step["lateness_seconds"]),
                "FINISHED": "finished",
                "FAILED": "failed",
                "CANCELLED": "cancelled",
                "SLOTS": "slots",
                "USED": "slots_used",
                "WAIT P95": lambda step: brief(step["wait_p95_seconds"]),
                "RUN P95": lambda step: brief(step["run_p95_seconds"]),
            },
            steps,
            empty="Nothing is recorded yet.",
        ),
    )
