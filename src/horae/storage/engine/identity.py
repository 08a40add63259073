"""A short name for one database, the same for every process that uses it, whatever its URL is."""

import hashlib
import socket
from pathlib import Path
from typing import Final

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from horae.errors import DatabaseAccessDenied
from horae.storage.engine.database import Database

LENGTH: Final = 6
"""Bytes of the name; it tells the databases apart that share a Redis server, which are few."""

_TABLE: Final = text(
    "SELECT current_database(), oid, 'horae_jobs'::regclass::oid FROM pg_database WHERE datname ="
    " current_database()"
)
_SERVER: Final = text("SELECT system_identifier FROM pg_control_system()")
_PORT: Final = text("SELECT current_setting('port')")


def identity_of(database: Database) -> str:
    """Return the name, which stays the same after a failover.

    A restored copy gets another name; a cloned server does not.
    """
    if database.is_file:
        parts = [_machine(), str(Path(database.url.database or "").resolve())]
    else:
        try:
            server = str(database.autocommit(lambda connection: connection.scalar(_SERVER)))
        except (DBAPIError, DatabaseAccessDenied):
            # This role may not call the function, as on some managed servers.
            server = ""
        found = database.autocommit(lambda connection: connection.execute(_TABLE).one())
        parts = [server, *map(str, found)]
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=LENGTH).hexdigest()


def local_name_of(database: Database) -> str:
    """Return a name that no copy on this machine shares while the database's server runs here.

    It is the same for all paths of a file. A cloned server has the identity of the original, but
    another port.
    """
    if database.is_file:
        # This follows links, as opening the file does.
        file = Path(database.url.database or "").stat()
        return f"{file.st_dev:x}-{file.st_ino:x}"
    port = database.autocommit(lambda connection: connection.scalar(_PORT))
    return f"{identity_of(database)}-{port}"


def _machine() -> str:
    try:
        return Path("/etc/machine-id").read_text(encoding="ascii")
    except OSError:
        return socket.gethostname()
