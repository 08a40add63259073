"""`horae schema`, `deploy`, `deployments`, `ring`: the schedules of a module, and which nodes fire
them.
"""

from typing import Annotated

import typer

from horae.cli.context import opened, operator, target_of
from horae.cli.options import AsJson
from horae.cli.printing import Columns, print_fields, print_json, print_list
from horae.client.changes import COMMAND_LINE, Caller, attributed_to
from horae.client.schedules import ring_of

deployments_app = typer.Typer(
    help="List, scale and end deployments of modules.", no_args_is_help=True
)

App = Annotated[
    str | None,
    typer.Argument(
        metavar="MODULE:APP",
        help="The application, such as app:horae. Default: that of --app or HORAE_APP.",
    ),
]
Key = Annotated[str, typer.Argument(metavar="KEY", help="Key of the deployment.")]
Replicas = Annotated[int, typer.Option(min=0, help="Wanted nodes; 0 stops the schedules.")]


def schema(context: typer.Context, app: App = None, *, as_json: AsJson = False) -> None:
    """Print the schedules of an application, as a deployment stores them."""
    horae = target_of(context).chosen(app)
    (
        print_json({"module": horae.module, "schema": horae.schema})
        if as_json
        else typer.echo(horae.schema, nl=False)
    )


def deploy(
    context: typer.Context, app: App = None, *, min_replicas: Replicas = 1, as_json: AsJson = False
) -> None:
    """Make the schedules of an application the current version of its module.

    Also works for a version that was replaced before.
    """
    horae = target_of(context).chosen(app)
    with attributed_to(Caller(operator(), COMMAND_LINE)):
        result = horae.deploy(min_replicas=min_replicas)
    horae.close()
    if as_json:
        print_json({"changed": result.changed, "deployment": result.deployment})
        return
    verb = "deployed" if result.changed else "unchanged, already deployed"
    typer.echo(f"module {result.deployment.module}: {verb} as {result.deployment.key}")


@deployments_app.command("list")
def list_deployments(context: typer.Context, *, as_json: AsJson = False) -> None:
    """List the deployments of all modules, newest first."""
    with opened(context) as horae:
        found = horae.deployments.list()
        keys = {deployment.id: deployment.key for deployment in found}
    columns: Columns = {
        "KEY": "key",
        "MODULE": "module",
        "REPLICAS": "min_replicas",
        "CREATED": "created_at",
        "ENDED": "ended_at",
        "REPLACED BY": lambda item: keys.get(item.replaced_by),
    }
    empty = (
        "No deployments. A node deploys its application when it starts; or run: horae deploy"
        " app:horae"
    )
    print_list("deployments", found, columns, empty=empty, as_json=as_json)


@deployments_app.command()
def show(context: typer.Context, key: Key, *, as_json: AsJson = False) -> None:
    """Show a deployment and its schema."""
    with opened(context) as horae:
        found = horae.deployments.get(key)
    if as_json:
        print_json(found)
        return
    print_fields(
        (name, getattr(found, name))
        for name in ("key", "module", "min_replicas", "created_at", "ended_at")
    )
    typer.echo(found.schema, nl=False)


@deployments_app.command()
def scale(
    context: typer.Context,
    key: Key,
    min_replicas: Annotated[
        int, typer.Argument(min=0, metavar="REPLICAS", help="Wanted nodes; 0 stops the schedules.")
    ],
    *,
    as_json: AsJson = False,
) -> None:
    """Set the replicas of a deployment: 0 stops its schedules, more than 0 starts them again."""
    with opened(context) as horae:
        found = horae.deployments.scale(key, min_replicas)
    (
        print_json(found)
        if as_json
        else typer.echo(f"deployment {found.key} has {found.min_replicas} replicas")
    )


@deployments_app.command()
def end(context: typer.Context, key: Key, *, as_json: AsJson = False) -> None:
    """End a deployment and its schedules."""
    with opened(context) as horae:
        found = horae.deployments.end(key)
    print_json(found) if as_json else typer.echo(f"deployment {key} has ended")


def ring(context: typer.Context, *, as_json: AsJson = False) -> None:
    """Show how the schedules are shared among the nodes."""
    with opened(context) as horae:
        shares = ring_of(horae.components.database)
    columns: Columns = {
        "NODE": "node",
        "NAME": "name",
        "FIRST OWNER OF": "first",
        "SECOND OWNER OF": "second",
        "SCHEDULES": "schedules",
        "SHARE": lambda share: f"{share.share:.0%}",
    }
    empty = "No node fires schedules. Start one: horae run module:attribute"
    print_list("nodes", shares, columns, empty=empty, as_json=as_json)
