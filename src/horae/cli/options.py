"""Options that several commands share."""

from typing import Annotated

import typer

from horae.domain.jobs.owner import EVERYBODY, Whose

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on stdout.")]
Queue = Annotated[str, typer.Argument(metavar="NAME", help="The queue.")]
JobIds = Annotated[list[int], typer.Argument(metavar="ID...", help="Ids of jobs.")]
JobId = Annotated[int, typer.Argument(metavar="ID", help="The id of a job.")]
Owner = Annotated[str | None, typer.Option(metavar="TEXT", help="Only a job of this owner; others look missing.")]


def whose(owner: str | None) -> Whose:
    """Whose jobs an option asks for: everybody's if it was not given."""
    return EVERYBODY if owner is None else owner
