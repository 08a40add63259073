"""Changes of many jobs from the command line: options that choose them, question and answer."""

import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, TypeAlias, TypedDict, get_type_hints

import typer

from horae.app import Horae
from horae.cli.command import Answer
from horae.cli.moments import local_zone
from horae.cli.options import (
    AsJson,
    Command,
    Query,
    Queues,
    States,
    Types,
    replace_catch_all,
    whose,
)
from horae.cli.printing import COLUMNS, print_table
from horae.cli.printing.job_views import as_values
from horae.errors import InvalidRequest
from horae.sentences import counted

Action: TypeAlias = Literal["cancel", "retry", "delete", "reschedule"]
DONE_TO: Final[dict[str, str]] = {
    "cancel": "cancelled",
    "retry": "retried",
    "delete": "deleted",
    "reschedule": "rescheduled",
}
AllJobs = Annotated[bool, typer.Option("--all", help="All jobs, if no other option limits them.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Count and show the jobs, and change nothing.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask before many jobs are changed.")]


class Selection(TypedDict):
    """The options of a command that changes many jobs: which ones, and how."""

    state: States
    type_: Types
    queue: Queues
    query: Query
    all_jobs: AllJobs
    dry_run: DryRun
    yes: Yes
    as_json: AsJson


def with_selection(command: Command) -> Command:
    """Replace the `**selection` of a command by the options of `Selection`."""
    return replace_catch_all(command, get_type_hints(Selection, include_extras=True))


def filter_of(
    ids: Sequence[int] | None, owner: str | None, selection: Selection
) -> dict[str, Any] | None:
    """Return the filter that the options name, None if the jobs are named by their IDs.

    Raises `InvalidRequest` if both or neither are given.
    """
    all_jobs = selection["all_jobs"]
    given: dict[str, Any] = {
        "states": selection["state"],
        "types": selection["type_"],
        "queues": selection["queue"],
        "query": selection["query"],
    }
    chosen = {name: value for name, value in given.items() if value}
    if ids and (chosen or all_jobs):
        raise InvalidRequest(
            "name the jobs either by their IDs or by options such as --query, not by both"
        )
    if ids:
        return None
    if not chosen and not all_jobs:
        raise InvalidRequest(
            "name the jobs: by their IDs, by options such as --query or --state, or all with --all"
        )
    return {**chosen, "owner": whose(owner), "all": all_jobs, "timezone": local_zone()}


def change_many(
    horae: Horae, action: Action, which: Mapping[str, Any], *, dry_run: bool, yes: bool
) -> Answer:
    """Create the job that changes the jobs, after a question; with `dry_run` only count them.

    Raises `InvalidRequest` if nobody can answer.
    """
    change = getattr(horae.jobs, f"{action}_many")
    if dry_run or not yes:
        preview = change(**which, preview=True)
        jobs = (
            counted(preview.count, "job")
            if preview.complete
            else f"at least {preview.count:,} jobs"
        )
        if dry_run:
            newest = [as_values(job, horae.registry) for job in preview.newest]

            def show() -> None:
                print_table(COLUMNS, preview.newest, empty="No matching jobs.")
                typer.echo(f"{jobs} would be {DONE_TO[action]}")

            values = {"count": preview.count, "complete": preview.complete, "newest": newest}
            return Answer(values, show)
        if not sys.stdin.isatty():
            raise InvalidRequest(
                "many jobs would be changed: add --yes, or look first with --dry-run"
            )
        typer.confirm(f"{jobs} will be {DONE_TO[action]}. Continue?", abort=True, err=True)
    job = change(**{"by": "command line", **which})
    return Answer(as_values(job, horae.registry), str(job.id))
