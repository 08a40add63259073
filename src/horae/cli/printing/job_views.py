"""Jobs as the command line prints them."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

import typer

from horae.cli.escaping import indented, printable
from horae.cli.printing.output import Columns, local_time, print_fields, print_table
from horae.client.shown_parameters import shown_parameters
from horae.domain.jobs import Job, JobState, WaitsFor, Why, refused_by
from horae.types import Registry

WAITS: Final = {
    WaitsFor.JOBS: "waits for other jobs",
    WaitsFor.LIMIT: "waits for a limit or a turn",
}


def as_values(job: Job, registry: Registry) -> dict[str, Any]:
    """Return a job as `--json` prints it; the fields are documented and stable."""
    return {
        **asdict(job),
        "params": shown_parameters(registry, job.type, job.params),
        "error_code": job.error_code,
    }


def _note(job: Job) -> str | None:
    """Return a running job's label, why a pending one waits, or how many changes were refused."""
    if refused := refused_by(job):
        return f"{refused:,} refused"
    if job.retry_reason is not None:
        return f"again at {local_time(job.run_at)}: {job.retry_reason}"
    if job.waits_for is not None:
        return WAITS[job.waits_for]
    return job.label


COLUMNS: Final[Columns] = {
    "ID": "id",
    "TYPE": "type",
    "STATE": "state.value",
    "PROGRESS": lambda job: f"{job.progress_percentage}%",
    "NOTE": _note,
    "OWNER": "owner",
    "QUEUE": "queue",
    "CREATED": "created_at",
}
ATTEMPT_COLUMNS: Final[Columns] = {
    "ATTEMPT": "attempt",
    "LEASE": "lease",
    "NODE": "node_id",
    "STARTED": "started_at",
    "FINISHED": "finished_at",
    "OUTCOME": "outcome.value",
    "ERROR": "error",
}


def print_job(job: Job, values: Mapping[str, Any]) -> None:
    """Print the values of a job, and its attempts."""
    shown = {
        **values,
        "weight": None if values["weight"] == 1 else values["weight"],
        "state": job.state.value,
        "progress_percentage": f"{job.progress_percentage}%",
        "attempt": f"{job.attempt} of {job.max_attempts}",
        "meta": job.meta or None,
        "tags": ", ".join(job.tags) or None,
    }
    if values["params"] is None and job.params is not None:
        shown["params"] = (
            "not shown, because it is not known which are secret; name the program with --app"
        )
    del shown["max_attempts"], shown["attempts"]
    print_fields((name.replace("_", " "), value) for name, value in shown.items())
    attempts = values["attempts"]
    if attempts:
        typer.echo()
        print_table(ATTEMPT_COLUMNS, attempts)
    for each in attempts:
        if each.traceback:
            typer.echo(f"\nattempt {each.attempt}:\n    {indented(each.traceback)}")


def print_why(why: Why) -> None:
    """Print why a job waits: the sentence, and what is known besides."""
    typer.echo(printable(why.text))
    estimate = None
    if why.starts_at is not None:
        estimate = f"about {local_time(why.starts_at)} ({why.reckoned})"
    ahead = None
    if why.ahead is not None:
        ahead = f"{'at least ' if why.ahead_is_least else ''}{why.ahead:,}"
    print_fields(
        (
            ("until", why.until),
            ("since", why.since),
            ("by", why.by),
            ("note", why.note),
            ("node", why.node),
            ("jobs before it", ahead),
            ("starts", estimate),
            ("fails if not begun", why.fails_at),
            ("held by jobs", ", ".join(map(str, why.holders))),
        )
    )


def line_of(job: Job) -> str:
    """Return the state of a job in one line."""
    words = [f"job {job.id} ({job.type}): {job.state.value}"]
    if job.state is JobState.STARTED:
        words.append(f"{job.progress_percentage}%")
    if (note := _note(job)) and (not job.ended or refused_by(job)):
        words.append(note)
    if job.state is JobState.FAILED:
        words.append(f"- {job.human_readable_error or job.error or 'no reason given'}")
    return indented(" ".join(words))
