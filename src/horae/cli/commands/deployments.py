"""`horae schema`, `deploy`, `deployments`, `ring`: the schedules of a module, and which nodes fire them."""

from typing import Annotated

import typer

from horae.cli.context import opened, operator, target_of
from horae.cli.options import AsJson
from horae.cli.printing.output import print_fields, print_json, print_table
from horae.client.changes import COMMAND_LINE, Caller, attributed_to
from horae.client.schedules.ring import ring_of

deployments_app = typer.Typer(help="List, scale and end deployments of modules.", no_args_is_help=True)

App = Annotated[str, typer.Argument(metavar="MODULE:APP", help="The application, such as app:horae.")]
Key = Annotated[str, typer.Argument(metavar="KEY", help="Key of the deployment.")]
Replicas = Annotated[int, typer.Option(min=0, help="Wanted nodes; 0 stops the schedules.")]


def schema(context: typer.Context, app: App, *, as_json: AsJson = False) -> None:
    """Print the schedules of an application, as a deployment stores them."""
    horae = target_of(context).load(app)
    print_json({"module": horae.module, "schema": horae.schema}) if as_json else typer.echo(horae.schema, nl=False)


def deploy(context: typer.Context, app: App, *, min_replicas: Replicas = 1, as_json: AsJson = False) -> None:
    """Make the schedules of an application the current version of its module.

    Also works for a version that was replaced before.
    """
    horae = target_of(context).load(app)
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
    if as_json:
        print_json({"deployments": found})
        return
    print_table(
        ("KEY", "MODULE", "REPLICAS", "CREATED", "ENDED", "REPLACED BY"),
        (
            (item.key, item.module, item.min_replicas, item.created_at, item.ended_at, keys.get(item.replaced_by or 0))
            for item in found
        ),
        empty="No deployments. A node deploys its application when it starts; or run: horae deploy app:horae",
    )


@deployments_app.command()
def show(context: typer.Context, key: Key, *, as_json: AsJson = False) -> None:
    """Show a deployment and its schema."""
    with opened(context) as horae:
        found = horae.deployments.get(key)
    if as_json:
        print_json(found)
        return
    print_fields(
        [
            ("key", found.key),
            ("module", found.module),
            ("min_replicas", found.min_replicas),
            ("created_at", found.created_at),
            ("ended_at", found.ended_at),
        ]
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
    print_json(found) if as_json else typer.echo(f"deployment {found.key} has {found.min_replicas} replicas")


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
    if as_json:
        print_json({"nodes": shares})
        return
    print_table(
        ("NODE", "NAME", "FIRST OWNER OF", "SECOND OWNER OF", "SCHEDULES", "SHARE"),
        (
            (share.node, share.name, share.first, share.second, share.schedules, f"{share.share:.0%}")
            for share in shares
        ),
        empty="No node fires schedules. Start one: horae run module:attribute",
    )
