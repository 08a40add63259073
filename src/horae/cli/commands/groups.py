"""`horae groups`: start, show, cancel and wait for groups of jobs."""

import json
from dataclasses import asdict, replace
from typing import Annotated, Any, cast

import typer

from horae.app import Horae
from horae.cli.command import Answer, fields, on_application, on_database
from horae.cli.failures import DONE, FAILED
from horae.cli.options import By, Owner, Timeout, whose
from horae.cli.values import duration
from horae.client.jobs.creating import Member
from horae.domain.jobs import Group
from horae.errors import InvalidRequest
from horae.quoting import quoted

GroupId = Annotated[int, typer.Argument(metavar="ID", help="ID of the group.")]

groups_app = typer.Typer()


@groups_app.command()
@on_application
def start(
    horae: Horae,
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
) -> Answer:
    """Start jobs as a group, and print its ID (needs --app or HORAE_APP)."""
    lines = (line.strip() for line in members)
    listed = (_member(f"line {number}", line) for number, line in enumerate(lines, 1) if line)
    is_object = then is not None and then.startswith("{")
    last = _member("--then", then) if then is not None and is_object else then
    options: Any = {"then": last, "on_failure": on_failure, "owner": owner}
    group = horae.jobs.start_group(listed, **options)
    return Answer(as_values(group), str(group.id))


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
@on_database
def show(horae: Horae, group: GroupId, *, owner: Owner = None) -> Answer:
    """Show a group: its progress, how its members have ended, and the job after them."""
    return _answer(horae.jobs.get_group(group, owner=whose(owner)))


@groups_app.command()
@on_database
def cancel(
    horae: Horae,
    group: GroupId,
    *,
    owner: Owner = None,
    by: By = "command line",
) -> Answer:
    """Cancel the members that have not ended, and the job after them."""
    return _answer(horae.jobs.cancel_group(group, owner=whose(owner), by=by))


@groups_app.command()
@on_database
def wait(
    horae: Horae,
    group: GroupId,
    *,
    owner: Owner = None,
    timeout: Timeout = None,
) -> Answer:
    """Wait until all jobs of a group have ended; exit with 1 if a member failed or was
    cancelled.
    """
    limit = None if timeout is None else duration(timeout)
    found = horae.jobs.wait_for_group(group, owner=whose(owner), timeout=limit)
    return replace(_answer(found), exit_code=DONE if found.finished == found.total else FAILED)


def as_values(group: Group) -> dict[str, Any]:
    """Return a group as `--json` prints it; the fields are documented and stable."""
    return {**asdict(group), "state": group.state.value}


def _answer(group: Group) -> Answer:
    values = as_values(group)
    shown = {
        **values,
        "progress_percentage": (
            f"{group.progress_percentage}%"
            if group.inserting_at is None
            else "not known while members are inserted"
        ),
        "on_failure": group.on_failure.value,
    }
    return fields(values, ((name.replace("_", " "), value) for name, value in shown.items()))
