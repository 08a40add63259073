"""`horae jobs`: start, find, end and clear away jobs."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Annotated, Any

import typer

from horae.cli.context import opened, target_of
from horae.cli.failures import DONE, FAILED, complain, exit_code_of
from horae.cli.options import AsJson, JobId, JobIds, Owner, whose
from horae.cli.printing.following import print_end, wait, watch
from horae.cli.printing.job_views import as_values, line_of, print_job, print_jobs
from horae.cli.printing.output import console, print_json
from horae.cli.values import duration, moment, parameters
from horae.domain.jobs.job import Job
from horae.errors import HoraeError

jobs_app = typer.Typer(help="Start, find, watch and end jobs.", no_args_is_help=True)
jobs_app.command()(wait)
jobs_app.command()(watch)


@jobs_app.command("list")
def list_jobs(  # noqa: PLR0913 - one argument for each option
    context: typer.Context,
    *,
    state: Annotated[
        list[str] | None, typer.Option(metavar="STATE", help="In this state; `!failed`: in any other. Repeatable.")
    ] = None,
    type_: Annotated[list[str] | None, typer.Option("--type", metavar="TYPE", help="Of this type. Repeatable.")] = None,
    owner: Annotated[str | None, typer.Option(metavar="TEXT", help="Of this owner.")] = None,
    queue: Annotated[list[str] | None, typer.Option(metavar="NAME", help="In this queue. Repeatable.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most so many.")] = 50,
    cursor: Annotated[str | None, typer.Option(metavar="TEXT", help="Go on where the last page ended.")] = None,
    as_json: AsJson = False,
) -> None:
    """List jobs, the newest first."""
    with opened(context) as horae:
        page = horae.jobs.list(
            states=state or None,
            types=type_ or None,
            owner=whose(owner),
            queues=queue or None,
            limit=limit,
            cursor=cursor,
        )
    if as_json:
        print_json({"jobs": [as_values(job) for job in page.jobs], "next": page.next})
        return
    print_jobs(page.jobs)
    if page.next is not None:
        typer.echo(f"There are more: --cursor {page.next}", err=True)


@jobs_app.command()
def show(context: typer.Context, job: JobId, *, owner: Owner = None, as_json: AsJson = False) -> None:
    """Show a job, and how each attempt at it ended."""
    with opened(context) as horae:
        found = horae.jobs.get(job, owner=whose(owner))
        attempts = horae.jobs.attempts(job, owner=whose(owner))
    if as_json:
        print_json({**as_values(found), "attempts": attempts})
    else:
        print_job(found, attempts)


@jobs_app.command()
def start(  # noqa: PLR0913 - one argument for each option
    context: typer.Context,
    type_: Annotated[str, typer.Argument(metavar="TYPE", help="The name of a job type.")],
    pairs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME=VALUE]...", help="Its parameters; a value that is JSON counts as JSON."),
    ] = None,
    *,
    params: Annotated[str | None, typer.Option(metavar="JSON", help="Parameters as one JSON object.")] = None,
    owner: Annotated[str | None, typer.Option(metavar="TEXT", help="Who the job belongs to.")] = None,
    queue: Annotated[str | None, typer.Option(metavar="NAME", help="Another queue than its type's.")] = None,
    priority: Annotated[int | None, typer.Option(help="Higher is claimed first.")] = None,
    delay: Annotated[str | None, typer.Option(metavar="TIME", help="Not before this is over, as in 10m.")] = None,
    run_at: Annotated[str | None, typer.Option(metavar="ISO", help="Not before this moment.")] = None,
    unique_key: Annotated[str | None, typer.Option(metavar="TEXT", help="Refuse while another job has it.")] = None,
    max_attempts: Annotated[int | None, typer.Option(min=1, help="Attempts, if bodies fail.")] = None,
    until_ended: Annotated[bool, typer.Option("--wait", help="Wait for its end and print its result.")] = False,
    sync: Annotated[
        bool, typer.Option("--sync", help="Run it here and now, without a node; print its result.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Start a job (needs --app or HORAE_APP); prints its id, or with --wait and --sync its result as JSON.

    With --wait and --sync the exit code is 1 if the job failed or was cancelled.
    """
    target = target_of(context)
    horae = target.application
    options: dict[str, Any] = {
        "owner": owner,
        "queue": queue,
        "priority": priority,
        "delay": None if delay is None else duration(delay),
        "run_at": None if run_at is None else moment(run_at),
        "unique_key": unique_key,
        "max_attempts": max_attempts,
    }
    values = parameters(horae.registry.get(type_), pairs or [], params)
    try:
        job = horae.jobs.start(type_, sync=sync, **options, **values)
        if sync and not job.ended:
            complain(f"{line_of(job)}: the attempt failed, and a node tries again")
            raise typer.Exit(FAILED)
        if until_ended or sync:
            print_end(horae, job.id, None, as_json=as_json)
        elif as_json:
            print_json(as_values(job))
        else:
            typer.echo(job.id)
    finally:
        target.close()


