"""`horae schema`, `deploy`, `deployments`, `ring`: the schedules of a module, and which nodes fire
them.
"""

from functools import partial
from typing import Annotated

import typer

from horae.app import Horae
from horae.cli.command import Answer, on_database, printed, table
from horae.cli.context import operator, target_of
from horae.cli.options import Application
from horae.cli.printing import print_fields
from horae.client.changes import COMMAND_LINE, Caller, attributed_to
from horae.client.schedules import ring_of

deployments_app = typer.Typer()

Key = Annotated[str, typer.Argument(metavar="KEY", help="Key of the deployment.")]
Replicas = Annotated[int, typer.Option(min=0, help="Wanted nodes; 0 stops the schedules.")]


@printed
def schema(context: typer.Context, app: Application = None) -> Answer:
    """Print the schedules of an application, as a deployment stores them."""
    horae = target_of(context).chosen(app)
    text = partial(typer.echo, horae.schema, nl=False)
    return Answer({"module": horae.module, "schema": horae.schema}, text)


@printed
def deploy(
    context: typer.Context, app: Application = None, *, min_replicas: Replicas = 1
) -> Answer:
    """Make the schedules of an application the current version of its module.

    Also works for a version that was replaced before.
    """
    horae = target_of(context).chosen(app)
    with attributed_to(Caller(operator(), COMMAND_LINE)):
        result = horae.deploy(min_replicas=min_replicas)
    horae.close()
    verb = "deployed" if result.changed else "unchanged, already deployed"
    text = f"module {result.deployment.module}: {verb} as {result.deployment.key}"
    return Answer({"changed": result.changed, "deployment": result.deployment}, text)


@deployments_app.command("list")
@on_database
def list_deployments(horae: Horae) -> Answer:
    """List the deployments of all modules, newest first."""
    found = horae.deployments.list()
    keys = {deployment.id: deployment.key for deployment in found}
    return table(
        "deployments",
        found,
        {
            "KEY": "key",
            "MODULE": "module",
            "REPLICAS": "min_replicas",
            "CREATED": "created_at",
            "ENDED": "ended_at",
            "REPLACED BY": lambda item: keys.get(item.replaced_by),
        },
        empty=(
            "No deployments. A node deploys its application when it starts; or run: horae deploy"
            " app:horae"
        ),
    )


@deployments_app.command()
@on_database
def show(horae: Horae, key: Key) -> Answer:
    """Show a deployment and its schema."""
    found = horae.deployments.get(key)

    def show_all() -> None:
        names = ("key", "module", "min_replicas", "created_at", "ended_at")
        print_fields((name, getattr(found, name)) for name in names)
        typer.echo(found.schema, nl=False)

    return Answer(found, show_all)


@deployments_app.command()
@on_database
def scale(
    horae: Horae,
    key: Key,
    min_replicas: Annotated[
        int, typer.Argument(min=0, metavar="REPLICAS", help="Wanted nodes; 0 stops the schedules.")
    ],
) -> Answer:
    """Set the replicas of a deployment: 0 stops its schedules, more than 0 starts them again."""
    found = horae.deployments.scale(key, min_replicas)
    return Answer(found, f"deployment {found.key} has {found.min_replicas} replicas")


@deployments_app.command()
@on_database
def end(horae: Horae, key: Key) -> Answer:
    """End a deployment and its schedules."""
    return Answer(horae.deployments.end(key), f"deployment {key} has ended")


@on_database
def ring(horae: Horae) -> Answer:
    """Show how the schedules are shared among the nodes."""
    shares = ring_of(horae.components.database)
    return table(
        "nodes",
        shares,
        {
            "NODE": "node",
            "NAME": "name",
            "FIRST OWNER OF": "first",
            "SECOND OWNER OF": "second",
            "SCHEDULES": "schedules",
            "SHARE": lambda share: f"{share.share:.0%}",
        },
        empty="No node fires schedules. Start one: horae run module:attribute",
    )
