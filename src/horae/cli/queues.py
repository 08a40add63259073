"""`horae queues`: what waits, and holding it."""

from typing import Annotated

import typer

from horae.app import Horae
from horae.cli.context import opened
from horae.cli.options import AsJson, Queue
from horae.cli.output import brief, print_json, print_table
from horae.handler.queues import Queues

queues_app = typer.Typer(help="See, pause and resume queues.", no_args_is_help=True)


@queues_app.command("list")
def list_queues(context: typer.Context, *, as_json: AsJson = False) -> None:
    """List every queue that has work or was ever paused."""
    with opened(context) as horae:
        found = _queues(horae).list()
    if as_json:
        print_json({"queues": found})
        return
    print_table(
        ("QUEUE", "STATE", "PENDING", "STARTED", "OLDEST DUE", "NOTE"),
        (
            (
                queue.name,
                "open" if queue.paused_at is None else "paused",
                queue.pending,
                queue.started,
                brief(queue.oldest_due) if queue.oldest_due is not None and queue.oldest_due > 0 else "",
                queue.note,
            )
            for queue in found
        ),
        empty="No queue has work, and none is paused.",
    )


@queues_app.command()
def pause(
    context: typer.Context,
    name: Queue,
    *,
    note: Annotated[str | None, typer.Option(metavar="TEXT", help="Why; shown in the list.")] = None,
    as_json: AsJson = False,
) -> None:
    """Let no node begin a job of this queue; what has started goes on."""
    with opened(context) as horae:
        _queues(horae).pause(name, note)
    print_json({"name": name, "paused": True}) if as_json else typer.echo(f"queue {name!r} is paused")


@queues_app.command()
def resume(context: typer.Context, name: Queue, *, as_json: AsJson = False) -> None:
    """Open a paused queue again."""
    with opened(context) as horae:
        _queues(horae).resume(name)
    print_json({"name": name, "paused": False}) if as_json else typer.echo(f"queue {name!r} is open")


def _queues(horae: Horae) -> Queues:
    return Queues(horae.parts.database, horae.parts.wakeup)
