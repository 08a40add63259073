"""`horae jobs cancel`, `retry`, `reschedule`, `delete`: change the jobs with these IDs, or all jobs
that match a filter, by one job.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Unpack

import typer

from horae.cli.bulk import Action, Selection, change_many, filter_of, with_selection
from horae.cli.command import Answer, print_answer
from horae.cli.context import opened, target_of
from horae.cli.failures import DONE, complain, exit_code_of
from horae.cli.moments import parse_moment
from horae.cli.options import By, Owner, SomeJobIds, whose
from horae.cli.printing import line_of, local_time, print_json
from horae.cli.printing.job_views import as_values
from horae.cli.values import duration
from horae.domain.jobs import Job
from horae.errors import HoraeError
from horae.sentences import counted


@with_selection
def cancel(
    context: typer.Context,
    jobs: SomeJobIds = None,
    *,
    owner: Owner = None,
    by: By = "command line",
    **selection: Unpack[Selection],
) -> None:
    """Cancel jobs that have not ended.

    Running ones are told to stop, and their transaction is rolled back.

    Instead of IDs, options such as --query choose the jobs; then one job cancels them, and its id
    is printed.
    """
    _change(context, "cancel", jobs, owner, selection, line_of, by=by)


@with_selection
def retry(
    context: typer.Context,
    jobs: SomeJobIds = None,
    *,
    owner: Owner = None,
    **selection: Unpack[Selection],
) -> None:
    """Retry failed or cancelled jobs as new jobs (needs --app or HORAE_APP) and print the new ids.

    Instead of IDs, options such as --query choose the jobs; then one job retries them, and its id
    is printed.
    """
    if jobs:
        _ = target_of(context).application
    _change(context, "retry", jobs, owner, selection, lambda new: str(new.id))


@with_selection
def reschedule(
    context: typer.Context,
    jobs: SomeJobIds = None,
    *,
    run_at: Annotated[str | None, typer.Option(metavar="ISO", help="New earliest start.")] = None,
    delay: Annotated[
        str | None, typer.Option(metavar="TIME", help="New delay from now, such as 10m.")
    ] = None,
    owner: Owner = None,
    **selection: Unpack[Selection],
) -> None:
    """Move pending jobs to another time.

    Instead of IDs, options such as --query choose the jobs; then one job moves them, and its id is
    printed.
    """
    _change(
        context,
        "reschedule",
        jobs,
        owner,
        selection,
        lambda job: f"{line_of(job)}, due at {local_time(job.run_at)}",
        run_at=None if run_at is None else parse_moment(run_at),
        delay=None if delay is None else duration(delay),
    )


@with_selection
def delete(
    context: typer.Context,
    jobs: SomeJobIds = None,
    *,
    owner: Owner = None,
    without_hooks: Annotated[
        bool,
        typer.Option(
            "--without-hooks",
            help=(
                "Delete at once, without `before_delete`, which removes what a type keeps"
                " elsewhere."
            ),
        ),
    ] = False,
    **selection: Unpack[Selection],
) -> None:
    """Delete ended jobs, after the `before_delete` hooks of their types.

    Jobs of types that the application does not declare are deleted by the next node that has the
    type. Instead of IDs, options such as --query choose the jobs; then one job deletes them, and
    its id is printed.
    """
    if (which := filter_of(jobs, owner, selection)) is not None:
        _change_all(context, "delete", which | {"without_hooks": without_hooks}, selection)
        return
    as_json, waiting = selection["as_json"], set[int]()
    with opened(context) as horae:

        def remove(job: int) -> None:
            if not horae.jobs.delete(job, owner=whose(owner), without_hooks=without_hooks):
                waiting.add(job)
            elif not as_json:
                typer.echo(f"job {job} deleted")
            if as_json:
                print_json({"waiting" if job in waiting else "deleted": job})

        try:
            for_each(jobs or (), remove)
        finally:
            if waiting:
                its = "their types" if len(waiting) > 1 else "its type"
                typer.echo(
                    f"{counted(len(waiting), 'job')} will be deleted by the next node that has"
                    f" {its}; --without-hooks deletes at once",
                    err=True,
                )


def _change(
    context: typer.Context,
    action: Action,
    ids: Sequence[int] | None,
    owner: str | None,
    selection: Selection,
    text: Callable[[Job], str],
    **options: Any,
) -> None:
    """Change jobs one by one and print each, or start the job that changes all selected ones."""
    if (which := filter_of(ids, owner, selection)) is not None:
        _change_all(context, action, which | options, selection)
        return
    with opened(context) as horae:

        def change(job_id: int) -> None:
            job = getattr(horae.jobs, action)(job_id, owner=whose(owner), **options)
            answer = Answer(as_values(job, horae.registry), text(job))
            print_answer(answer, as_json=selection["as_json"])

        for_each(ids or (), change)


def _change_all(
    context: typer.Context, action: Action, which: Mapping[str, Any], selection: Selection
) -> None:
    """Start the job that changes all selected jobs, and print it."""
    with opened(context) as horae:
        answer = change_many(
            horae, action, which, dry_run=selection["dry_run"], yes=selection["yes"]
        )
    print_answer(answer, as_json=selection["as_json"])


def for_each(jobs: Sequence[int], act: Callable[[int], object]) -> None:
    """Call `act` for each job, once; an error does not stop the others, but decides the exit
    code.
    """
    code = DONE
    for job in dict.fromkeys(jobs):
        try:
            act(job)
        except HoraeError as error:
            complain(error)
            code = max(code, exit_code_of(error))
    if code != DONE:
        raise typer.Exit(code)
