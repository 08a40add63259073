"""`horae jobs logs`: print the log lines of a job, and follow them."""

import time
from collections.abc import Iterator
from typing import Annotated, Any, Final

import typer

from horae.app import Horae
from horae.cli.command import Answer, print_answer
from horae.cli.commands.jobs.following import POLL_INTERVAL
from horae.cli.context import opened
from horae.cli.escaping import indented, printable
from horae.cli.options import AsJson, JobId, Owner, whose
from horae.domain.jobs import LogLine, level_name

AT_ONCE: Final = 1000
"""Number of lines that one query reads."""
LAST_LINES: Final = 5
"""Number of queries after a job's end, because its last lines are written a moment later."""


def logs(
    context: typer.Context,
    job: JobId,
    *,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Print further lines until the job has ended.")
    ] = False,
    level: Annotated[str, typer.Option(metavar="LEVEL", help="Lowest level to print.")] = "debug",
    after: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Continue after a line, with the cursor of its JSON."),
    ] = None,
    owner: Owner = None,
    as_json: AsJson = False,
) -> None:
    """Print the log lines that a job wrote, of all its attempts, the oldest first; with --json one
    object a line.
    """
    none = True
    with opened(context) as horae:
        for line in _lines(horae, job, after, level, owner, follow=follow):
            if line.dropped:
                text = f"… {line.dropped} lines were not kept …"
            else:
                text = (
                    f"{line.at:%Y-%m-%d %H:%M:%S.%f} [{line.attempt}]"
                    f" {level_name(line.level).upper()} {printable(line.logger)}:"
                    f" {indented(line.message)}"
                )
            print_answer(Answer(values_of(line), text), as_json=as_json)
            none = False
    if none:
        typer.echo(
            f"job {job} has no {'further ' if after else ''}log lines from {level} on", err=True
        )


def values_of(line: LogLine) -> dict[str, Any]:
    """Return the values of a line for JSON."""
    if line.dropped:
        return {"dropped": line.dropped, "attempt": line.attempt, "cursor": line.cursor}
    values = {
        name: getattr(line, name) for name in ("at", "attempt", "logger", "message", "cursor")
    }
    return {**values, "level": level_name(line.level)}


def _lines(
    horae: Horae, job: int, after: str | None, level: str, owner: str | None, *, follow: bool
) -> Iterator[LogLine]:
    left = LAST_LINES if follow else 0
    while True:
        page = horae.jobs.logs(job, after=after, limit=AT_ONCE, level=level, owner=whose(owner))
        after = page.cursor
        yield from page.lines
        if page.more:
            continue
        if not left:
            return
        if horae.jobs.get(job, owner=whose(owner)).ended:
            left -= 1
        time.sleep(POLL_INTERVAL)
