"""`horae errors`: failures in groups that have one cause; retry or delete the jobs of a group."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from horae.app import Horae
from horae.cli.bulk import Action, DryRun, Yes, change_many
from horae.cli.command import Answer, on_database
from horae.cli.printing import print_table
from horae.cli.values import duration
from horae.client.operations import FailureReport, failures_since, failures_to_change
from horae.errors import InvalidRequest, NotFound
from horae.quoting import cut, quoted
from horae.sentences import counted


@on_database
def errors(
    horae: Horae,
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
) -> Answer:
    """Show what fails: failed attempts by job type, class of the exception, and place.

    The place is the last line of the application in the traceback. The query of a group is for
    `horae jobs list --query`. With --retry or --delete and the key of a group, one job changes the
    failed jobs of the group, and its id is printed.
    """
    if retry is not None and delete is not None:
        raise InvalidRequest("name a group either with --retry or with --delete, not with both")
    report = failures_since(
        horae.components.reads, duration(since), type_, deployment=deployment, only_new=new
    )
    action: Action = "delete" if retry is None else "retry"
    key = delete if retry is None else retry
    if key is None:
        return _answer(report)
    group = next((group for group in report.groups if group.key == key), None)
    if group is None:
        raise NotFound(
            f"there is no group {quoted(key)} among these failures; `horae errors` lists the groups"
            " with their keys; --since looks back further"
        )
    if not group.failed_jobs:
        raise NotFound(f"no job of group {key} has failed for good; all were or will be retried")
    which: Mapping[str, Any] = {**failures_to_change(group)}
    return change_many(horae, action, which, dry_run=dry_run, yes=yes)


def _answer(report: FailureReport) -> Answer:
    def show() -> None:
        print_table(
            {
                "KEY": "key",
                "COUNT": "count",
                "FAILED JOBS": lambda group: len(group.failed_jobs),
                "TYPE": "type",
                "ERROR": lambda group: cut(  # `--json` has all of it
                    (group.sample.error or group.sample.outcome or "").strip().partition("\n")[0],
                    60,
                ),
                "PLACE": "place",
                "FIRST": "first_at",
                "LAST": "last_at",
                "NEW SINCE": lambda group: "" if group.new_since is None else group.new_since.key,
                "SAMPLE": lambda group: group.sample.job_id,
                "QUERY": "query",
            },
            report.groups,
            empty="No attempt has failed in this time.",
        )
        if not report.complete:
            total = counted(sum(group.count for group in report.groups), "failure")
            typer.echo(
                f"These are only the newest {total}; a shorter --since counts all.", err=True
            )

    names = ("since", "deployment", "complete", "groups")
    return Answer({name: getattr(report, name) for name in names}, show)
