"""Options that several commands share, and how a list of them becomes part of a signature."""

import inspect
from collections.abc import Callable, Sequence
from inspect import Parameter
from typing import Annotated

import typer

from horae.domain.jobs import EVERYBODY, Whose

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on stdout, and nothing else.")]
Queue = Annotated[str, typer.Argument(metavar="NAME", help="Name of the queue.")]
JobIds = Annotated[list[int], typer.Argument(metavar="ID...", help="IDs of jobs.")]
SomeJobIds = Annotated[list[int] | None, typer.Argument(metavar="[ID]...", help="IDs of jobs.")]
JobId = Annotated[int, typer.Argument(metavar="ID", help="ID of the job.")]
Owner = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Act as this owner: jobs of others count as missing."),
]

Query = Annotated[
    str | None,
    typer.Option(
        metavar="QUERY",
        help=(
            "Only jobs that meet all terms, such as `type:import* params.customer_id:4711"
            " -state:finished`."
        ),
    ),
]


def whose(owner: str | None) -> Whose:
    """Return the owner that an option selects, by default everybody."""
    return EVERYBODY if owner is None else owner


def replace_catch_all(
    command: Callable[..., None], added: Sequence[Parameter], *, before_own: bool = False
) -> Callable[..., None]:
    """Put options in the place of a command's last parameter, `**options`, which receives them.

    `before_own`: list them in the help before the options of the command itself.
    """
    *own, catch_all = inspect.signature(command).parameters.values()
    first = (
        sum(parameter.kind is not Parameter.KEYWORD_ONLY for parameter in own)
        if before_own
        else len(own)
    )
    command.__signature__ = inspect.Signature([*own[:first], *added, *own[first:]])  # type: ignore[attr-defined]
    del command.__annotations__[catch_all.name]
    return command
