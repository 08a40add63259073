"""`horae audit`: recomputes the invariants from the tables."""

from datetime import datetime, timedelta
from typing import Annotated, Final

import typer
from rich.text import Text

from horae.cli.context import opened
from horae.cli.failures import FAILED, WRONG_CALL, complain
from horae.cli.moments import parse_moment
from horae.cli.options import AsJson
from horae.cli.printing import console, print_json, print_table
from horae.cli.values import duration
from horae.errors import InvalidRequest
from horae.storage.operations import database_error_of

COLUMNS: Final = {"INVARIANT": "invariant.value", "FINDING": "message"}


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
    as_json: AsJson = False,
) -> None:
    """Recompute what must always hold from the tables, and print what contradicts it.

    Checks that each nominal time has one decision, runs do not overlap, attempts are fenced, ended
    jobs have not changed, statistics add up, limits hold and nothing is stuck. Reads only. Exits
    with 1 if there is a finding, and with 2 if the database cannot be read.
    """
    start = None if since is None else _parse_start(since)
    try:
        with opened(context) as horae:
            report = horae.audit(start)
    except Exception as error:
        complaint = database_error_of(error)
        if complaint is None:
            raise
        complain(f"the database cannot be read: {complaint}; run `horae doctor` to find the cause")
        raise typer.Exit(WRONG_CALL) from error
    if as_json:
        print_json(
            {
                "ok": report.clean,
                "since": report.since,
                "checked": report.checked,
                "findings": report.findings,
                "not_shown": report.not_shown,
                "notes": report.notes,
            }
        )
    else:
        checked = ", ".join(f"{count} {name}" for name, count in report.checked.items())
        began = "" if report.since is None else f" since {report.since:%Y-%m-%d %H:%M:%S} UTC"
        console().print(Text(f"checked {checked or 'no rows'}{began}"))
        for note in report.notes:
            console().print(Text(f"note: {note}"))
        print_table(COLUMNS, report.findings, empty="no finding: all invariants hold")
        for name, count in report.not_shown.items():
            console().print(Text(f"{count} more findings of {name} are not shown"))
    if not report.clean:
        raise typer.Exit(FAILED)


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
