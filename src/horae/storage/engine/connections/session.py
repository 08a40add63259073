"""Settings of a session that Horae's reading and writing depend on, whatever the defaults are.

The driver reads moments only in the ISO style. Any text must be storable, so the encoding is UTF-8.
The server reports these settings when a connection is made, so checking them costs nothing.
PgBouncer keeps both for each client.
"""

from typing import Any, Final

from sqlalchemy import Engine, event

ENCODING: Final = {"client_encoding": "utf8"}
"""The encoding, set by a driver argument because the first statement already depends on it."""
STYLE: Final = "ISO"
SET_STYLE: Final = f"SELECT set_config('DateStyle', '{STYLE}', false)"


def listen(engine: Engine) -> None:
    """Prepare the sessions of the connections that the engine opens from now on."""

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: object) -> None:
        driver = getattr(connection, "driver_connection", connection)
        reported: str = driver.info.parameter_status("DateStyle") or ""
        if reported.startswith(STYLE):
            return
        cursor = connection.cursor()
        try:
            cursor.execute(SET_STYLE)
        finally:
            cursor.close()
            connection.commit()
