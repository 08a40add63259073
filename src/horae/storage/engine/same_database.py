"""Check that a connection of the application's own engine leads to Horae's database.

A job that is started in a transaction of another database would be written there, and no node would
find it. Equal URLs are trusted. Different URLs may still lead to the same database (`localhost` and
a socket, a service name, an engine with a `creator`), so both connections query the identity of
their database, once for each engine.
"""

from pathlib import Path
from typing import Final
from weakref import WeakSet

from sqlalchemy import URL, Connection, Pool, text

from horae.errors import InvalidRequest
from horae.redaction import shown_url
from horae.storage.engine.database import Database
from horae.storage.engine.dialect import SQLITE

# The start time of the server, in microseconds, identifies it. Every role may read it.
_IDENTITY: Final = text(
    "SELECT concat_ws(' ', extract(epoch FROM pg_postmaster_start_time()), "
    "(SELECT oid FROM pg_database WHERE datname = current_database()))"
)
_FILE: Final = text("SELECT file FROM pragma_database_list WHERE name = 'main'")


class SameDatabase:
    """Checks connections, and remembers the engines that lead to Horae's database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._found = WeakSet[Pool]()  # an engine and its execution_options variants share a pool

    def check(self, connection: Connection) -> None:
        """Raise `InvalidRequest` for a connection to another database."""
        engine = connection.engine
        if engine.pool in self._found:
            return
        if not self._database.is_at(engine.url) and (
            connection.dialect.name != self._database.dialect
            or _identity(connection) != self._database.autocommit(_identity)
        ):
            raise InvalidRequest(
                f"this session or connection is bound to {_show(engine.url)}, and Horae's database"
                f" is {_show(self._database.url)}: a job cannot be part of a transaction of"
                " another database"
            )
        self._found.add(engine.pool)


def _show(url: URL) -> str:
    return shown_url(url.render_as_string(hide_password=True))


def _identity(connection: Connection) -> str:
    """Return text that identifies the database of a connection."""
    if connection.dialect.name != SQLITE:
        return str(connection.execute(_IDENTITY).scalar_one())
    file = connection.execute(_FILE).scalar_one()
    return str(Path(file).resolve()) if file else ""  # an in-memory database is never shared
