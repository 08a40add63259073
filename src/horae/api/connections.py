"""Bounds on what clients may hold of the server: how many connections, and for how long without getting on.

uvicorn has a time limit for a connection between two requests, and for nothing else. Here a header, a body and the
taking of an answer have one, too. Where all places are taken, whoever keeps a place without being served makes room:
so a thousand idle connections keep nobody out who asks for something.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import h11
from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol

from horae.runtime.throttled_warning import ThrottledWarning

LARGEST_HEADER: Final = 64 * 1024
"""Bytes of a header that has not come to its end; ten thousand ids in a query are more, but come at once."""
LOOK_EVERY: Final = 1.0
REFUSAL: Final = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"

log = logging.getLogger("horae.api")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How many connections, and how many seconds each step of one may take."""

    connections: int = 500
    header: float = 10.0
    body: float = 30.0
    writing: float = 60.0
    idle: float = 15.0


class Phase(IntEnum):
    """What a connection is at, in the order in which it makes room for another one."""

    IDLE = 0
    HEADER = 1
    BODY = 2
    WRITING = 3
    CLOSING = 4
    ANSWERING = 5


class Room:
    """The connections of one server; used on its loop alone."""

    def __init__(self, bounds: Bounds, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = {
            Phase.IDLE: None,  # uvicorn has a timer for it
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
        """How many connections there are."""
        return len(self._open)

    def admit(self, connection: "Connection") -> bool:
        """Give it a place, if need be that of the first one that is least at work; False if all are being answered."""
        if len(self._open) >= self._bounds.connections:
            self._full.warn(
                "all %d connections are taken: idle ones are closed; see HORAE_MAX_CONNECTIONS",
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
        """Take the place back; harmless if it was."""
        self._open.pop(connection, None)

    async def watch(self) -> None:
        """End what takes too long, until cancelled."""
        while True:
            await asyncio.sleep(min(LOOK_EVERY, *(limit / 2 for limit in self._limits.values() if limit is not None)))
            self.look()

    def look(self) -> None:
        """End what takes too long."""
        now = self._clock()
        for connection in list(self._open):
            limit = self._limits[connection.phase]
            if limit is not None and connection.spent(now) > limit:
                connection.transport.abort()


class Connection(H11Protocol):
    """One client."""

    room: Room
    _admitted = False
    _since = 0.0
    _step: tuple[Phase, object] | None = None

    @property
    def phase(self) -> Phase:
        """What it is at."""
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
        """Seconds for which it has been at this step of this request, as far as was looked."""
        step = (self.phase, self.cycle)
        if step != self._step:
            self._step, self._since = step, now
        return now - self._since

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's own
        self._admitted = self.room.admit(self)
        if self._admitted:
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
            self.room.leave(self)
            super().connection_lost(exc)


def connections_in(room: Room) -> type[Connection]:
    """The protocol of a server with this room."""
    return type("ConnectionInRoom", (Connection,), {"room": room})
