"""`horae jobs`: list, start, watch, cancel, retry, reschedule and delete jobs."""

from dataclasses import asdict
from datetime import timedelta
from functools import partial
from typing import Annotated, Any

import typer

from horae.app import Horae
from horae.cli.command import Answer, on_database, print_answer
from horae.cli.commands.jobs.changes import cancel, delete, reschedule, retry
from horae.cli.commands.jobs.following import print_end, print_ended, wait, watch
from horae.cli.commands.jobs.logs import logs
from horae.cli.context import target_of
from horae.cli.escaping import printable
from horae.cli.failures import FAILED, complain
from horae.cli.moments import local_zone
from horae.cli.options import AsJson, JobId, Owner, Query, Queues, States, Types, whose
from horae.cli.printing import COLUMNS, line_of, print_job, print_table
from horae.cli.printing.job_views import as_values, print_why
from horae.cli.start_flags import start_options, with_start_options
from horae.cli.values import duration, start_parameters
from horae.domain.jobs import parse_query
from horae.quoting import did_you_mean
from horae.storage.nodes import nodes

jobs_app = typer.Typer()
jobs_app.command()(wait)
jobs_app.command()(watch)
jobs_app.command()(logs)
for change in (cancel, retry, reschedule, delete):
    jobs_app.command()(change)


@jobs_app.command("list")
@on_database
def list_jobs(
    horae: Horae,
    *,
    state: States = None,
    type_: Types = None,
    owner: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Only jobs of this owner.")
    ] = None,
    queue: Queues = None,
    query: Query = None,
    group: Annotated[
        int | None, typer.Option(metavar="ID", help="Only members of this group.")
    ] = None,
    oldest_first: Annotated[
        bool, typer.Option("--oldest-first", help="The oldest jobs first.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum number of jobs.")] = 50,
    cursor: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="Continue after the last page, with the cursor it printed."
        ),
    ] = None,
) -> Answer:
    """List jobs, newest first."""
    page = horae.jobs.list(
        states=state or None,
        types=type_ or None,
        owner=whose(owner),
        queues=queue or None,
        query=None if query is None else parse_query(query, zone=local_zone()),
        group_id=group,
        oldest_first=oldest_first,
        limit=limit,
        cursor=cursor,
    )
    if type_ and not page.jobs:
        registered = horae.components.database.autocommit(nodes.view)
        known = {*horae.registry.by_name, *(name for node in registered for name in node.types)}
        for name in type_:
            if known and name not in known:
                meant = did_you_mean(name, known)
                typer.echo(
                    f"neither a node nor this program knows a job type {name!r}{meant}", err=True
                )

    def show_page() -> None:
        print_table(COLUMNS, page.jobs, empty="No matching jobs.")
        if page.next is not None:
            typer.echo(f"More jobs: add --cursor {page.next}", err=True)

    jobs = [as_values(job, horae.registry) for job in page.jobs]
    return Answer({"jobs": jobs, "next": page.next}, show_page)


@jobs_app.command()
@on_database
def show(horae: Horae, job: JobId, *, owner: Owner = None) -> Answer:
    """Show a job and the outcome of each attempt."""
    found = horae.jobs.get(job, owner=whose(owner))
    values = {
        **as_values(found, horae.registry),
        "weight": horae.jobs.weight(job, owner=whose(owner)),
        "waiting_reason": horae.jobs.waiting_reason(job, owner=whose(owner)),
        "attempts": horae.jobs.attempts(job, owner=whose(owner)),
    }
    return Answer(values, partial(print_job, found, values))


@jobs_app.command()
@on_database
def why(horae: Horae, job: JobId, *, owner: Owner = None) -> Answer:
    """Say why a job has not started, its place and an estimate, or what has become of it."""
    found = horae.jobs.why(job, owner=whose(owner))
    return Answer(asdict(found), partial(print_why, found))


@jobs_app.command()
@with_start_options
def start(
    context: typer.Context,
    type_: Annotated[str, typer.Argument(metavar="TYPE", help="The name of a job type.")],
    pairs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=VALUE]...",
            help="Parameters; a value that is valid JSON is read as JSON.",
        ),
    ] = None,
    *,
    params: Annotated[
        str | None, typer.Option(metavar="JSON", help="Parameters as one JSON object.")
    ] = None,
    until_ended: Annotated[
        bool, typer.Option("--wait", help="Wait until the job has ended and print its result.")
    ] = False,
    sync: Annotated[
        bool,
        typer.Option(
            "--sync", help="Run the job in this process, without a node, and print its result."
        ),
    ] = False,
    as_json: AsJson = False,
    **flags: Any,
) -> None:
    """Start a job and print its id (needs --app or HORAE_APP).

    With --wait or --sync it prints the result as JSON, and exits with 1 if the job failed or was
    cancelled.
    """
    target = target_of(context)
    horae = target.application
    options = start_options(flags)
    given = start_parameters(horae.registry.get(type_), pairs or [], params)
    try:
        job = horae.jobs.create(type_, given, options, sync=sync)
        if sync and not job.ended:
            complain(f"{line_of(job)}: the attempt failed; a node will retry it")
            raise typer.Exit(FAILED)
        if sync:
            print_ended(horae, job, as_json=as_json)
        elif until_ended:
            print_end(horae, job.id, None, as_json=as_json)
        else:
            answer = Answer(as_values(job, horae.registry), str(job.id))
            print_answer(answer, as_json=as_json)
    finally:
        target.close()


@jobs_app.command()
@on_database
def clean(
    horae: Horae,
    *,
    older_than: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Least time since the end, such as 30d. [HORAE_KEEP, else 30d]"
        ),
    ] = None,
    unknown: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TYPE",
            help=(
                "Also delete jobs of this type, which no application declares any more, without"
                " hooks."
            ),
        ),
    ] = None,
) -> Answer:
    """Delete jobs of the application's types that ended long ago, as nodes do for their types
    (needs --app).
    """
    keep: timedelta | None = None if older_than is None else duration(older_than)
    deleted = horae.jobs.clean_up(keep, unknown=unknown or ())
    left = dict(horae.jobs.left_over(keep))
    lines = [
        f"{count} of type {name} left for a node that has the type" for name, count in left.items()
    ]
    return Answer(
        {"deleted": deleted, "left": left},
        printable("\n".join([f"{deleted} jobs deleted", *lines])),
    )
