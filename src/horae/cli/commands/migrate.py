"""`horae migrate`: creates, upgrades and downgrades the tables of the database."""

from contextlib import closing
from functools import partial
from typing import Annotated

import typer

from horae.cli.command import Answer, printed
from horae.cli.context import target_of
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
@printed
def up(
    context: typer.Context,
    revision: Annotated[str, typer.Argument(help="Revision to upgrade to.")] = "head",
    *,
    sql: AsSql = False,
    start: Start = None,
) -> Answer:
    """Create or upgrade the tables. Idempotent."""
    return migrate(context, revision, up=True, sql=sql, start=start)


@migrate_app.command()
@printed
def down(
    context: typer.Context,
    revision: Annotated[
        str, typer.Argument(help="Revision to downgrade to; `base` drops every table.")
    ],
    *,
    sql: AsSql = False,
    start: Start = None,
) -> Answer:
    """Downgrade to an older revision; drops what newer ones added, with its data."""
    return migrate(context, revision, up=False, sql=sql, start=start)


@migrate_app.command()
@printed
def status(context: typer.Context) -> Answer:
    """Show the revision of the database and pending migrations; changes nothing."""
    with closing(Database(url_of(context))) as opened:
        return status_of(opened)


def url_of(context: typer.Context) -> str:
    """Return the URL of the database, which need not exist."""
    return target_of(context).horae.settings.database


def migrate(
    context: typer.Context, revision: str, *, up: bool, sql: bool, start: str | None
) -> Answer:
    """Migrate the database to a revision and return its status, or return the needed statements.

    `start`: the revision from which the statements lead; None: that of the database.
    """
    database = url_of(context)
    if sql:
        dialect = normalised(database).get_backend_name()
        statements = runner.sql(dialect, start=start or current(database), end=revision, up=up)
        return Answer({"sql": statements}, partial(typer.echo, statements, nl=False))
    with closing(Database(database)) as opened:
        (runner.upgrade if up else runner.downgrade)(opened, revision)
        return status_of(opened)


def current(database: str) -> str:
    """Return the revision of the database; raises `SchemaMismatch` for a newer one."""
    with closing(Database(database)) as opened:
        found = runner.status(opened)
        if found.ahead:
            raise runner.mismatch(found.current)
        return found.current or BASE


def status_of(database: Database) -> Answer:
    """Say which database this is, its revision and what to do next."""
    found = runner.status(database)
    if found.ahead and found.usable:
        advice = "Migrated by a newer version; the tables are compatible with this one."
    elif found.ahead:
        advice = "The database was migrated by a newer version: upgrade Horae."
    elif found.pending:
        advice = f"pending:  {', '.join(found.pending)}\nRun `horae migrate up`."
    else:
        advice = "Up to date."
    return Answer(
        found,
        f"database: {shown(database.url)}\nrevision: {found.current or 'none'}\n"
        f"head:     {found.head}\n{advice}",
    )
