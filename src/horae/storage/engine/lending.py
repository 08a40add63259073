"""Horae's statements on a connection that belongs to another library, such as Django's ORM.

The owner begins, commits and closes; on what it lends these calls do nothing.
"""

import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection, Engine, NullPool, create_engine

from horae.errors import InvalidRequest
from horae.storage.engine.dialect import POSTGRESQL, SQLITE
from horae.storage.engine.url import normalised

Lending: TypeAlias = Callable[[], AbstractContextManager[Connection]]
"""Lends the connection of the calling thread for the time of a block."""
Lender: TypeAlias = Callable[[], AbstractContextManager[Connection] | None]
"""Lends the connection of the transaction that is open in the calling thread; None: there is none.
"""


class LentFile:
    """A connection to a SQLite file, without the power to end the transaction of its owner."""

    def __init__(self, owner: sqlite3.Connection) -> None:
        self.owner = owner

    def __getattr__(self, name: str) -> Any:
        """Return anything else of the owner's connection."""
        return getattr(self.owner, name)

    def commit(self) -> None:
        """Do nothing: the owner commits."""

    def rollback(self) -> None:
        """Do nothing: the owner rolls back."""

    def close(self) -> None:
        """Do nothing: the owner closes."""


def lent(owner: Any) -> Any:
    """Return the connection of `sqlite3` or psycopg as it is lent.

    Raises `InvalidRequest` for that of another driver.
    """
    if isinstance(owner, sqlite3.Connection):
        return LentFile(owner)
    if not hasattr(owner, "pgconn"):
        kind = f"{type(owner).__module__}.{type(owner).__qualname__}"
        raise InvalidRequest(f"the connection is a {kind}; Horae needs one of psycopg or sqlite3")
    from horae.storage.engine.lent_session import LentSession

    return LentSession(owner)


def lending(url: str, lend: Callable[[], Any]) -> Lending:
    """Return what makes connections of SQLAlchemy from those that `lend` returns.

    `url`: their database. SQLAlchemy asks a server for its version at the first connection, and
    rolls back then, so the first one is an own connection. Raises what connecting raises.
    """
    database = normalised(url)
    own = create_engine(database, poolclass=NullPool, **_OPTIONS[database.get_backend_name()])
    with own.connect():
        pool = NullPool(lend, dialect=own.dialect, reset_on_return=None)
    return Engine(pool, own.dialect, database, hide_parameters=True).begin


_OPTIONS: Final[dict[str, dict[str, Any]]] = {
    POSTGRESQL: {"use_native_hstore": False},  # its lookup would be in the owner's transaction
    SQLITE: {},
}
