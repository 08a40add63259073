"""`horae jobs wait` and `watch`: wait until jobs have ended."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Annotated, Final

import typer
from rich.progress import (
    BarColumn,
    Progress,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)

from horae.app import Horae
from horae.cli.context import opened
from horae.cli.failures import FAILED, complain
from horae.cli.options import AsJson, JobId, JobIds, Owner, Timeout, whose
from horae.cli.printing import console, line_of, print_json
from horae.cli.printing.job_views import as_values
from horae.cli.values import duration
from horae.domain.jobs import Job, JobState
from horae.errors import JobDoesNotExist, JobError, JobFailed

POLL_INTERVAL: Final = 0.2
"""Seconds between two queries: short enough for smooth progress, but only 5 queries a second."""


def wait(
    context: typer.Context,
    job: JobId,
    *,
    timeout: Timeout = None,
    owner: Owner = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the whole job instead of its result.")
    ] = False,
) -> None:
    """Wait until a job has ended and print its result as JSON; exits with 1 if it failed or was
    cancelled.
    """
    patience = None if timeout is None else duration(timeout)
    with opened(context) as horae:
        horae.jobs.get(job, owner=whose(owner))
        print_end(horae, job, patience, as_json=as_json)


def print_end(horae: Horae, job_id: int, patience: timedelta | None, *, as_json: bool) -> None:
    """Wait for the job and print its result.

    Raises `WaitTimeout`, or Exit if the job did not finish.
    """
    with suppress(JobError):
        horae.jobs.wait(job_id, timeout=patience)
    print_ended(horae, horae.jobs.get(job_id), as_json=as_json)


def print_ended(horae: Horae, job: Job, *, as_json: bool) -> None:
    """Print the result of an ended job, which may be deleted; raises Exit if it did not finish."""
    try:
        result = horae.jobs.result_of(job)
    except JobError as error:
        if as_json:
            print_json(as_values(job, horae.registry))
        complain(
            f"job {job.id} failed: {error} ({error.error})"
            if isinstance(error, JobFailed)
            else error
        )
        raise typer.Exit(FAILED) from error
    print_json(as_values(job, horae.registry) if as_json else result)


def watch(
    context: typer.Context, jobs: JobIds, *, owner: Owner = None, as_json: AsJson = False
) -> None:
    """Show the progress of jobs until all have ended; exits with 1 unless all finished.

    Draws bars on a terminal and prints a line for each change elsewhere; with --json each line is
    the whole job.
    """
    with opened(context) as horae:
        changes = changes_of(horae, list(dict.fromkeys(jobs)), owner)
        if as_json:
            last = print_each(changes, lambda job: print_json(as_values(job, horae.registry)))
        elif console().is_terminal:
            last = draw(changes)
        else:
            last = print_each(changes, lambda job: typer.echo(line_of(job)))
    if any(job.state is not JobState.FINISHED for job in last.values()):
        raise typer.Exit(FAILED)


def changes_of(horae: Horae, ids: Sequence[int], owner: str | None) -> Iterator[Job]:
    """Yield each job, and again after each change, until all end; raises `JobDoesNotExist`."""
    seen: dict[int, Job] = {}
    while True:
        found: dict[int, Job] = {
            job.id: job for job in horae.jobs.list(ids=ids, owner=whose(owner)).jobs
        }
        for job_id in ids:
            if job_id not in found:
                raise JobDoesNotExist(job_id)
            if job_id not in seen or _visible_state(found[job_id]) != _visible_state(seen[job_id]):
                yield found[job_id]
        seen.update(found)
        if all(job.ended for job in found.values()):
            return
        time.sleep(POLL_INTERVAL)


def print_each(changes: Iterator[Job], show: Callable[[Job], None]) -> dict[int, Job]:
    """Print every change; return the jobs in their final states."""
    last: dict[int, Job] = {}
    for job in changes:
        last[job.id] = job
        show(job)
    return last


def draw(changes: Iterator[Job]) -> dict[int, Job]:
    """Draw a progress bar for each job; return the jobs in their final states."""
    last: dict[int, Job] = {}
    bars: dict[int, TaskID] = {}
    with Progress(
        *(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
        ),
        console=console(),
    ) as progress:
        for job in changes:
            last[job.id] = job
            if job.id not in bars:
                bars[job.id] = progress.add_task("", total=100)
            progress.update(
                bars[job.id], completed=job.progress_percentage, description=line_of(job)
            )
            if job.ended:
                progress.stop_task(bars[job.id])
    return last


def _visible_state(job: Job) -> tuple[JobState, int, str | None]:
    return job.state, job.progress_percentage, job.label
