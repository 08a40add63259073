"""ASGI applications behind a WSGI server, for integrations with frameworks that have one."""

import asyncio
import threading
from collections.abc import Iterable
from typing import Any, Final

from horae.forking import BuiltAnewInChild

EVENTS: Final = "/api/events/"
NO_EVENTS: Final = (
    '{"error": "ERROR_NOT_IMPLEMENTED", "detail": "There are no event streams behind a WSGI server,'
    ' because each would occupy a worker; poll instead."}'
)
"""The answer to a request of events, with the status 501."""


class AsgiLoop(BuiltAnewInChild):
    """An event loop in a thread of its own, on which ASGI applications answer WSGI requests.

    It begins with the first request: servers fork after they have imported the application.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def answer(self, application: Any, environ: Any, start_response: Any) -> Iterable[bytes]:
        """Answer a request by an ASGI application, as a WSGI application does."""
        from a2wsgi import ASGIMiddleware

        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(
                    target=self._loop.run_forever, name="horae-wsgi", daemon=True
                ).start()
            loop = self._loop
        return ASGIMiddleware(application, loop=loop)(environ, start_response)
