"""`horae limits`: list limits by key, change their numbers, take changes back."""

from operator import itemgetter
from typing import Annotated, Any

import typer

from horae.cli.context import opened
from horae.cli.options import AsJson
from horae.cli.printing import Columns, print_json, print_list
from horae.errors import InvalidRequest
from horae.quoting import quoted
from horae.storage.operations import LimitView

limits_app = typer.Typer(help="List, change and reset limits by key.", no_args_is_help=True)

Name = Annotated[
    str,
    typer.Argument(metavar="NAME", help="The name of the limit, as `horae limits list` shows it."),
]


@limits_app.command("list")
def list_limits(context: typer.Context, *, as_json: AsJson = False) -> None:
    """List every limit by key with its numbers, and the due jobs that it holds back."""
    with opened(context) as horae:
        found = [shown(view) for view in horae.limits.list()]
    columns: Columns = {
        "LIMIT": itemgetter("name"),
        "ALLOWS": itemgetter("allows"),
        "CHANGED": lambda limit: "" if limit["changed"] is None else "yes",
        "HOLDS BACK": itemgetter("held_back"),
        "KEYS": itemgetter("keys"),
        "SINCE": itemgetter("held_back_since"),
    }
    empty = "There are no limits by key."
    print_list("limits", found, columns, empty=empty, as_json=as_json)


@limits_app.command("set")
def set_limit(
    context: typer.Context,
    name: Name,
    *,
    rate: Annotated[
        str | None, typer.Option(metavar="N/PERIOD", help="Starts per period, such as 10/s.")
    ] = None,
    burst: Annotated[
        int | None, typer.Option(metavar="N", help="Starts at once after a pause.")
    ] = None,
    window: Annotated[
        str | None, typer.Option(metavar="WINDOW", help="`bucket` (the default) or `sliding`.")
    ] = None,
    concurrency: Annotated[int | None, typer.Option(metavar="N", help="Jobs at a time.")] = None,
    as_json: AsJson = False,
) -> None:
    """Replace the numbers of a limit until `horae limits reset`, also across deployments; running
    jobs continue.
    """
    if window is not None and window not in ("bucket", "sliding"):
        raise InvalidRequest(f"window is {quoted(window)}, expected 'bucket' or 'sliding'")
    given: dict[str, Any] = {
        "rate": rate,
        "burst": burst,
        "window": window,
        "concurrency": concurrency,
    }
    with opened(context) as horae:
        _print(horae.limits.set(name, **given), as_json=as_json)


@limits_app.command()
def reset(context: typer.Context, name: Name, *, as_json: AsJson = False) -> None:
    """Let the declared numbers of a limit be in force again."""
    with opened(context) as horae:
        _print(horae.limits.reset(name), as_json=as_json)


def shown(view: LimitView) -> dict[str, Any]:
    """Return a limit as it is printed."""
    return {
        "name": view.name,
        "allows": None if view.numbers is None else view.numbers.text,
        "declared": None if view.declared is None else view.declared.to_json(),
        "changed": None if view.changed is None else view.changed.to_json(),
        "held_back": view.held_back,
        "held_back_since": view.held_back_since,
        "keys": view.keys,
    }


def _print(view: LimitView, *, as_json: bool) -> None:
    limit = shown(view)
    if as_json:
        print_json(limit)
        return
    origin = "as declared" if view.changed is None else "until it is reset"
    typer.echo(f"limit {view.name!r} allows {limit['allows']}, {origin}")