@jobs_app.command()
def cancel(
    context: typer.Context,
    jobs: JobIds,
    *,
    owner: Owner = None,
    by: Annotated[str, typer.Option(metavar="TEXT", help="Who cancels, as the job will show.")] = "command line",
    as_json: AsJson = False,
) -> None:
    """Cancel jobs that have not ended; their bodies are told to stop and their work is discarded."""
    with opened(context) as horae:
        for_each(jobs, lambda job: _say(horae.jobs.cancel(job, owner=whose(owner), by=by), line_of, as_json=as_json))


@jobs_app.command()
def retry(context: typer.Context, jobs: JobIds, *, owner: Owner = None, as_json: AsJson = False) -> None:
    """Start failed or cancelled jobs anew (needs --app or HORAE_APP); prints the new ids."""
    application = target_of(context).application
    with opened(context):
        for_each(
            jobs,
            lambda job: _say(application.jobs.retry(job, owner=whose(owner)), lambda new: str(new.id), as_json=as_json),
        )


@jobs_app.command()
def delete(
    context: typer.Context,
    jobs: JobIds,
    *,
    owner: Owner = None,
    without_hooks: Annotated[
        bool, typer.Option("--without-hooks", help="At once, though what their types left elsewhere stays there.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Delete ended jobs, and what their types left elsewhere (`before_delete`).

    Jobs of types that no --app here declares are deleted by the first node that knows the type.
    """
    waiting: set[int] = set()
    with opened(context) as horae:

        def remove(job: int) -> None:
            if not horae.jobs.delete(job, owner=whose(owner), without_hooks=without_hooks):
                waiting.add(job)
            elif not as_json:
                typer.echo(f"job {job} is deleted")
            if as_json:
                print_json({"waiting" if job in waiting else "deleted": job})

        try:
            for_each(jobs, remove)
        finally:
            if waiting:
                typer.echo(_waiting(len(waiting)), err=True)


@jobs_app.command()
def clean(
    context: typer.Context,
    *,
    older_than: Annotated[
        str | None, typer.Option(metavar="TIME", help="Since their end, as in 30d. [HORAE_KEEP, else 30d]")
    ] = None,
    unknown: Annotated[
        list[str] | None,
        typer.Option(metavar="TYPE", help="Also jobs of this type, which no program knows any more, without hooks."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Delete jobs that ended long ago, as every node does for the types it knows. With --app: for those of the app."""
    keep: timedelta | None = None if older_than is None else duration(older_than)
    with opened(context) as horae:
        deleted = horae.jobs.clean_up(keep, unknown=unknown or ())
        left = horae.jobs.left_over(keep)
    if as_json:
        print_json({"deleted": deleted, "left": dict(left)})
        return
    console().print(f"{deleted} jobs were deleted")
    for name, count in left.items():
        console().print(f"{count} of type {name} are left to programs that know the type")


def _waiting(count: int) -> str:
    jobs, its = (f"{count} jobs wait", "their types") if count > 1 else ("1 job waits", "its type")
    return f"{jobs} for a node that knows {its}, to be deleted by it; --without-hooks deletes at once"


def _say(job: Job, text: Callable[[Job], str], *, as_json: bool) -> None:
    print_json(as_values(job)) if as_json else typer.echo(text(job))


def for_each(jobs: Sequence[int], act: Callable[[int], object]) -> None:
    """Do it to each job, once; one that refuses does not stop the others, but decides the exit code."""
    code = DONE
    for job in dict.fromkeys(jobs):
        try:
            act(job)
        except HoraeError as error:
            complain(error)
            code = max(code, exit_code_of(error))
    if code != DONE:
        raise typer.Exit(code)
