"""`horae changes`: the audit log of changes over HTTP, on the command line and in Python."""

import json
from typing import Annotated, Any

import typer

from horae.cli.context import opened
from horae.cli.options import AsJson
from horae.cli.printing import Columns, print_list
from horae.client.operations import ChangeLog


def changes(
    context: typer.Context,
    *,
    actor: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only changes by this actor.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum number of entries.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Show the audit log: who changed what, newest first."""
    with opened(context) as horae:
        found = ChangeLog(horae.components.database).page(actor=actor, limit=limit).entries
    columns: Columns = {
        "AT": "at",
        "BY": "actor",
        "THROUGH": "channel",
        "ACTION": "action",
        "TARGET": "target",
        "BEFORE": lambda entry: _in_line(entry.before),
        "AFTER": lambda entry: _in_line(entry.after),
        "OUTCOME": "outcome",
        "NOTE": "note",
    }
    print_list("changes", found, columns, empty="No changes are recorded.", as_json=as_json)


def _in_line(values: Any) -> str | None:
    """Return changed values in one line."""
    if values is None:
        return None
    text = ", ".join(
        f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in values.items()
    )
    # 60 characters are about a third of a wide terminal
    return text if len(text) <= 60 else f"{text[:60]}…"  # noqa: PLR2004
