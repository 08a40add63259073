"""`horae pause --all` and `horae resume --all`: hold all queues and schedules at once."""

import functools
from typing import Annotated

import typer

from horae.app import Horae
from horae.cli.command import Answer, on_database
from horae.cli.options import Note
from horae.errors import InvalidRequest

in_emergency = functools.partial(on_database, emergency=True)
All = Annotated[bool, typer.Option("--all", help="All queues and schedules; required.")]


@in_emergency
def pause(horae: Horae, *, everything: All = False, note: Note = None) -> Answer:
    """Pause all queues and the firing of schedules.

    Running jobs continue. `horae queues pause` and `horae schedules pause` pause one.
    """
    _require(everything, "pause")
    horae.queues.pause_everything(note)
    return Answer({"paused": True}, "everything is paused: no job starts, and no schedule fires")


@in_emergency
def resume(horae: Horae, *, everything: All = False) -> Answer:
    """Resume what `horae pause --all` has paused.

    Queues and schedules that were paused by themselves stay paused.
    """
    _require(everything, "resume")
    if not horae.queues.resume_everything():
        typer.echo("nothing was paused by `horae pause --all`", err=True)
    paused = [view.name for view in horae.queues.list() if view.paused_at is not None]
    rest = f"; these queues stay paused: {', '.join(paused)}" if paused else ""
    return Answer({"paused": False}, f"everything is resumed{rest}")


def _require(everything: bool, action: str) -> None:
    if not everything:
        raise InvalidRequest(
            f"say `horae {action} --all` for all queues and schedules; `horae queues {action} NAME`"
            f" and `horae schedules {action} NAME` {action} one"
        )
