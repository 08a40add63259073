"""Serves the HTTP API from the event loop of a node."""

import asyncio
import errno
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Final

import uvicorn
from typing_extensions import override

from horae.api.lazy import LazyInterface
from horae.api.serving.connections import LARGEST_HEADER, Bounds, ConnectionTable, protocol_for
from horae.api.serving.log_throttle import throttle_logs
from horae.errors import ConfigurationError

BACKLOG: Final = 2048
"""Number of connections that the operating system queues before they are accepted."""


class HttpServer:
    """An HTTP server: listens from its creation, and answers requests while `run` runs."""

    # The default is immutable
    def __init__(self, app: LazyInterface, host: str, port: int, bounds: Bounds = Bounds()) -> None:
        """Raises `ConfigurationError` if it cannot listen, or must not without authentication."""
        app.may_listen(host)
        self._app = app
        self._bounds = bounds
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            family, _, _, _, address = found[0]
            self._socket = socket.create_server(address[:2], family=family, backlog=BACKLOG)
        except OSError as error:
            advice = "; choose another port, or 0 for a free one"
            raise ConfigurationError(
                f"host, port (HORAE_HOST, HORAE_PORT): cannot listen on {host}:{port}: {error}"
                f"{advice if error.errno == errno.EADDRINUSE else ''}"
            ) from error

    @property
    def entrance(self) -> str:
        """Return the URL for a browser: the address, or a new login link that works once."""
        return self.url + self._app.made.entrance()

    @property
    def url(self) -> str:
        """The address on this machine."""
        host, port = self._socket.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        return f"http://{shown}:{port}/"

    def close(self) -> None:
        """Stop listening, for a server that never ran."""
        self._socket.close()

    async def run(self, stop: asyncio.Event, ready: Callable[[], None] = lambda: None) -> None:
        """Serve until `stop`; event streams then end at once, and other requests may finish."""
        table = ConnectionTable(self._bounds)
        config = uvicorn.Config(
            self._app,
            http=protocol_for(table),
            ws="none",
            h11_max_incomplete_event_size=LARGEST_HEADER,
            timeout_keep_alive=max(1, round(self._bounds.idle)),
            # If no file descriptor is free, each connection of a round logs an error.
            backlog=1,
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=5,
        )
        server = _Server(config)
        with throttle_logs():
            async with asyncio.TaskGroup() as group:
                watching = group.create_task(table.watch())
                group.create_task(self._end(server, stop))
                ready()
                await server.serve([self._socket])
                stop.set()
                watching.cancel()

    async def _end(self, server: uvicorn.Server, stop: asyncio.Event) -> None:
        await stop.wait()
        server.should_exit = True
        await asyncio.to_thread(self._app.close)


class _Server(uvicorn.Server):
    """A uvicorn server that leaves signals to the node, and queued connections to the system."""

    @override
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for each in sockets or ():
            # Asyncio has set the backlog to the number that it accepts at once.
            each.listen(BACKLOG)

    @override
    @contextmanager
    def capture_signals(self) -> Generator[None, Any]:
        yield
