"""Databases on a PostgreSQL server that exist only for a test, and clocks that a test sets.

The clock is a function in front of the server's own in the search path, as Horae's statements name
it without a schema.
"""

import secrets
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime

from sqlalchemy import URL, Connection, NullPool, create_engine, text
from sqlalchemy.exc import OperationalError, ProgrammingError

from horae.errors import ConfigurationError

_CLOCK = (
    "CREATE SCHEMA horae_testing",
    "CREATE TABLE horae_testing.clock (moment timestamptz)",
    "INSERT INTO horae_testing.clock VALUES (NULL)",
    """
    CREATE FUNCTION horae_testing.statement_timestamp() RETURNS timestamptz
    LANGUAGE sql STABLE AS $$
        SELECT coalesce(
            (SELECT moment FROM horae_testing.clock), pg_catalog.statement_timestamp()
        )
    $$
    """,
)
_PATH = "horae_testing, pg_catalog, public"


def create_database(server: URL, template: URL | None = None) -> URL:
    """Create a database, empty or as a copy of one without connections, and return its URL.

    Raises `ConfigurationError` if the user of the URL may not create databases.
    """
    name = f"horae_test_{secrets.token_hex(6)}"
    with _maintenance(server) as connection:
        source = "template1" if template is None else template.database
        try:
            connection.execute(text(f'CREATE DATABASE "{name}" TEMPLATE "{source}"'))
        except ProgrammingError as error:
            raise ConfigurationError(
                "a test needs a database of its own on the server, and cannot create it"
                f" ({error.orig}): allow it with ALTER ROLE … CREATEDB, or pass connection=… to run"
                " within a transaction of the test"
            ) from error
        if template is not None:
            connection.execute(text(f'ALTER DATABASE "{name}" SET search_path = {_PATH}'))
            # The database does not outlive the test, so its commits need not wait for the disk.
            connection.execute(text(f'ALTER DATABASE "{name}" SET synchronous_commit = off'))
    return server.set(database=name)


def drop_database(url: URL) -> None:
    """Drop a database that a test created, and end connections that it left."""
    with _maintenance(url) as connection:
        connection.execute(text(f'DROP DATABASE IF EXISTS "{url.database}" WITH (FORCE)'))


def install_clock(connection: Connection) -> None:
    """Put a clock into the database that stands where it is set; it goes on until then."""
    for statement in _CLOCK:
        connection.execute(text(statement))


def use_clock(connection: Connection) -> None:
    """Let the rest of the transaction go by the clock of `install_clock`."""
    connection.execute(text(f"SET LOCAL search_path = {_PATH}"))


def remove_clock(connection: Connection, path: str) -> None:
    """Remove the clock, and let the rest of the transaction use its earlier search path."""
    connection.execute(text("DROP SCHEMA horae_testing CASCADE"))
    connection.execute(text("SELECT set_config('search_path', :path, true)"), {"path": path})


def search_path(connection: Connection) -> str:
    """Return the search path of the session."""
    return str(connection.execute(text("SHOW search_path")).scalar_one())


def set_clock(connection: Connection, moment: datetime) -> None:
    """Let the clock stand at a moment."""
    connection.execute(text("UPDATE horae_testing.clock SET moment = :moment"), {"moment": moment})


@contextmanager
def _maintenance(server: URL) -> Generator[Connection]:
    """Connect to a database of the server that is always there, or else to that of the URL."""
    for name in ("postgres", server.database):
        engine = create_engine(
            server.set(database=name), isolation_level="AUTOCOMMIT", poolclass=NullPool
        )
        try:
            connection = engine.connect()
        except OperationalError as error:
            if name == server.database:
                raise ConfigurationError(f"the server of the tests: {error.orig}") from error
            continue
        with connection:
            yield connection
            return
