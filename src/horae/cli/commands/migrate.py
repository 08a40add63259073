"""`horae migrate`: creates, upgrades and downgrades the tables of the database."""

from contextlib import closing
from typing import Annotated

import typer

from horae.cli.context import target_of
from horae.cli.options import AsJson
from horae.cli.printing import print_json
from horae.storage.engine import Database, normalised, shown
from horae.storage.migrations import BASE, runner

migrate_app = typer.Typer()

AsSql = Annotated[
    bool, typer.Option("--sql", help="Print the SQL statements instead of running them.")
]
Start = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="REVISION",
        help=(
            "With --sql: revision to start from, instead of the database's. `base` is an empty"
            " database."
        ),
    ),
]


@migrate_app.command()
def up(
    context: typer.Context,
    revision: Annotated[str, typer.Argument(help="Revision to upgrade to.")] = "head",
    *,
    sql: AsSql = False,
    start: Start = None,
    as_json: AsJson = False,
) -> None:
    """Create or upgrade the tables. Idempotent."""
    migrate(context, revision, up=True, sql=sql, start=start, as_json=as_json)


@migrate_app.command()
def down(
    context: typer.Context,
    revision: Annotated[
        str, typer.Argument(help="Revision to downgrade to; `base` drops every table.")
    ],
    *,
    sql: AsSql = False,
    start: Start = None,
    as_json: AsJson = False,
) -> None:
    """Downgrade to an older revision; drops what newer ones added, with its data."""
    migrate(context, revision, up=False, sql=sql, start=start, as_json=as_json)


@migrate_app.command()
def status(context: typer.Context, *, as_json: AsJson = False) -> None:
    """Show the revision of the database and pending migrations; changes nothing."""
    with closing(Database(url_of(context))) as opened:
        print_status(opened, as_json=as_json)


def url_of(context: typer.Context) -> str:
    """Return the URL of the database, which need not exist."""
    return target_of(context).horae.settings.database


def migrate(
    context: typer.Context,
    revision: str,
    *,
    up: bool,
    sql: bool,
    start: str | None,
    as_json: bool,
) -> None:
    """Migrate the database to a revision and print its status, or print the needed statements.

    `start`: the revision from which the statements lead; None: that of the database.
    """
    database = url_of(context)
    if sql:
        dialect = normalised(database).get_backend_name()
        statements = runner.sql(dialect, start=start or current(database), end=revision, up=up)
        print_json({"sql": statements}) if as_json else typer.echo(statements, nl=False)
        return
    with closing(Database(database)) as opened:
        (runner.upgrade if up else runner.downgrade)(opened, revision)
        print_status(opened, as_json=as_json)


def current(database: str) -> str:
    """Return the revision of the database; raises `SchemaMismatch` for a newer one."""
    with closing(Database(database)) as opened:
        found = runner.status(opened)
        if found.ahead:
            raise runner.mismatch(found.current)
        return found.current or BASE


def print_status(database: Database, *, as_json: bool) -> None:
    """Print which database this is, its revision and what to do next."""
    found = runner.status(database)
    if as_json:
        print_json(found)
        return
    typer.echo(f"database: {shown(database.url)}")
    typer.echo(f"revision: {found.current or 'none'}")
    typer.echo(f"head:     {found.head}")
    if found.ahead and found.usable:
        typer.echo("Migrated by a newer version; the tables are compatible with this one.")
    elif found.ahead:
        typer.echo("The database was migrated by a newer version: upgrade Horae.")
    elif found.pending:
        typer.echo(f"pending:  {', '.join(found.pending)}\nRun `horae migrate up`.")
    else:
        typer.echo("Up to date.")
