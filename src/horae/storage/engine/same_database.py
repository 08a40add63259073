"""Whether a connection of the application's own engine leads to Horae's database.

A job that is started in a transaction of another database would be written there, where no node looks. Equal URLs are
believed. Other ones may lead to one place all the same (`localhost` and a socket, a service name, an engine with a
`creator`), so both databases are asked who they are, once for each engine.
"""

from pathlib import Path
from typing import Final
from weakref import WeakSet

from sqlalchemy import URL, Connection, Pool, text

from horae.errors import InvalidRequest
from horae.redaction import shown_url
from horae.storage.engine.database import Database
from horae.storage.engine.dialect import SQLITE

# The moment at which the server was started tells two servers apart, to the microsecond. Anybody may ask for it.
_WHO: Final = text(
    "SELECT concat_ws(' ', extract(epoch FROM pg_postmaster_start_time()), "
    "(SELECT oid FROM pg_database WHERE datname = current_database()))"
)
_FILE: Final = text("SELECT file FROM pragma_database_list WHERE name = 'main'")


class SameDatabase:
    """Remembers which engines have been found to lead to Horae's database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._found = WeakSet[Pool]()  # shared by an engine and what its execution_options made

    def check(self, connection: Connection) -> None:
        """Raise `InvalidRequest` for a connection to another database."""
        engine = connection.engine
        if engine.pool in self._found:
            return
        if not self._database.is_at(engine.url) and not self._is_same(connection):
            raise InvalidRequest(
                f"this session or connection is bound to {_shown(engine.url)}, and Horae's database is "
                f"{_shown(self._database.url)}: a job cannot be part of a transaction of another database"
            )
        self._found.add(engine.pool)

    def _is_same(self, connection: Connection) -> bool:
        if connection.dialect.name != self._database.dialect:
            return False
        return _who(connection) == self._database.autocommit(_who)


def _shown(url: URL) -> str:
    return shown_url(url.render_as_string(hide_password=True))


def _who(connection: Connection) -> str:
    """Who the database of a connection is."""
    if connection.dialect.name != SQLITE:
        return str(connection.execute(_WHO).scalar_one())
    file = connection.execute(_FILE).scalar_one()
    return str(Path(file).resolve()) if file else ""  # one in memory is nobody else's
