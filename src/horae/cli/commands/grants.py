"""`horae grants`: prints the privileges that a database role needs, as SQL."""

from functools import partial
from typing import Annotated

import typer

from horae.cli.command import Answer, printed
from horae.errors import InvalidRequest
from horae.quoting import quoted
from horae.storage.migrations import Privileges
from horae.storage.migrations.grants import grants as statements

LONGEST_IDENTIFIER = 63
"""Maximum bytes of a name in PostgreSQL, which would silently truncate a longer one."""


@printed
def grants(
    kind: Annotated[
        Privileges, typer.Argument(metavar="KIND", help="enqueue, read-only, worker or web.")
    ],
    *,
    role: Annotated[
        str,
        typer.Option("--to", metavar="ROLE", help="Role of the database that gets the privileges."),
    ],
    schema: Annotated[str, typer.Option(metavar="NAME", help="Schema of the tables.")] = "public",
) -> Answer:
    """Print the privileges that a PostgreSQL role needs, as SQL.

    `enqueue` starts jobs and reads nothing of others; `read-only` reads everything and writes
    nothing; `worker` runs nodes; `web` also serves the HTTP API. None of them may change tables:
    `horae migrate` needs their owner. Run the statements as that owner, once the role exists, and
    again after each migration: they are idempotent.
    """
    for name in (role, schema):
        if not name or "\0" in name or len(name.encode()) > LONGEST_IDENTIFIER:
            raise InvalidRequest(
                f"{quoted(name)} is no name in PostgreSQL: expected 1 to {LONGEST_IDENTIFIER} bytes"
            )
    sql = statements(kind, role, schema)
    return Answer({"sql": sql}, partial(typer.echo, sql, nl=False))
