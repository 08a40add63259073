"""What the simulation replaces in Horae's storage on PostgreSQL: the driver's connections, and how they are shut down."""

from typing import Any, Final
from unittest import mock

import psycopg
from sqlalchemy import Engine, create_engine
from sqlalchemy.event import attr

from horae.storage.engine import Database, database
from horae.storage.engine.connections import OpenConnections
from tests.simulation import world
from tests.simulation.faults import Gate
from tests.simulation.postgresql.connection import SimulatedConnection, connect
from tests.simulation.replaced import EngineEvents

_dialects: Final[dict[Any, Any]] = {}
_engines: Final[dict[str, Any]] = {}
"""An engine of each kind that no process uses, as making one takes longer than copying it."""
_hang_up: Final = Database.hang_up


def of_postgresql() -> list[Any]:
    """Return the replacements."""
    return [
        mock.patch.object(database, "create_engine", shared_engine),
        mock.patch.object(database, "event", EngineEvents()),
        mock.patch.object(Database, "hang_up", hang_up),
        mock.patch.object(OpenConnections, "_shut_down", shut_down),
        mock.patch.object(attr._CompoundListener, "_exec_w_sync_on_first_run", call_listeners),  # noqa: SLF001
    ]


def shared_engine(url: Any, **options: Any) -> Engine:
    """Create an engine whose connections are simulated; it shares its compiled statements with those of its kind.

    Its pool has no limit: a thread that waits for a connection would stop the whole simulation.
    """
    options["max_overflow"] = -1
    key = repr((url, options))
    if key not in _engines:
        _engines[key] = engine = create_engine(url, **options)
        own: Any = engine.dialect
        own.connect = connect_for_real
        with engine.connect():  # asks the server for its version and more, once for each engine
            pass
        engine.dispose()
        own.connect = connect
        shared = _dialects.setdefault(options.get("isolation_level"), (own, engine._compiled_cache))  # noqa: SLF001
        engine.dialect = engine.pool._dialect = shared[0]  # noqa: SLF001
        engine._compiled_cache = shared[1]  # noqa: SLF001
    model = _engines[key]
    copied = Engine(
        model.pool.recreate(),
        model.dialect,
        model.url,
        execution_options=options.get("execution_options"),
    )
    copied._compiled_cache = model._compiled_cache  # noqa: SLF001
    return copied


def connect_for_real(*_: Any, context: Any = None, **__: Any) -> psycopg.Connection[Any]:
    """Open a connection that is not simulated."""
    server: Any = world.current().surroundings.server
    connection: psycopg.Connection[Any] = psycopg.connect(server.connection_string, context=context)
    return connection


def hang_up(db: Database) -> None:
    """Make the calls of the process fail that wait for an answer, and close its connections but those of bodies."""
    Gate.of(world.current().running.process).hang_up()
    _hang_up(db)


def shut_down(_connections: OpenConnections, connection: SimulatedConnection) -> None:
    """Shut a connection down, from any thread of its process."""
    connection.shut_down()


def call_listeners(listeners: Any, *arguments: Any) -> None:
    """Call the listeners to a new connection without the real lock that SQLAlchemy holds for the first one of a pool.

    Simulated threads change while the connection is prepared, and the next one would wait for that lock forever.
    """
    listeners(*arguments)
