"""The program `horae`: its commands, and the options that all of them share."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Annotated, Final

import typer

from horae.cli.commands.changes import changes
from horae.cli.commands.cron import cron_app
from horae.cli.commands.deployments import deploy, deployments_app, ring, schema
from horae.cli.commands.doctor import doctor
from horae.cli.commands.jobs import jobs_app
from horae.cli.commands.migrate import migrate_app
from horae.cli.commands.nodes import nodes_app
from horae.cli.commands.queues import queues_app
from horae.cli.commands.run import run
from horae.cli.commands.schedules import schedules_app
from horae.cli.commands.types import types_app
from horae.cli.context import Target
from horae.cli.failures import EPILOG, WRONG_CALL, complain
from horae.cli.group import HoraeGroup
from horae.domain.storable import is_storable

DATABASE_VARIABLE: Final = "HORAE_DATABASE"

app = typer.Typer(
    name="horae",
    cls=HoraeGroup,
    help="Keeps the background work of a Python application.",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # a traceback with all variables would show passwords
)
app.command(epilog=EPILOG)(run)
app.add_typer(jobs_app, name="jobs", epilog=EPILOG)
app.add_typer(types_app, name="types")
app.add_typer(nodes_app, name="nodes")
app.add_typer(queues_app, name="queues")
app.add_typer(schedules_app, name="schedules")
app.command(epilog=EPILOG)(schema)
app.command(epilog=EPILOG)(deploy)
app.add_typer(deployments_app, name="deployments")
app.command(epilog=EPILOG)(ring)
app.command(epilog=EPILOG)(changes)
app.command(epilog=EPILOG)(doctor)
app.add_typer(migrate_app, name="migrate")
app.add_typer(cron_app, name="cron")


def print_version(wanted: bool) -> None:  # noqa: FBT001 - the signature of an option's callback
    """Print the version and end."""
    if wanted:
        typer.echo(f"horae {version('horae')}")
        raise typer.Exit


@app.callback()
def prepare(
    context: typer.Context,
    *,
    application: Annotated[
        str | None,
        typer.Option(
            "--app",
            envvar="HORAE_APP",
            metavar="MODULE:ATTRIBUTE",
            help="The application, as in app:horae; the current directory is importable.",
        ),
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="The database; else the one that the application's code names, else HORAE_DATABASE, else "
            "sqlite:///horae.db.",
        ),
    ] = None,
    shown_version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Remember what to work on. The options --app and --database may stand anywhere in a command."""
    del shown_version
    target = context.obj = Target(application, database)
    if context.invoked_subcommand == "migrate" and (application or database):
        context.with_resource(variable(DATABASE_VARIABLE, target.horae.settings.database))


@contextmanager
def variable(name: str, value: str) -> Generator[None]:
    """Set an environment variable, where a command of its own looks for it, until the end of the block."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def main() -> None:
    """Run the program."""
    if not all(is_storable(argument) for argument in sys.argv):
        complain("an argument has bytes that are no text in UTF-8, or a NUL")
        sys.exit(WRONG_CALL)
    app()
