"""`horae limits`: list limits by key, change their numbers, take changes back."""

from typing import Annotated, Any

import typer

from horae.app import Horae
from horae.cli.command import Answer, on_database, table
from horae.cli.options import Burst, Rate
from horae.errors import InvalidRequest
from horae.quoting import quoted
from horae.storage.operations import LimitView

limits_app = typer.Typer()

Name = Annotated[
    str,
    typer.Argument(metavar="NAME", help="The name of the limit, as `horae limits list` shows it."),
]


@limits_app.command("list")
@on_database
def list_limits(horae: Horae) -> Answer:
    """List every limit by key with its numbers, and the due jobs that it holds back."""
    found = [as_values(view) for view in horae.limits.list()]
    return table(
        "limits",
        found,
        {
            "LIMIT": "name",
            "ALLOWS": "allows",
            "CHANGED": lambda limit: "" if limit["changed"] is None else "yes",
            "HOLDS BACK": "held_back",
            "KEYS": "keys",
            "SINCE": "held_back_since",
        },
        empty="There are no limits by key.",
    )


@limits_app.command("set")
@on_database
def set_limit(
    horae: Horae,
    name: Name,
    *,
    rate: Rate = None,
    burst: Burst = None,
    window: Annotated[
        str | None, typer.Option(metavar="WINDOW", help="`bucket` (the default) or `sliding`.")
    ] = None,
    concurrency: Annotated[int | None, typer.Option(metavar="N", help="Jobs at a time.")] = None,
) -> Answer:
    """Replace the numbers of a limit until `horae limits reset`, also across deployments; running
    jobs continue.
    """
    if window is not None and window not in ("bucket", "sliding"):
        raise InvalidRequest(f"window is {quoted(window)}, expected 'bucket' or 'sliding'")
    numbers: dict[str, Any] = {"rate": rate, "burst": burst, "window": window}
    return _answer(horae.limits.set(name, concurrency=concurrency, **numbers))


@limits_app.command()
@on_database
def reset(horae: Horae, name: Name) -> Answer:
    """Let the declared numbers of a limit be in force again."""
    return _answer(horae.limits.reset(name))


def as_values(view: LimitView) -> dict[str, Any]:
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


def _answer(view: LimitView) -> Answer:
    limit = as_values(view)
    origin = "as declared" if view.changed is None else "until it is reset"
    return Answer(limit, f"limit {view.name!r} allows {limit['allows']}, {origin}")
