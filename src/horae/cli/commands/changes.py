"""`horae changes`: who changed what, over HTTP, on the command line and from programs."""

import json
from typing import Annotated, Any

import typer

from horae.cli.context import opened
from horae.cli.options import AsJson
from horae.cli.printing.output import print_json, print_table
from horae.client.operations.audit import Audit


def changes(
    context: typer.Context,
    *,
    actor: Annotated[str | None, typer.Option(metavar="NAME", help="Only what this one changed.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many to show.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Show who changed what, the newest first."""
    with opened(context) as horae:
        found = Audit(horae.components.database).page(actor=actor, limit=limit).entries
    if as_json:
        print_json({"changes": found})
        return
    print_table(
        ("AT", "BY", "THROUGH", "ACTION", "TARGET", "BEFORE", "AFTER", "OUTCOME", "NOTE"),
        (
            (
                entry.at, entry.actor, entry.channel, entry.action, entry.target, _in_line(entry.before),
                _in_line(entry.after), entry.outcome, entry.note,
            )
            for entry in found
        ),
        empty="Nobody has changed anything.",
    )  # fmt: skip


def _in_line(values: Any) -> str | None:
    """What was changed, in a few words."""
    if values is None:
        return None
    text = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in values.items())
    return text if len(text) <= 60 else f"{text[:60]}…"  # noqa: PLR2004 - about a third of a wide terminal
