"""`horae errors`: failures in groups that have one cause; retry or delete the jobs of a group."""

from typing import Annotated, Any, Final

import typer

from horae.cli.bulk import Action, DryRun, Selection, Yes, change_many
from horae.cli.command import print_answer, table
from horae.cli.context import opened
from horae.cli.failures import WRONG_CALL, complain
from horae.cli.options import AsJson
from horae.cli.printing import Columns, counted
from horae.cli.values import duration
from horae.client.operations import FailureReport, SeenGroup, failures_since, failures_to_change
from horae.errors import NotFound
from horae.quoting import quoted

LONGEST_SHOWN: Final = 60
"""Maximum number of characters of an error text in the table; `--json` has all of it."""


def errors(
    context: typer.Context,
    *,
    since: Annotated[
        str, typer.Option(metavar="TIME", help="How far to look back, at most 90 days.")
    ] = "24h",
    type_: Annotated[
        str | None, typer.Option("--type", metavar="TYPE", help="Only failures of this job type.")
    ] = None,
    deployment: Annotated[
        str | None,
        typer.Option(
            metavar="KEY",
            help="Only failures since this deployment; `latest` for the newest one.",
        ),
    ] = None,
    new: Annotated[
        bool, typer.Option("--new", help="Only groups that first happened after a deployment.")
    ] = False,
    retry: Annotated[
        str | None, typer.Option(metavar="KEY", help="Retry the failed jobs of this group.")
    ] = None,
    delete: Annotated[
        str | None, typer.Option(metavar="KEY", help="Delete the failed jobs of this group.")
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Show what fails: failed attempts by job type, class of the exception, and place.

    The place is the last line of the application in the traceback. The query of a group is for
    `horae jobs list --query`. With --retry or --delete and
    the key of a group, one job changes the failed jobs of the group, and its id is printed.
    """
    if retry is not None and delete is not None:
        complain("name a group either with --retry or with --delete, not with both")
        raise typer.Exit(WRONG_CALL)
    period = duration(since)
    with opened(context) as horae:
        reads = horae.components.replica or horae.components.database
        report = failures_since(reads, period, type_, deployment=deployment, only_new=new)
    action: Action = "delete" if retry is None else "retry"
    key = delete if retry is None else retry
    if key is None:
        _show(report, as_json=as_json)
        return
    which: dict[str, Any] = {**failures_to_change(_group_of(report, key))}
    selection = Selection(
        state=None,
        type_=None,
        queue=None,
        query=None,
        all_jobs=False,
        dry_run=dry_run,
        yes=yes,
        as_json=as_json,
    )
    change_many(context, action, which, selection)


def _group_of(report: FailureReport, key: str) -> SeenGroup:
    found = next((group for group in report.groups if group.key == key), None)
    if found is None:
        raise NotFound(
            f"there is no group {quoted(key)} among these failures; `horae errors` lists the groups"
            " with their keys; --since looks back further"
        )
    if not found.failed_jobs:
        raise NotFound(f"no job of group {key} has failed for good; all were or will be retried")
    return found


def _show(report: FailureReport, *, as_json: bool) -> None:
    columns: Columns = {
        "KEY": "key",
        "COUNT": "count",
        "FAILED JOBS": lambda group: len(group.failed_jobs),
        "TYPE": "type",
        "ERROR": lambda group: _short(group.sample.error or group.sample.outcome or ""),
        "PLACE": "place",
        "FIRST": "first_at",
        "LAST": "last_at",
        "NEW SINCE": lambda group: "" if group.new_since is None else group.new_since.key,
        "SAMPLE": lambda group: group.sample.job_id,
        "QUERY": "query",
    }
    answer = table("groups", report.groups, columns, empty="No attempt has failed in this time.")
    values = {
        "since": report.since,
        "deployment": report.deployment,
        "complete": report.complete,
        **answer.values,
    }
    print_answer(type(answer)(values, answer.text), as_json=as_json)
    if not report.complete:
        total = counted(sum(group.count for group in report.groups), "failure")
        typer.echo(f"These are only the newest {total}; a shorter --since counts all.", err=True)


def _short(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return line if len(line) <= LONGEST_SHOWN else f"{line[:LONGEST_SHOWN]}…"
