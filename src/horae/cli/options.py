"""Options that several commands share, and how a list of them becomes part of a signature."""

import inspect
from collections.abc import Callable, Mapping
from inspect import Parameter
from typing import Annotated, Any, TypeVar

import typer

from horae.domain.jobs import EVERYBODY, Whose

Command = TypeVar("Command", bound=Callable[..., Any])

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on stdout, and nothing else.")]
Queue = Annotated[str, typer.Argument(metavar="NAME", help="Name of the queue.")]
JobIds = Annotated[list[int], typer.Argument(metavar="ID...", help="IDs of jobs.")]
SomeJobIds = Annotated[list[int] | None, typer.Argument(metavar="[ID]...", help="IDs of jobs.")]
JobId = Annotated[int, typer.Argument(metavar="ID", help="ID of the job.")]
Schedule = Annotated[str, typer.Argument(metavar="NAME|ID", help="The schedule, by name or ID.")]
Limit = Annotated[int, typer.Option(min=1, max=10_000, help="Maximum number of entries.")]
Owner = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Act as this owner: jobs of others count as missing."),
]
By = Annotated[str, typer.Option(metavar="TEXT", help="Who cancels, as recorded in the jobs.")]
Timeout = Annotated[
    str | None, typer.Option(metavar="TIME", help="Give up after this time, such as 5m.")
]
Note = Annotated[str | None, typer.Option(metavar="TEXT", help="Reason, shown in the list.")]
Rate = Annotated[
    str | None, typer.Option(metavar="N/PERIOD", help="Starts per period, such as 10/s.")
]
Burst = Annotated[int | None, typer.Option(metavar="N", help="Starts at once after a pause.")]
Application = Annotated[
    str | None,
    typer.Argument(
        metavar="MODULE:APP",
        help="The application, such as app:horae. Default: that of --app or HORAE_APP.",
    ),
]

States = Annotated[
    list[str] | None,
    typer.Option(
        "--state",
        metavar="STATE",
        help="Only jobs in this state; `!failed` for any other state. Repeatable.",
    ),
]
Types = Annotated[
    list[str] | None,
    typer.Option("--type", metavar="TYPE", help="Only jobs of this type. Repeatable."),
]
Queues = Annotated[
    list[str] | None,
    typer.Option("--queue", metavar="NAME", help="Only jobs in this queue. Repeatable."),
]
Query = Annotated[
    str | None,
    typer.Option(
        metavar="QUERY",
        help=(
            "Only jobs that meet all terms, such as `type:import* customer_id:4711 -state:finished"
            " since:yesterday attempts>=3`. Days are those of this machine's time zone."
        ),
    ),
]


def whose(owner: str | None) -> Whose:
    """Return the owner that an option selects, by default everybody."""
    return EVERYBODY if owner is None else owner


def replace_catch_all(
    command: Command, added: Mapping[str, Any], first: int | None = None
) -> Command:
    """Put options in the place of a command's last parameter, `**options`, which receives them.

    `added`: their annotations by name; an option that is not given is None, a flag False. The help
    lists them from the position `first` on; None: after the command's own.
    """
    *own, catch_all = inspect.signature(command).parameters.values()
    place = len(own) if first is None else first
    own[place:place] = [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=False if kind.__origin__ is bool else None,
            annotation=kind,
        )
        for name, kind in added.items()
    ]
    command.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
    del command.__annotations__[catch_all.name]
    return command
