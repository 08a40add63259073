"""`horae audit`: recomputes the invariants from the tables."""

from datetime import datetime, timedelta
from typing import Annotated, Final

import typer
from rich.text import Text

from horae.cli.command import Answer, printed
from horae.cli.context import opened
from horae.cli.failures import DONE, FAILED, WRONG_CALL, complain
from horae.cli.moments import parse_moment
from horae.cli.printing import console, print_table
from horae.cli.values import duration
from horae.errors import InvalidRequest
from horae.storage.engine import DATABASE_ERRORS
from horae.storage.operations import database_error_of

COLUMNS: Final = {"INVARIANT": "invariant.value", "FINDING": "message"}


@printed
def audit(
    context: typer.Context,
    *,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Check only what happened since: 2h, 7d, or an ISO time. [everything kept]",
        ),
    ] = None,
) -> Answer:
    """Recompute what must always hold from the tables, and print what contradicts it.

    Checks that each nominal time has one decision, runs do not overlap, attempts are fenced, ended
    jobs have not changed, statistics add up, limits hold and nothing is stuck. Reads only. Exits
    with 1 if there is a finding, and with 2 if the database cannot be read.
    """
    start = None if since is None else _parse_start(since)
    try:
        with opened(context) as horae:
            report = horae.audit(start)
    except DATABASE_ERRORS as error:
        why = database_error_of(error)
        complain(f"the database cannot be read: {why}; run `horae doctor` to find the cause")
        raise typer.Exit(WRONG_CALL) from error

    def show() -> None:
        checked = ", ".join(f"{count} {name}" for name, count in report.checked.items())
        began = "" if report.since is None else f" since {report.since:%Y-%m-%d %H:%M:%S} UTC"
        console().print(Text(f"checked {checked or 'no rows'}{began}"))
        for note in report.notes:
            console().print(Text(f"note: {note}"))
        print_table(COLUMNS, report.findings, empty="no finding: all invariants hold")
        for name, count in report.not_shown.items():
            console().print(Text(f"{count} more findings of {name} are not shown"))

    names = ("since", "checked", "findings", "not_shown", "notes")
    values = {"ok": report.clean, **{name: getattr(report, name) for name in names}}
    return Answer(values, show, DONE if report.clean else FAILED)


def _parse_start(text: str) -> datetime | timedelta:
    """Parse a length of time or a moment; raises `InvalidRequest`."""
    try:
        return duration(text)
    except InvalidRequest:
        pass
    try:
        return parse_moment(text, "--since")
    except InvalidRequest as error:
        raise InvalidRequest(f"{error}, or a length of time such as 2h or 7d") from error
