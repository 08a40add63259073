"""Limits on clients' connections: their number, and the time for each step of a request.

uvicorn limits only the time between two requests. Here the header, the body and the reading of the
response have a time limit as well. When the table is full, a new connection replaces the least
active one, so that idle connections cannot lock out clients that send requests.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

import h11
from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol

from horae.guarded_log import guarded_log
from horae.runtime.throttled_warning import ThrottledWarning

LARGEST_HEADER: Final = 64 * 1024
"""Maximum bytes of an incomplete header; ten thousand IDs in a query are more, but arrive at once.
"""
CHECK_INTERVAL: Final = 1.0
"""Seconds between two checks of the time limits."""
REFUSAL: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length:"
    b" 0\r\n\r\n"
)

log = guarded_log("horae.api")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Maximum number of connections, and time limits of each phase in seconds."""

    connections: int = 500
    header: float = 10.0
    body: float = 30.0
    writing: float = 60.0
    idle: float = 15.0


class Phase(IntEnum):
    """The phase of a connection; a full table closes the connection in the lowest phase first."""

    IDLE = 0
    HEADER = 1
    BODY = 2
    WRITING = 3
    CLOSING = 4
    ANSWERING = 5


class ConnectionTable:
    """The open connections of one server. Used only on its event loop."""

    def __init__(self, bounds: Bounds, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = {
            Phase.IDLE: None,  # uvicorn has a timer for this phase
            Phase.HEADER: bounds.header,
            Phase.BODY: bounds.body,
            Phase.WRITING: bounds.writing,
            Phase.CLOSING: bounds.writing,
            Phase.ANSWERING: None,
        }
        self._bounds, self._clock = bounds, clock
        self._open: dict[Connection, None] = {}
        self._full = ThrottledWarning()

    @property
    def taken(self) -> int:
        """Return the number of open connections."""
        return len(self._open)

    def admit(self, connection: "Connection") -> bool:
        """Add a connection; a full table closes the least active one first.

        Returns False if all are being answered.
        """
        if len(self._open) >= self._bounds.connections:
            self._full.warn(
                "limit of %d connections reached: closing idle ones; see HORAE_MAX_CONNECTIONS",
                self._bounds.connections,
            )
            least = min(self._open, key=lambda each: each.phase)
            if least.phase is Phase.ANSWERING:
                return False
            self.leave(least)
            least.transport.abort()
        self._open[connection] = None
        return True

    def leave(self, connection: "Connection") -> None:
        """Remove a connection. Idempotent."""
        self._open.pop(connection, None)

    async def watch(self) -> None:
        """Close connections that exceed their time limit, until cancelled."""
        while True:
            await asyncio.sleep(
                min(
                    CHECK_INTERVAL,
                    *(limit / 2 for limit in self._limits.values() if limit is not None),
                )
            )
            self.close_slow()

    def close_slow(self) -> None:
        """Close connections that exceed the time limit of their phase."""
        now = self._clock()
        for connection in list(self._open):
            limit = self._limits[connection.phase]
            if limit is not None and connection.spent(now) > limit:
                connection.transport.abort()


class _Parser(h11.Connection):
    """Refuses requests whose length a proxy may read differently, and so split into two requests.

    RFC 9112, section 6.1: `Content-Length` together with `Transfer-Encoding` may be an attempt at
    request smuggling.
    """

    @override
    def next_event(self) -> Any:
        event = super().next_event()
        if isinstance(event, h11.Request):
            names = {name.lower() for name, _ in event.headers}
            if {b"content-length", b"transfer-encoding"} <= names:
                raise h11.RemoteProtocolError(
                    "a request has both Content-Length and Transfer-Encoding"
                )
        return event


class Connection(H11Protocol):
    """The connection of one client."""

    table: ConnectionTable
    _admitted = False
    _since = 0.0
    _step: tuple[Phase, object] | None = None

    @property
    def phase(self) -> Phase:
        """The current phase."""
        if self.transport.is_closing():
            return Phase.CLOSING
        if self.flow.write_paused:
            return Phase.WRITING
        if self.conn.their_state is h11.SEND_BODY:
            return Phase.BODY
        if self.conn.our_state in (h11.SEND_RESPONSE, h11.SEND_BODY):
            return Phase.ANSWERING
        return Phase.HEADER if self.timeout_keep_alive_task is None else Phase.IDLE

    def spent(self, now: float) -> float:
        """Return the seconds spent in this phase of this request, as observed by earlier calls."""
        step = (self.phase, self.cycle)
        if step != self._step:
            self._step, self._since = step, now
        return now - self._since

    @override
    # uvicorn does the same
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._admitted = self.table.admit(self)
        if self._admitted:
            self.conn = _Parser(
                h11.SERVER, self.config.h11_max_incomplete_event_size or LARGEST_HEADER
            )
            super().connection_made(transport)
        else:
            transport.write(REFUSAL)
            transport.close()

    @override
    def data_received(self, data: bytes) -> None:
        if self._admitted:
            super().data_received(data)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        if self._admitted:
            self.table.leave(self)
            super().connection_lost(exc)


def protocol_for(table: ConnectionTable) -> type[Connection]:
    """Return the protocol class of a server whose connections are in `table`."""
    return type("TableConnection", (Connection,), {"table": table})
