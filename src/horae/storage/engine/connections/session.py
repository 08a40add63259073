"""What Horae's reading and writing depend on: the server's version, and settings of a session.

The driver reads moments only in the ISO style. Any text must be storable, so the encoding is UTF-8.
The server reports all of it when a connection is made, so checking it costs nothing.
PgBouncer keeps both for each client.
"""

from collections.abc import Generator
from contextlib import ExitStack, closing, contextmanager
from typing import Any, Final

from sqlalchemy import Engine, event

from horae.errors import ConfigurationError

OLDEST: Final = 14
"""The oldest major version of PostgreSQL with which the tests pass."""
ENCODING: Final = {"client_encoding": "utf8"}
"""The encoding, set by a driver argument because the first statement already depends on it."""
STYLE: Final = "ISO"
SET_STYLE: Final = f"SELECT set_config('DateStyle', '{STYLE}', false)"


@contextmanager
def closed_on_failure(connection: Any) -> Generator[None]:
    """Close a new connection that cannot be prepared: SQLAlchemy 2.0 would leave it open, and then
    the garbage collector warns of it.
    """
    with ExitStack() as stack:
        stack.callback(connection.close)
        yield
        stack.pop_all()


def listen(engine: Engine) -> None:
    """Prepare the sessions of the connections that the engine opens from now on."""

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: object) -> None:
        info = getattr(connection, "driver_connection", connection).info
        with closed_on_failure(connection):
            if info.server_version < OLDEST * 10_000:
                version, *_of_package = info.parameter_status("server_version").split()
                raise ConfigurationError(
                    f"the server is PostgreSQL {version}, and Horae needs version {OLDEST} or later"
                )
            reported: str = info.parameter_status("DateStyle") or ""
            if not reported.startswith(STYLE):
                with closing(connection.cursor()) as cursor:
                    cursor.execute(SET_STYLE)
                connection.commit()
