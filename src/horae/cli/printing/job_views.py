"""Jobs as the command line prints them."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import typer

from horae.cli.printing.escaping import printable
from horae.cli.printing.output import local_time, print_fields, print_table
from horae.domain.jobs.job import Job, JobState
from horae.storage.jobs.reading import Attempt


def as_values(job: Job) -> dict[str, Any]:
    """Return a job as `--json` prints it; the fields are documented and stable."""
    return asdict(job)


def print_jobs(jobs: Iterable[Job]) -> None:
    """Print one line per job."""
    print_table(
        ("ID", "TYPE", "STATE", "PROGRESS", "LABEL", "OWNER", "QUEUE", "CREATED"),
        (
            (
                job.id,
                job.type,
                job.state.value,
                f"{job.progress_percentage}%",
                job.label,
                job.owner,
                job.queue,
                local_time(job.created_at),
            )
            for job in jobs
        ),
        empty="No matching jobs.",
    )


def print_job(job: Job, attempts: Sequence[Attempt]) -> None:
    """Print all fields of a job and its attempts."""
    shown = {
        **as_values(job),
        "state": job.state.value,
        "progress_percentage": f"{job.progress_percentage}%",
        "attempt": f"{job.attempt} of {job.max_attempts}",
        "meta": job.meta or None,
    }
    del shown["max_attempts"]
    print_fields((name.replace("_", " "), value) for name, value in shown.items())
    if attempts:
        typer.echo()
        print_table(
            ("ATTEMPT", "LEASE", "NODE", "STARTED", "FINISHED", "OUTCOME", "ERROR"),
            (
                (
                    each.attempt,
                    each.lease,
                    each.node_id,
                    each.started_at,
                    each.finished_at,
                    each.outcome.value,
                    each.error,
                )
                for each in attempts
            ),
            empty="",
        )
    for each in attempts:
        if each.traceback:
            typer.echo(f"\nattempt {each.attempt}:\n{printable(each.traceback)}")


def line_of(job: Job) -> str:
    """Return the state of a job in one line."""
    words = [f"job {job.id} ({job.type}): {job.state.value}"]
    if job.state is JobState.STARTED:
        words.append(f"{job.progress_percentage}%")
    if job.label and not job.ended:
        words.append(job.label)
    if job.state is JobState.FAILED:
        words.append(f"- {job.human_readable_error or job.error or 'no reason given'}")
    return printable(" ".join(words))
