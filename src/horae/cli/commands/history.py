"""`horae history`: what waited, how late it was and what ended, in equal steps of time."""

from typing import Annotated, Any, Final

import typer

from horae.cli.command import print_answer, table
from horae.cli.context import opened
from horae.cli.failures import WRONG_CALL, complain
from horae.cli.options import AsJson
from horae.cli.printing import Columns, brief
from horae.cli.values import duration
from horae.client.operations import Scope, series
from horae.domain.history import Point, percentile

STEPS: Final = 30
"""Number of lines of the table, about as many as a terminal has."""


def history(
    context: typer.Context,
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
    as_json: AsJson = False,
) -> None:
    """Show what waited, how late it was, and what ended, in equal steps of time.

    Nodes record it. A step in which no node ran is empty.
    """
    if queue is not None and type_ is not None:
        complain("name either a queue or a type, not both")
        raise typer.Exit(WRONG_CALL)
    scope = (
        Scope.QUEUE if queue is not None else Scope.TYPE if type_ is not None else Scope.EVERYTHING
    )
    length = duration(span)
    with opened(context) as horae:
        reads = horae.components.replica or horae.components.database
        found = series(reads, scope, queue or type_, span=length, points=STEPS)
    columns: Columns = {
        "TIME": "at",
        "WAITING": lambda point: _gauge(point, "waiting"),
        "LATE BY": lambda point: brief(_gauge(point, "lateness")),
        "FINISHED": lambda point: _figure(point, "finished"),
        "FAILED": lambda point: _figure(point, "failed"),
        "CANCELLED": lambda point: _figure(point, "cancelled"),
        "SLOTS": lambda point: _gauge(point, "slots"),
        "USED": lambda point: _gauge(point, "slots_used"),
        "WAIT P95": lambda point: brief(_percentile(point, "waits")),
        "RUN P95": lambda point: brief(_percentile(point, "runs")),
    }
    answer = table("points", found.points, columns, empty="Nothing is recorded yet.")
    values = {
        "scope": found.scope,
        "name": found.name,
        "start": found.start,
        "until": found.until,
        "step_seconds": found.step_seconds,
        "points": [_values(point) for point in found.points],
    }
    print_answer(type(answer)(values, answer.text), as_json=as_json)


def _figure(point: Point, name: str) -> Any:
    return None if point.figures is None else getattr(point.figures, name)


def _gauge(point: Point, name: str) -> Any:
    gauges = _figure(point, "gauges")
    return None if gauges is None else getattr(gauges, name)


def _percentile(point: Point, name: str, share: float = 0.95) -> float | None:
    found = _figure(point, name)
    return None if found is None else percentile(found, share)


def _values(point: Point) -> dict[str, Any]:
    """Return a step for `--json`; the fields are documented and stable."""
    return {
        "at": point.at,
        "seconds": point.seconds,
        "waiting": _gauge(point, "waiting"),
        "lateness_seconds": _gauge(point, "lateness"),
        "finished": _figure(point, "finished"),
        "failed": _figure(point, "failed"),
        "cancelled": _figure(point, "cancelled"),
        "slots": _gauge(point, "slots"),
        "slots_used": _gauge(point, "slots_used"),
        "wait_p50_seconds": _percentile(point, "waits", 0.5),
        "wait_p95_seconds": _percentile(point, "waits"),
        "run_p50_seconds": _percentile(point, "runs", 0.5),
        "run_p95_seconds": _percentile(point, "runs"),
    }
