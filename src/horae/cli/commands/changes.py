"""`horae changes`: the audit log of changes over HTTP, on the command line and in Python."""

import json
from typing import Annotated, Any

import typer

from horae.app import Horae
from horae.cli.command import Answer, on_database, table
from horae.cli.moments import parse_moment
from horae.cli.options import Limit
from horae.client.operations import ChangeLog, recorded_names
from horae.quoting import cut
from horae.storage.operations import ChangeFilter


@on_database
def changes(
    horae: Horae,
    *,
    actor: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only changes by this actor.")
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="Only changes of schedules, queues …: schedule, queue."),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Only changes of this queue, job type, job or, with --kind schedule, schedule.",
        ),
    ] = None,
    action: Annotated[
        str | None,
        typer.Option(
            metavar="ACTION", help="Only these actions, such as queue.pause,queue.resume."
        ),
    ] = None,
    channel: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Only through python, cli, http or dashboard."),
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Only changes from this ISO time on.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="Only changes before this ISO time.")
    ] = None,
    limit: Limit = 50,
) -> Answer:
    """Show the audit log: who changed what, newest first."""
    database = horae.components.database
    which = ChangeFilter(
        actor=actor,
        targets=recorded_names(database, kind, target),
        kind=kind,
        actions=None if action is None else action.split(","),
        channel=channel,
        since=None if since is None else parse_moment(since, "--since"),
        until=None if until is None else parse_moment(until, "--until"),
    )
    found = ChangeLog(database).page(which, limit=limit).entries
    return table(
        "changes",
        found,
        {
            "AT": "at",
            "BY": "actor",
            "THROUGH": "channel",
            "ACTION": "action",
            "TARGET": "target",
            "BEFORE": lambda entry: _in_line(entry.before),
            "AFTER": lambda entry: _in_line(entry.after),
            "OUTCOME": "outcome",
            "NOTE": "note",
        },
        empty="No changes are recorded.",
    )


def _in_line(values: Any) -> str | None:
    """Return changed values in one line."""
    if values is None:
        return None
    text = ", ".join(
        f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in values.items()
    )
    return cut(text, 60)  # about a third of a wide terminal
