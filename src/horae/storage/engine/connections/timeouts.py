"""Time limits of PostgreSQL connections: dead servers are noticed, and waiting calls are ended.

A broken connection looks like a slow reply. By keepalives and unacknowledged data the operating
system notices a machine that is gone, but not a server that is reachable and does not reply. So a
service that notices it, by a heartbeat or a deadline, shuts the socket down, and the calls that
wait for a reply fail.

The server has to notice a client that is gone as well: until then it holds the client's locks, and
the session counts.
"""

import os
import select
import socket
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any, Final
from weakref import WeakKeyDictionary

from sqlalchemy import URL, Connection, Engine, event
from typing_extensions import override

from horae.resource_shortage import try_start
from horae.storage.engine.connections.session import ENCODING
from horae.storage.engine.url import has_several_hosts

CONNECT_TIMEOUT: Final = 5
"""Seconds to open a connection; whole seconds, as libpq requires."""
CALL_DEADLINE: Final = 60.0
"""Maximum seconds for a call of a node's service; all are short, so a longer one hangs."""
CANCEL_TIMEOUT: Final = 3.0
"""Seconds for a cancelled statement to end before its connection is shut down."""

SERVICE_BOUNDS: Final = {
    "connect_timeout": CONNECT_TIMEOUT,
    "keepalives": 1,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,  # milliseconds for which sent data may stay unacknowledged
}
"""TCP settings for services: they notice an unreachable server within about ten seconds."""

BODY_BOUNDS: Final = {
    **SERVICE_BOUNDS,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
}
"""TCP settings for bodies: a transaction survives a network failure of 30 seconds."""


OF_SERVER: Final = {
    "keepalives_idle": "tcp_keepalives_idle",
    "keepalives_interval": "tcp_keepalives_interval",
    "keepalives_count": "tcp_keepalives_count",
    "tcp_user_timeout": "tcp_user_timeout",
}
"""Settings of a server's session and the corresponding driver arguments, in the same units."""
CLIENT_CHECK: Final = "client_connection_check_interval"
"""How often a session checks during a statement whether its client is there."""
READABLE_DATES: Final = {"DateStyle": "ISO"}
"""The driver reads moments in no other style, which a reload of the server's settings could bring.
"""
SET_BOUNDS: Final = """
    SELECT count(set_config(name, value, false))
    FROM unnest({}::text[], {}::text[]) AS bound (name, value)
    WHERE current_setting(name, true) IS NOT NULL
    AND (name <> 'client_connection_check_interval' OR strpos(version(), 'linux') > 0)
"""
"""Gives a session the `server_bounds` that its server supports, which depends on its system."""


def driver_arguments_for(url: URL, wanted: Mapping[str, int]) -> dict[str, Any]:
    """Return the driver arguments that the URL does not set itself."""
    # The first of several hosts may be down for long.
    several = {"connect_timeout": 3} if has_several_hosts(url) else {}
    return {
        name: value
        for name, value in {**ENCODING, **wanted, **several}.items()
        if name not in url.query
    }


def server_bounds(driver: Any) -> dict[str, str]:
    """Return settings by which the server notices a lost client as soon as the client would.

    The locks of a transaction last until the server ends it. If the machine of a client fails or is
    cut off, nothing arrives at the server, which waits for hours by default, while the next attempt
    of a job may need these locks. And a session that runs a statement, or waits for a lock, does
    not even notice that its client has closed the connection.
    """
    return bounds_from(driver.info.get_parameters())


def bounds_from(given: Mapping[str, Any]) -> dict[str, str]:
    """Return `server_bounds` for these arguments of the driver."""
    found = {setting: str(given[name]) for name, setting in OF_SERVER.items() if name in given}
    check = {CLIENT_CHECK: f"{given['keepalives_idle']}s"} if "keepalives_idle" in given else {}
    return found | check | READABLE_DATES


