"""`horae groups`: start, show, cancel and wait for groups of jobs."""

import json
from dataclasses import asdict
from typing import Annotated, Any, cast

import typer

from horae.cli.context import opened, target_of
from horae.cli.failures import DONE, FAILED
from horae.cli.options import AsJson, Owner, whose
from horae.cli.printing import print_fields, print_json
from horae.cli.values import duration
from horae.client.jobs.creating import Member
from horae.domain.jobs import Group
from horae.errors import InvalidRequest
from horae.quoting import quoted

GroupId = Annotated[int, typer.Argument(metavar="ID", help="ID of the group.")]

groups_app = typer.Typer(
    help="Start, show, cancel and wait for groups of jobs.", no_args_is_help=True
)


@groups_app.command()
def start(
    context: typer.Context,
    members: Annotated[
        typer.FileText,
        typer.Argument(
            metavar="FILE",
            help='One member per line: {"type": "fetch", "params": {"n": 1}}; - is stdin.',
        ),
    ],
    *,
    then: Annotated[
        str | None,
        typer.Option(
            metavar="MEMBER", help="What runs when all have ended: a type, or such an object."
        ),
    ] = None,
    on_failure: Annotated[
        str,
        typer.Option(
            metavar="WHAT", help="If a member does not finish: continue, or cancel the others."
        ),
    ] = "continue",
    owner: Annotated[str | None, typer.Option(metavar="TEXT", help="Owner of the jobs.")] = None,
    as_json: AsJson = False,
) -> None:
    """Start jobs as a group, and print its ID (needs --app or HORAE_APP)."""
    horae = target_of(context).application
    with opened(context):
        lines = (line.strip() for line in members)
        listed = (_member(f"line {number}", line) for number, line in enumerate(lines, 1) if line)
        last = (
            None
            if then is None
            else (then if not then.startswith("{") else _member("--then", then))
        )
        options: Any = {"then": last, "on_failure": on_failure, "owner": owner}
        group = horae.jobs.start_group(listed, **options)
    print_json(as_values(group)) if as_json else typer.echo(group.id)


def _member(where: str, text: str) -> Member:
    """Parse a member that is written as JSON. Raises `InvalidRequest`."""
    try:
        given = json.loads(text)
    except ValueError:
        given = None
    if not isinstance(given, dict) or not {"type"} <= given.keys() <= {"type", "params"}:
        raise InvalidRequest(
            f'{where}: {quoted(text)}: expected {{"type": "fetch", "params": {{"n": 1}}}}'
        )
    member = cast("dict[str, Any]", given)
    return member["type"], member.get("params", {})


@groups_app.command()
def show(
    context: typer.Context, group: GroupId, *, owner: Owner = None, as_json: AsJson = False
) -> None:
    """Show a group: its progress, how its members have ended, and the job after them."""
    with opened(context) as horae:
        found = horae.jobs.get_group(group, owner=whose(owner))
    _print(found, as_json=as_json)


@groups_app.command()
def cancel(
    context: typer.Context,
    group: GroupId,
    *,
    owner: Owner = None,
    by: Annotated[
        str, typer.Option(metavar="TEXT", help="Who cancels, as recorded in the jobs.")
    ] = "command line",
    as_json: AsJson = False,
) -> None:
    """Cancel the members that have not ended, and the job after them."""
    with opened(context) as horae:
        found = horae.jobs.cancel_group(group, owner=whose(owner), by=by)
    _print(found, as_json=as_json)


@groups_app.command()
def wait(
    context: typer.Context,
    group: GroupId,
    *,
    owner: Owner = None,
    timeout: Annotated[
        str | None, typer.Option(metavar="TIME", help="Give up after this time, such as 30s.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Wait until all jobs of a group have ended; exit with 1 if a member failed or was
    cancelled.
    """
    with opened(context) as horae:
        limit = None if timeout is None else duration(timeout)
        found = horae.jobs.wait_for_group(group, owner=whose(owner), timeout=limit)
    _print(found, as_json=as_json)
    raise typer.Exit(DONE if found.finished == found.total else FAILED)


def as_values(group: Group) -> dict[str, Any]:
    """Return a group as `--json` prints it; the fields are documented and stable."""
    return {**asdict(group), "state": group.state.value}


def _print(group: Group, *, as_json: bool) -> None:
    values = as_values(group)
    if as_json:
        print_json(values)
        return
    values |= {
        "progress_percentage": f"{group.progress_percentage}%",
        "on_failure": group.on_failure.value,
    }
    print_fields((name.replace("_", " "), value) for name, value in values.items())
