"""Bounds on connections to PostgreSQL: how they notice that nobody is there, and how they are ended from outside.

A connection on which nothing arrives any more looks like one whose answer takes long. The system notices a machine that
is gone, by keepalives and unacknowledged data; it does not notice one that is there and says nothing. So whoever knows
better, by a heartbeat or a deadline, shuts the socket down under whoever waits for an answer.
"""

import os
import select
import socket
import threading
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final
from weakref import WeakKeyDictionary

from sqlalchemy import URL, Connection, Engine, event

CONNECT_TIMEOUT: Final = 5
DEADLINE: Final = 60.0
AFTER_CANCEL: Final = 3.0
"""Seconds: for a connection to be made; for a statement of a node's service; for one that was cancelled to end."""

SERVICE_BOUNDS: Final = {
    "connect_timeout": CONNECT_TIMEOUT,
    "keepalives": 1,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,  # milliseconds that what was sent may stay unacknowledged
}
"""A peer that is gone without a word is noticed within about ten seconds."""

BODY_BOUNDS: Final = {
    **SERVICE_BOUNDS,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
}
"""A body's transaction is lost with its connection, so it outlasts a network that is away for a moment."""


def bounds(url: URL, wanted: Mapping[str, int]) -> dict[str, Any]:
    """Arguments for the driver; what the URL says goes before our own choice."""
    return {name: value for name, value in wanted.items() if name not in url.query}


class Connections:
    """The open connections of some engines. Thread-safe."""

    def __init__(self) -> None:
        self._sockets = WeakKeyDictionary[Any, int]()
        self._calls: dict[int, tuple[float, Connection]] = {}

    def listen(self, engine: Engine) -> None:
        """Know the connections that the engine makes from now on."""
        event.listen(engine, "connect", self._note)

    @contextmanager
    def call(self, connection: Connection) -> Generator[None]:
        """A call of a service, which has a deadline; of calls within a call it is the innermost that waits."""
        ident = threading.get_ident()
        outer = self._calls.get(ident)
        self._calls[ident] = (time.monotonic(), connection)
        try:
            yield
        finally:
            if outer is None:
                self._calls.pop(ident, None)
            else:
                self._calls[ident] = outer

    def end_overdue(self, now: float, deadline: float = DEADLINE) -> int:
        """End the statements of calls that have gone on for too long; how many. Waits for nobody."""
        overdue = [(ident, call) for ident, call in list(self._calls.items()) if now - call[0] > deadline]
        for ident, call in overdue:
            if self._calls.get(ident) is call:
                self._calls[ident] = (now + AFTER_CANCEL, call[1])  # not at each look
                threading.Thread(target=self._end, args=(ident, call[1]), name="horae-deadline", daemon=True).start()
        return len(overdue)

    def hang_up(self) -> None:
        """Shut all of them down, so that nobody waits any longer."""
        for driver in list(self._sockets):
            self._shut_down(driver)

    def descriptors(self) -> list[int]:
        """Those of all sockets."""
        found: list[int] = []
        for driver in list(self._sockets):
            with suppress(Exception):
                found.append(driver.fileno())
        return found

    def forget(self) -> None:
        """Know none of them any longer."""
        self._sockets.clear()
        self._calls.clear()

    def _note(self, connection: Any, _record: object) -> None:
        driver = getattr(connection, "driver_connection", connection)
        with suppress(OSError):
            self._sockets[driver] = os.fstat(driver.fileno()).st_ino

    def _end(self, ident: int, connection: Connection) -> None:
        """Cancel the statement, which the server then ends in order; shut the connection down if that does not help."""
        with suppress(Exception):
            driver = connection.connection.driver_connection
            call = self._calls.get(ident)
            if driver is None or call is None or call[1] is not connection:
                return
            with suppress(Exception):
                driver.cancel_safe(timeout=AFTER_CANCEL)
            time.sleep(AFTER_CANCEL)
            if self._calls.get(ident) is call:
                self._shut_down(driver)

    def _shut_down(self, driver: Any) -> None:
        """Through a descriptor of our own: the driver may close its own at any time, and the number be taken again."""
        with suppress(Exception), socket.socket(fileno=os.dup(driver.fileno())) as ours:
            if os.fstat(ours.fileno()).st_ino == self._sockets.get(driver):
                ours.shutdown(socket.SHUT_RDWR)


def ask(connection: Any, statement: str, values: Sequence[str], patience: float) -> None:
    """Run a statement on a psycopg connection in autocommit, and wait for its end no longer than `patience` seconds.

    Raises TimeoutError; the connection is of no use then. The driver by itself waits for ever.
    """
    line, deadline = connection.pgconn, time.monotonic() + patience
    line.send_query_params(statement.encode(), [value.encode() for value in values])
    while line.flush():
        _await(line.socket, select.POLLOUT, deadline)
    while line.is_busy():
        _await(line.socket, select.POLLIN, deadline)
        line.consume_input()
    errors = [result.error_message for result in iter(line.get_result, None)]
    if any(errors):
        raise ConnectionError(b" ".join(errors).decode(errors="replace").strip())


def _await(descriptor: int, events: int, deadline: float) -> None:
    poll = select.poll()
    poll.register(descriptor, events)
    if not poll.poll(max(deadline - time.monotonic(), 0.0) * 1000):
        raise TimeoutError("the database has not answered in time")


def detach(descriptors: Iterable[int]) -> None:
    """Let descriptors of this process lead nowhere; what a fork shares with its parent is left as it is.

    They stay taken, so that nothing that still knows their numbers can do harm.
    """
    nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        for descriptor in descriptors:
            with suppress(OSError):
                os.dup2(nowhere, descriptor, inheritable=False)
    finally:
        os.close(nowhere)