def raw_bounds(given: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Return the statement that sets `bounds_from`, with values as text, for a raw connection."""
    bounds = bounds_from(given)
    return SET_BOUNDS.format("$1", "$2"), [
        f"{{{','.join(each)}}}" for each in (bounds.keys(), bounds.values())
    ]


class OpenConnections:
    """The open connections of some engines. Thread-safe."""

    def __init__(self) -> None:
        self._sockets = WeakKeyDictionary[Any, int]()
        self._calls: dict[int, tuple[float, Connection]] = {}

    def listen(self, engine: Engine) -> None:
        """Track the connections that the engine opens from now on."""

        @event.listens_for(engine, "connect")
        def note(connection: Any, _record: object) -> None:
            driver = getattr(connection, "driver_connection", connection)
            with suppress(OSError):
                self._sockets[driver] = os.fstat(driver.fileno()).st_ino

    def call(self, connection: Connection) -> "TrackedCall":
        """Track a call of a service, which has a deadline; of nested calls the innermost counts."""
        return TrackedCall(self._calls, connection)

    def end_overdue(self, now: float) -> int:
        """End the statements of overdue calls and return their number, without blocking."""
        overdue = [
            (ident, call)
            for ident, call in list(self._calls.items())
            if now - call[0] > CALL_DEADLINE
        ]
        for ident, call in overdue:
            if self._calls.get(ident) is call:
                thread = threading.Thread(
                    target=self._end, args=(ident, call[1]), name="horae-deadline", daemon=True
                )
                # The next check does not end it again.
                self._calls[ident] = later = (now + CANCEL_TIMEOUT, call[1])
                if not try_start(thread) and self._calls.get(ident) is later:
                    self._calls[ident] = call
        return len(overdue)

    def hang_up(self, keep: Iterable[Connection | None] = ()) -> None:
        """Shut down all connections but these, so that calls that wait for a reply fail."""
        kept = [_driver_of(connection) for connection in keep if connection is not None]
        for driver in list(self._sockets):
            if not any(driver is each for each in kept):
                self._shut_down(driver)

    def hang_up_one(self, connection: Connection) -> None:
        """Shut down this connection, so that a call that waits for a reply fails."""
        if (driver := _driver_of(connection)) is not None:
            self._shut_down(driver)

    def descriptors(self) -> list[int]:
        """Return the file descriptors of all sockets."""
        found: list[int] = []
        for driver in list(self._sockets):
            with suppress(Exception):
                found.append(driver.fileno())
        return found

    def _end(self, ident: int, connection: Connection) -> None:
        """Cancel the statement, so that it ends cleanly; otherwise shut the connection down."""
        with suppress(Exception):
            driver = connection.connection.driver_connection
            call = self._calls.get(ident)
            if driver is None or call is None or call[1] is not connection:
                return
            with suppress(Exception):
                driver.cancel_safe(timeout=CANCEL_TIMEOUT)
            time.sleep(CANCEL_TIMEOUT)
            if self._calls.get(ident) is call:
                self._shut_down(driver)

    def _shut_down(self, driver: Any) -> None:
        """Shut a socket down by a duplicate descriptor: the driver may close the original."""
        with suppress(Exception), socket.socket(fileno=os.dup(driver.fileno())) as ours:
            if os.fstat(ours.fileno()).st_ino == self._sockets.get(driver):
                ours.shutdown(socket.SHUT_RDWR)


class TrackedCall(AbstractContextManager[None]):
    """Notes when a call of this thread began, until it ends.

    This is a class because a generator is slower.
    """

    __slots__ = ("_calls", "_connection", "_ident", "_outer")

    def __init__(self, calls: dict[int, tuple[float, Connection]], connection: Connection) -> None:
        self._calls, self._connection = calls, connection

    @override
    def __enter__(self) -> None:
        self._ident = threading.get_ident()
        self._outer = self._calls.get(self._ident)
        self._calls[self._ident] = (time.monotonic(), self._connection)

    @override
    def __exit__(self, *_: object) -> None:
        if self._outer is None:
            self._calls.pop(self._ident, None)
        else:
            self._calls[self._ident] = self._outer


def _driver_of(connection: Connection) -> Any:
    """Return the driver's connection, or None if it is closed; another thread may be using it."""
    with suppress(Exception):
        return connection.connection.driver_connection
    return None


def is_ready(descriptor: int, events: int = select.POLLIN, *, within: float = 0.0) -> bool:
    """Return whether a socket can be read, or meets other events, within some seconds."""
    poller = select.poll()
    poller.register(descriptor, events)
    return bool(poller.poll(within * 1000))


def ask(connection: Any, statement: str, values: Sequence[str], timeout: float) -> int:
    """Run a statement on a psycopg connection in autocommit mode; return the number of its rows.

    Raises TimeoutError after `timeout` seconds, after which the connection cannot be used. The
    driver's own functions wait without a limit.
    """
    driver, deadline = connection.pgconn, time.monotonic() + timeout
    driver.send_query_params(statement.encode(), [value.encode() for value in values])
    while driver.flush():
        _await(driver.socket, select.POLLOUT, deadline)
    while driver.is_busy():
        _await(driver.socket, select.POLLIN, deadline)
        driver.consume_input()
    results = list(iter(driver.get_result, None))
    errors = [result.error_message for result in results]
    if any(errors):
        raise ConnectionError(b" ".join(errors).decode(errors="replace").strip())
    return sum(result.ntuples for result in results)


def _await(descriptor: int, events: int, deadline: float) -> None:
    if not is_ready(descriptor, events, within=max(deadline - time.monotonic(), 0.0)):
        raise TimeoutError("the database has not replied in time")


def detach(descriptors: Iterable[int]) -> None:
    """Redirect descriptors of a forked child to the null device; the parent is not affected.

    The numbers stay in use, so that code which still refers to them cannot reach another file.
    """
    nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        for descriptor in descriptors:
            with suppress(OSError):
                os.dup2(nowhere, descriptor, inheritable=False)
    finally:
        os.close(nowhere)
